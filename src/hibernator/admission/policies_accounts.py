"""What the two accounts of ours may not do: the operator decides nothing, the web process keeps to its own.

The web process is the one that people outside of the cluster reach. Its roles say what it may write; here it
is what roles cannot say. What it keeps about messages and links is for no one else to write: anyone who could
add the hash of a link of their own would have a link in the name of another.
"""

from typing import Final

from hibernator.admission.policies import (
    CLEANERS,
    USER,
    Check,
    Policy,
    administrator,
    listed,
    metadata,
    quoted,
)
from hibernator.api.approvaldelivery import DELIVERIES
from hibernator.api.core import LEASES
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.decisions.scheduleexception_request import REQUESTED_BY

WEB: Final = "hibernator-web"  # the account of the web process, and its Lease
_USED: Final = "hibernator-saml-"  # how the Leases begin that say which SAML assertions were used
_ENDED: Final = "hibernator-ended-"  # and those that say which sessions a log-out has ended
_DELIVERIES: Final = "hibernator-deliveries"
_REQUESTS: Final = "hibernator-planrequests"
_IN_NAMES: Final = "PlanRequests are filed by the web process, in the name of people who logged in"
_HOLDS_LINKS: Final = "ApprovalDeliveries hold the links of people: only the web process writes them"


def _all_old(name: str, chosen: str = "true") -> str:
    entries = f"?status.?{name}.orValue([])"
    return f"object.{entries}.all(entry, !({chosen}) || entry in oldObject.{entries})"


def _nothing_new(name: str) -> Check:
    return Check(
        _all_old(name), f"The operator decides nothing: only people add to {name}, each in their own name"
    )


# Each kind has its own fields, which the type checker of the API server knows.
OPERATOR: Final = (
    Policy(
        name="hibernator-operator-decides-no-exception",
        kinds=(EXCEPTIONS,),
        part="status",
        operations=("UPDATE",),
        whom="the operator",
        checks=(_nothing_new("approvals"), _nothing_new("rejections")),
    ),
    Policy(
        name="hibernator-operator-decides-no-remediation",
        kinds=(APPROVAL_REQUESTS,),
        part="status",
        operations=("UPDATE",),
        whom="the operator",
        checks=(
            Check(
                _all_old("conditions", "entry.type in ['Approved', 'Rejected']"),
                "The operator decides nothing: only people add the condition Approved or Rejected",
            ),
            Check(
                "object.?status.?approvals.orValue([]).all(entry,"
                " entry in oldObject.?status.?approvals.orValue([])"
                " || (entry.approvedBy == oldObject.?status.?decidedBy.orValue('')"
                " && oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Approved')))",
                "The operator decides nothing: it keeps an approval that a person has given, and no other",
            ),
        ),
    ),
)


def _removal(binding: str) -> dict[str, str]:
    return {
        "isRemoval": "request.operation == 'DELETE' || (object != null && oldObject != null"
        " && object.spec == oldObject.spec && has(object.metadata.deletionTimestamp))",
        "isCleaner": f"{USER} in {listed(CLEANERS)}",
        "isAdministrator": administrator(binding),
    }


# The garbage collector also takes a reference to an owner off, where that goes and this shall stay.
_IS_REMOVED: Final = (
    "((variables.isCleaner && request.operation != 'CREATE')"
    " || (variables.isAdministrator && variables.isRemoval))"
)

DELIVERY_DATA: Final = Policy(
    name=_DELIVERIES,
    kinds=(DELIVERIES,),
    operations=("CREATE", "UPDATE", "DELETE"),
    whom="everyone",
    variables=_removal(_DELIVERIES),
    checks=(
        Check(
            f"variables.isWeb || {_IS_REMOVED}",
            f"{_HOLDS_LINKS}. Only administrators, who may delete the ValidatingAdmissionPolicyBinding"
            f" {_DELIVERIES}, delete them",
        ),
    ),
)
DELIVERY_STATUS: Final = Policy(
    name=f"{_DELIVERIES}-status",
    kinds=(DELIVERIES,),
    part="status",
    operations=("UPDATE",),
    whom="everyone",
    checks=(Check("variables.isWeb", _HOLDS_LINKS),),
)
REQUEST_DATA: Final = Policy(
    name=_REQUESTS,
    kinds=(PLAN_REQUESTS,),
    operations=("CREATE", "UPDATE", "DELETE"),
    variables=_removal(_REQUESTS) | {"by": metadata("object", "annotations", REQUESTED_BY)},
    checks=(
        Check(
            f"(variables.isWeb && request.operation == 'CREATE') || {_IS_REMOVED}",
            f"{_IN_NAMES}, and change no more. Use `hibernator plan suspend`, `resume` or `retry`. Only"
            f" administrators, who may delete the ValidatingAdmissionPolicyBinding {_REQUESTS}, delete them",
        ),
        Check(
            "request.operation != 'CREATE' || (variables.by != '' && !variables.by.startsWith('system:'))",
            f"{_IN_NAMES}: say whose in the annotation {REQUESTED_BY}",
        ),
    ),
)
REQUEST_STATUS: Final = Policy(
    name=f"{_REQUESTS}-status",
    kinds=(PLAN_REQUESTS,),
    part="status",
    operations=("UPDATE",),
    checks=(Check("false", "Only the operator says what became of a PlanRequest"),),
)
LEASES_OF_THE_WEB: Final = Policy(
    name="hibernator-web-leases",
    kinds=(LEASES,),
    operations=("CREATE", "UPDATE", "DELETE"),
    whom="the web process",
    variables={
        # A name that the API server makes up is not known yet when this is asked.
        "name": "request.name != '' ? request.name : object.metadata.?name.orValue('')",
    },
    checks=(
        Check(
            f"variables.name == {quoted(WEB)} || variables.name.startsWith({quoted(_USED)})"
            f" || variables.name.startsWith({quoted(_ENDED)})",
            f"The web process writes only the Leases {WEB}, {_USED}* and {_ENDED}*: by others, others lead",
        ),
    ),
)
