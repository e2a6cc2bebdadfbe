"""Who may decide a RemediationApprovalRequest: anyone who may `approve` it, once, in their own name.

A person adds the condition `Approved` or `Rejected`. A condition has no room for a name, so it is carried by
`status.decidedBy`, beside what a role or an address may go by (`deciderGroups`, `deciderExtra`). All of it is
written in one request: by the person, or by the webhook where they left it out, and checked here in either
case. All else in the status, `decidedAt` included, is the operator's. So is what an analysis and its
RemediationRequest come to: or a user who may write a status could do without anyone's decision.
"""

from typing import Any, Final

import msgspec

from hibernator.admission.policies import (
    MINE,
    OWN_CHANNELS,
    USER,
    Check,
    Policy,
    approver,
    equivalent,
    listed,
    same,
)
from hibernator.api.aianalysis import ANALYSES
from hibernator.api.kind import Kind
from hibernator.api.people import DOORS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequestStatus
from hibernator.api.remediationrequest import REMEDIATIONS

# Only along with a decision.
_DECIDER: Final = ("decidedBy", "decidedVia", "deciderGroups", "deciderExtra", "deciderKnownBy")
_STATUS: Final = " && ".join(
    same(f"status.?{field.encode_name}")
    for field in msgspec.structs.fields(RemediationApprovalRequestStatus)
    if field.encode_name not in {"conditions", "approvalUrl", *_DECIDER}
)
_SAME_DECIDER: Final = " && ".join(same(f"status.?{name}") for name in _DECIDER)
_DECIDES: Final = "variables.decisions.size() > 0"


def _conditions(of: str, *, decisions: bool) -> str:
    wanted = "" if decisions else "!"
    return f"{of}.?status.?conditions.orValue([]).filter(c, {wanted}(c.type in ['Approved', 'Rejected']))"


DECISIONS: Final = Policy(
    name="hibernator-remediation-decisions",
    kinds=(APPROVAL_REQUESTS,),
    part="status",
    operations=("UPDATE",),
    variables={
        "decided": _conditions("oldObject", decisions=True),
        "decisions": f"{_conditions('object', decisions=True)}.filter(c, !(c in variables.decided))",
        "by": "object.?status.?decidedBy.orValue('')",
        "claims": "object.?status.?deciderExtra.orValue({})",
        **MINE,
    },
    checks=(
        Check(
            f"{_STATUS} && (variables.isWeb || {same('status.?approvalUrl')})"
            f" && {_conditions('object', decisions=False)} == {_conditions('oldObject', decisions=False)}"
            f" && ({_DECIDES} || ({_SAME_DECIDER}))",
            "Only the operator writes this status. People may add the condition Approved or Rejected, as"
            " `hibernator remediation approve` does",
        ),
        approver(APPROVAL_REQUESTS, _DECIDES),
        Check(
            f"!({_DECIDES}) || (variables.decided.size() == 0"
            " && oldObject.?status.?decision.orValue('') == '')",
            "This was decided already, and the first decision is final",
        ),
        Check(
            "variables.decisions.size() <= 1 && variables.decisions.all(c, c.status == 'True')",
            'Add either Approved or Rejected, with the status "True"',
        ),
        Check(
            f"!({_DECIDES}) || (variables.isWeb ? variables.by != '' && !variables.by.startsWith('system:')"
            f" : variables.by == {USER})",
            "status.decidedBy must be your own name",
            f"'status.decidedBy is \"' + variables.by + '\" and must be your own name, ' + {USER}"
            " + ': write it, or use `hibernator remediation approve`'",
        ),
        Check(
            f"!({_DECIDES}) || object.?status.?deciderGroups.orValue([])"
            ".all(group, (variables.isWeb || group in request.userInfo.?groups.orValue([]))"
            " && !group.startsWith('system:'))",
            "status.deciderGroups must be groups of yours, and none of Kubernetes itself (system:*): see"
            " `kubectl auth whoami`",
        ),
        Check(
            f"!({_DECIDES}) || (variables.isWeb ? variables.claims.size() == 0 : "
            + equivalent("variables.claims.map(key, key + '=' + variables.claims[key])")
            + ")",
            "status.deciderExtra must be what the cluster knows of you: see `kubectl auth whoami`",
            "'status.deciderExtra must be all addresses that the cluster knows of you. '"
            " + (variables.mine.size() == 0 ? 'It knows none: leave it out'"
            " : 'Where you leave it out, the webhook notes them down, if it answers. Add '"
            " + variables.mine.join(' and ') + ', or use `hibernator remediation approve`')",
        ),
        Check(
            f"!({_DECIDES}) || object.?status.?decidedVia.orValue('')"
            f" in (variables.isWeb ? {listed(DOORS)} : {listed(OWN_CHANNELS)})",
            "status.decidedVia of a decision that you write yourself is cli, kubectl or api",
            f"variables.isWeb ? 'The web process decides through {', '.join(DOORS)}'"
            " : 'status.decidedVia of a decision that you write yourself is cli, kubectl or api'",
        ),
        Check(
            f"!({_DECIDES}) || object.?status.?deciderKnownBy.hasValue() == variables.isWeb",
            "Only the web process writes status.deciderKnownBy, and it always does: leave it out",
        ),
    ),
)


def _outcome(name: str, kind: Kind[Any]) -> Policy:
    message = "Only the operator writes this status: it follows from the spec and from what people decide"
    check = Check(same("status"), message)
    return Policy(name=name, kinds=(kind,), part="status", operations=("UPDATE",), checks=(check,))


OUTCOMES: Final = (
    _outcome("hibernator-analysis-outcomes", ANALYSES),
    _outcome("hibernator-remediation-outcomes", REMEDIATIONS),
)
