"""What waits for the audit trail, and the last signed checkpoint, are written by the operator alone.

These are ConfigMaps that are found by their name, as is the one that says whom the web process trusts as the
operator. Anyone who could write them could add events to the trail, have the operator go back to an older
checkpoint, or have the web process show its token to another. As with restore data, they may go.
"""

from typing import Final

from hibernator.admission.policies import CLEANERS, USER, Check, Policy, administrator, listed
from hibernator.api.core import CONFIG_MAPS
from hibernator.audit import memory, spool
from hibernator.kube.remote import AUTHORITY

_NAME: Final = "hibernator-audit-data"
_OURS: Final = (memory.NAME, spool.NAME, AUTHORITY)


def _is_ours(of: str) -> str:
    return f"({of} != null && {of}.metadata.name in {listed(_OURS)})"


AUDIT_DATA: Final = Policy(
    name=_NAME,
    kinds=(CONFIG_MAPS,),
    operations=("CREATE", "UPDATE", "DELETE"),
    conditions={"audit-data": f"{_is_ours('object')} || {_is_ours('oldObject')}"},
    variables={
        "isCleaner": f"{USER} in {listed(CLEANERS)}",
        "isAdministrator": administrator(_NAME),
    },
    checks=(
        Check(
            "request.operation == 'DELETE' && (variables.isCleaner || variables.isAdministrator)",
            f"The ConfigMaps {', '.join(_OURS)} belong to the audit trail: only the operator writes them."
            f" Only administrators, who may delete the ValidatingAdmissionPolicyBinding {_NAME}, delete them",
        ),
    ),
)
