"""ConfigMaps that the operator alone writes: restore data, and what belongs to the audit trail.

ConfigMaps are found by a name or a label, and anyone with `edit` in a namespace could write both. Restore
data says what is woken. What waits for the audit trail could add events to it, the last signed checkpoint
could have the operator go back to an older one, and the ConfigMap that says whom the web process trusts as
the operator could have it show its token to another. So the API server refuses them to everyone else.

They may go, though: with their namespace, through the garbage collector, and by the hand of an administrator.
Administrators are those who could as well delete the binding of these policies.
"""

from collections.abc import Callable
from typing import Final

from hibernator.admission.policies import CLEANERS, USER, Check, Policy, administrator, listed, quoted
from hibernator.api.core import CONFIG_MAPS
from hibernator.audit import memory, spool
from hibernator.decisions.hibernateplan_restore import LABEL, NAME_PREFIX
from hibernator.kube.remote import AUTHORITY

_CONTENT: Final = ("data", "binaryData", "metadata.?labels")
_OF_AUDIT: Final = (memory.NAME, spool.NAME, AUTHORITY)


def _policy(name: str, is_ours: Callable[[str], str], removal: str, message: str) -> Policy:
    """The operator alone writes those that are ours; a `removal` is also for cleaners and administrators."""
    ours = [f"({one} != null && {is_ours(one)})" for one in ("object", "oldObject")]
    return Policy(
        name=name,
        kinds=(CONFIG_MAPS,),
        operations=("CREATE", "UPDATE", "DELETE"),
        conditions={name.removeprefix("hibernator-"): " || ".join(ours)},
        variables={
            "isRemoval": removal,
            "isCleaner": f"{USER} in {listed(CLEANERS)}",
            "isAdministrator": administrator(name),
        },
        checks=(
            Check(
                "variables.isRemoval && (variables.isCleaner || variables.isAdministrator)",
                f"{message} Only administrators, who may delete the ValidatingAdmissionPolicyBinding {name},"
                " delete them",
            ),
        ),
    )


RESTORE_DATA: Final = _policy(
    "hibernator-restore-data",
    lambda one: (
        f"({one}.metadata.name.startsWith({quoted(NAME_PREFIX)})"
        f" || {one}.metadata.?labels[?{quoted(LABEL)}].hasValue())"
    ),
    # Finalizers and owner references belong to a deletion. A new object is never kept as it is.
    "request.operation == 'DELETE' || (oldObject != null && object != null && "
    + " && ".join(f"object.?{part} == oldObject.?{part}" for part in _CONTENT)
    + ")",
    f"ConfigMaps named {NAME_PREFIX}* or labelled {LABEL} tell the operator what to wake: only the operator"
    " writes them. For data of your own, use another name and leave the label out.",
)

AUDIT_DATA: Final = _policy(
    "hibernator-audit-data",
    lambda one: f"{one}.metadata.name in {listed(_OF_AUDIT)}",
    "request.operation == 'DELETE'",
    f"The ConfigMaps {', '.join(_OF_AUDIT)} belong to the audit trail: only the operator writes them.",
)
