"""Good and bad documents, one table for two judges: the API server, and the check without a cluster."""

from api.corpus import connectors, exceptions, plans, remediation, scalers

_TABLES = (plans, exceptions, scalers, connectors, remediation)

GOOD = [case for table in _TABLES for case in table.GOOD]
BAD = [case for table in _TABLES for case in table.BAD]
