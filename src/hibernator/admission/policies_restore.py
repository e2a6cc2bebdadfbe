"""Restore data is written by the operator alone: what it wakes is what stands there.

ConfigMaps are found by a label and a name, and anyone with `edit` in a namespace could write both. So the API
server refuses them to everyone else. They may go, though: with their namespace, through the garbage
collector, and by the hand of an administrator. Administrators are those who could as well delete the binding
of this policy.
"""

from typing import Final

from hibernator.admission.policies import CLEANERS, USER, Check, Policy, administrator, listed, quoted
from hibernator.api.core import CONFIG_MAPS
from hibernator.decisions.hibernateplan_restore import LABEL, NAME_PREFIX

_NAME: Final = "hibernator-restore-data"
_CONTENT: Final = ("data", "binaryData", "metadata.?labels")


def _is_ours(of: str) -> str:
    return (
        f"({of} != null && ({of}.metadata.name.startsWith({quoted(NAME_PREFIX)})"
        f" || {of}.metadata.?labels[?{quoted(LABEL)}].hasValue()))"
    )


RESTORE_DATA: Final = Policy(
    name=_NAME,
    kinds=(CONFIG_MAPS,),
    operations=("CREATE", "UPDATE", "DELETE"),
    conditions={"restore-data": f"{_is_ours('object')} || {_is_ours('oldObject')}"},
    variables={
        # Finalizers and owner references belong to a deletion. A new object is never kept as it is.
        "isKept": "oldObject != null && object != null && "
        + " && ".join(f"object.?{part} == oldObject.?{part}" for part in _CONTENT),
        "isRemoval": "request.operation == 'DELETE' || variables.isKept",
        "isCleaner": f"{USER} in {listed(CLEANERS)}",
        "isAdministrator": administrator(_NAME),
    },
    checks=(
        Check(
            "variables.isRemoval && (variables.isCleaner || variables.isAdministrator)",
            f"ConfigMaps named {NAME_PREFIX}* or labelled {LABEL} tell the operator what to wake: only the"
            " operator writes them. For data of your own, use another name and leave the label out. Only"
            f" administrators, who may delete the ValidatingAdmissionPolicyBinding {_NAME}, delete them",
        ),
    ),
)
