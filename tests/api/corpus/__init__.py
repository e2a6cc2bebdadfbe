"""Good and bad documents, one table for two judges: the API server, and the check without a cluster."""

from api.corpus import connectors, exceptions, notifications, plans, policies, remediation, scalers

_TABLES = (plans, exceptions, policies, scalers, connectors, remediation, notifications)

GOOD = [case for table in _TABLES for case in table.GOOD]
BAD = [case for table in _TABLES for case in table.BAD]
