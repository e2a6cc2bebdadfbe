"""Who may write what of a ScheduleException: decisions as with certificates, and a requester who stays."""

from typing import Final

import msgspec

from hibernator.admission.policies import (
    IS_NEW,
    MINE,
    OWN_CHANNELS,
    USER,
    Check,
    Policy,
    approver,
    equivalent,
    listed,
    may,
    metadata,
    quoted,
    same,
)
from hibernator.api.people import DOORS
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleExceptionStatus
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL
from hibernator.decisions.scheduleexception_request import (
    REQUESTED_BY,
    REQUESTER_CLAIMS,
    REQUESTER_GROUPS,
    VERIFIED_EMAIL,
)

_PUT_BACK: Final = (
    "the webhook that puts it back where a manifest leaves it out does not answer: write it,"
    " or use `kubectl apply`"
)
_ENDS: Final = ("approved", "rejected", "cancelled", "expired")
_LAST: Final = "variables.ended[variables.ended.size() - 1]"
_DECIDES: Final = "variables.approvals.size() + variables.rejections.size() > 0"
_STATUS: Final = " && ".join(
    same(f"status.?{field.encode_name}")
    for field in msgspec.structs.fields(ScheduleExceptionStatus)
    if field.name not in {"approvals", "rejections", "approval_url"}
)


def _has_finalizer(of: str) -> str:
    return f"{quoted(FINALIZER)} in {of}.metadata.?finalizers.orValue([])"


def _entries(of: str, name: str) -> str:
    return f"{of}.?status.?{name}.orValue([])"


def _names(approvals: str, rejections: str) -> str:
    return f"({approvals}.map(entry, entry.approvedBy) + {rejections}.map(entry, entry.rejectedBy))"


def _added(name: str) -> str:
    return f"{_entries('object', name)}.filter(entry, !(entry in {_entries('oldObject', name)}))"


REQUESTS: Final = Policy(
    name="hibernator-exception-requests",
    kinds=(EXCEPTIONS,),
    operations=("CREATE", "UPDATE"),
    variables={
        "by": metadata("object", "annotations", REQUESTED_BY),
        "was": f"{IS_NEW} ? '' : {metadata('oldObject', 'annotations', REQUESTED_BY)}",
        "needed": "object.spec.?approvalRequired.orValue(false)",
        "wasNeeded": f"!({IS_NEW}) && (oldObject.spec.?approvalRequired.orValue(false)"
        f" || {_entries('oldObject', 'requiredApprovals')}.size() > 0)",
        "label": metadata("object", "labels", PLAN_LABEL),
        "noted": metadata("object", "annotations", REQUESTER_CLAIMS),
        "claims": "variables.noted == '' ? [] : variables.noted.split('\\n')",
        "groups": metadata("object", "annotations", REQUESTER_GROUPS),
        "isFirst": "variables.by != '' && variables.was == ''",
        # The web process asks for people who have logged in, and never in its own name.
        "isForAPerson": "variables.isWeb && variables.by != '' && !variables.by.startsWith('system:')",
        "isVerified": f"variables.claims.size() == 1 && variables.claims[0].startsWith('{VERIFIED_EMAIL}=')",
        **MINE,
    },
    checks=(
        Check(
            f"!({IS_NEW}) || variables.isForAPerson || (!variables.isWeb && variables.by in ['', {USER}])",
            f"The annotation {REQUESTED_BY} must be your own name",
            f"'The annotation {REQUESTED_BY} is ' + variables.by + ', and you are ' + {USER}"
            " + ': write your own name, or leave it out'",
        ),
        Check(
            f"{IS_NEW} || variables.by == variables.was"
            f" || (variables.was == '' && !variables.wasNeeded && variables.by == {USER})",
            f"The annotation {REQUESTED_BY} says who asked for this, and never changes; {_PUT_BACK}",
        ),
        Check(
            "!variables.isFirst || (variables.isWeb ? variables.isVerified"
            f" : {equivalent('variables.claims')})",
            f"The annotation {REQUESTER_CLAIMS} must have the addresses that your log-in brings",
            "variables.mine.size() == 0"
            f" ? 'Your log-in brings no address: leave the annotation {REQUESTER_CLAIMS} out'"
            f" : 'The annotation {REQUESTER_CLAIMS} must have the addresses that your log-in brings, and the"
            " webhook that notes them down does not answer. Write, each on a line, '"
            " + variables.mine.join(' and ') + ', or use `hibernator exception create`'",
        ),
        Check(
            f"variables.isFirst || {IS_NEW}"
            f" || variables.noted == {metadata('oldObject', 'annotations', REQUESTER_CLAIMS)}",
            f"The annotation {REQUESTER_CLAIMS} says who asked for this, and never changes; {_PUT_BACK}",
        ),
        Check(
            f"!variables.isFirst ? variables.groups == ({IS_NEW} ? '' :"
            f" {metadata('oldObject', 'annotations', REQUESTER_GROUPS)})"
            " : variables.groups == '' || variables.groups.split('\\n').all(group, (variables.isWeb"
            " || group in request.userInfo.?groups.orValue([])) && !group.startsWith('system:'))",
            f"The annotation {REQUESTER_GROUPS} must have groups of the requester, none of Kubernetes itself"
            f" (system:*), and never changes; {_PUT_BACK}",
        ),
        Check(
            "!variables.needed || variables.wasNeeded || variables.by != ''",
            f"The requester is unknown: add the annotation {REQUESTED_BY} with your name",
            "'The requester is unknown: the webhook that records it does not answer."
            f" Add the annotation {REQUESTED_BY}: ' + {USER} + ', or use `hibernator exception create`'",
        ),
        # Also where no one has to approve it yet: a policy may ask for that once it reads otherwise.
        Check(
            f"{IS_NEW} || object.spec == oldObject.spec || variables.by == {USER}"
            " || (variables.by == '' && !(variables.needed || variables.wasNeeded))",
            "Only who asked for an exception may change, submit or cancel it",
            "'Only ' + variables.by + ', who asked for this exception, may change, submit or cancel it."
            " Create one of your own'",
        ),
        Check(
            f"variables.label == '' || variables.label == object.spec.planRef.name || (!({IS_NEW})"
            f" && variables.label == {metadata('oldObject', 'labels', PLAN_LABEL)})",
            f"The label {PLAN_LABEL} is set by the operator and names the plan of spec.planRef: leave it out",
        ),
        Check(
            f"{IS_NEW} || !({_has_finalizer('oldObject')}) || {_has_finalizer('object')}"
            f" || {may('update', EXCEPTIONS, 'finalizers')}",
            f"The finalizer {FINALIZER} is for the operator to remove; {_PUT_BACK}. Where there is no"
            f" operator any more, a user who may update {EXCEPTIONS.plural}/finalizers can remove it",
        ),
        Check(
            f"object.spec.planRef.?namespace.orValue('') in ['', request.namespace]"
            f" || (!({IS_NEW}) && object.spec == oldObject.spec)",
            "spec.planRef.namespace must be the exception's own namespace: leave it out",
        ),
        Check(
            f"(!({IS_NEW}) && object.spec == oldObject.spec)"
            " || (object.spec.?approverEmails.orValue([]) + object.spec.?approvalRequiredRoles.orValue([]))"
            r".all(one, !one.matches('[\\p{C}\\p{Z}]'))",
            "approverEmails or approvalRequiredRoles have invisible characters, so that one would be"
            " taken for another: write them again",
        ),
    ),
)

DECISIONS: Final = Policy(
    name="hibernator-exception-decisions",
    kinds=(EXCEPTIONS,),
    part="status",
    operations=("UPDATE",),
    variables={
        "approvals": _added("approvals"),
        "rejections": _added("rejections"),
        "decisions": "variables.approvals + variables.rejections",
        "names": _names("variables.approvals", "variables.rejections"),
        "heard": _names(_entries("oldObject", "approvals"), _entries("oldObject", "rejections")),
        "ended": f"{_entries('oldObject', 'history')}.filter(e, e.action in {listed(_ENDS)})",
        "groups": "request.userInfo.?groups.orValue([])",
        "channels": _entries("oldObject", "channels"),
        **MINE,
    },
    checks=(
        Check(
            f"{_STATUS} && (variables.isWeb || {same('status.?approvalUrl')})",
            "Only the operator writes this status. People may add one entry to approvals or rejections, as"
            " `hibernator exception approve` does",
        ),
        Check(
            f"variables.names.all(name, variables.isWeb ? name != '' && !name.startsWith('system:')"
            f" : name == {USER})",
            "Decide in your own name only",
            f"'You are ' + {USER} + ': decide in your own name only'",
        ),
        approver(EXCEPTIONS, _DECIDES),
        Check(
            "!variables.names.exists(name, name in variables.heard)",
            "You have decided already, and that is final",
            f"'You have ' + ({_entries('oldObject', 'approvals')}.exists(e, e.approvedBy in variables.names)"
            " ? 'approved' : 'rejected') + ' this already, and that is final'",
        ),
        Check(
            "variables.approvals.size() + variables.rejections.size() <= 1",
            "Approve or reject, not both",
        ),
        Check(
            f"!({_DECIDES}) || ((object.spec.?approvalRequired.orValue(false)"
            f" || {_entries('oldObject', 'requiredApprovals')}.size() > 0)"
            " && !object.spec.?draft.orValue(false) && !object.spec.?cancelled.orValue(false)"
            " && !(oldObject.?status.?approvalState.orValue('') in ['Approved', 'Rejected'])"
            " && !(oldObject.?status.?state.orValue('') in ['Cancelled', 'Expired']))",
            "This exception does not wait for a decision (any more)",
            "variables.ended.size() == 0 ? 'This exception does not wait for a decision (any more)'"
            f" : 'This exception was ' + {_LAST}.action + ' by ' + {_LAST}.actor + ' at '"
            f" + string({_LAST}.timestamp) + ': it does not wait for a decision (any more)'",
        ),
        Check(
            "variables.approvals.all(entry, entry.?uid.orValue('') == object.metadata.uid"
            " && entry.?specHash.orValue('') != '')",
            "An approval says what was approved, by uid and specHash of this very exception: use"
            " `hibernator exception approve`",
        ),
        Check(
            "variables.decisions.all(entry, entry.?groups.orValue([]).all(group, (variables.isWeb"
            " || group in variables.groups) && !group.startsWith('system:')))",
            "The groups of a decision must be groups of yours, and none of Kubernetes itself (system:*): see"
            " `kubectl auth whoami`",
        ),
        Check(
            f"!({_DECIDES}) || variables.isWeb || (object.spec.?approvalRequiredRoles.orValue([]).size() == 0"
            f" && !{_entries('oldObject', 'requiredApprovals')}.exists(one, has(one.role)))"
            " || variables.groups.all(group, group.startsWith('system:'))"
            " || variables.decisions.all(entry, entry.?groups.orValue([]).size() > 0)",
            "A role may go by your groups, and the webhook that notes them down does not answer: add them as"
            " groups to the entry (see `kubectl auth whoami`), or use `hibernator exception approve`",
        ),
        Check(
            "variables.decisions.all(entry, variables.isWeb ? entry.?extra.orValue({}).size() == 0 : "
            + equivalent("entry.?extra.orValue({}).map(key, key + '=' + entry.extra[key])")
            + ")",
            "What a decision says in extra must be what the cluster knows of you: see `kubectl auth whoami`",
            "'What a decision says in extra must be all addresses that the cluster knows of you. '"
            " + (variables.mine.size() == 0 ? 'It knows none: leave extra out'"
            " : 'Where you leave it out, the webhook notes them down, if it answers. Add '"
            " + variables.mine.join(' and ') + ', or use `hibernator exception approve`')",
        ),
        Check(
            "variables.decisions.all(entry, entry.?channel.orValue('')"
            f" in (variables.isWeb ? {listed(DOORS)} : {listed(OWN_CHANNELS)}))",
            "The channel of a decision that you write yourself is cli, kubectl or api",
            f"variables.isWeb ? 'The web process decides through {', '.join(DOORS)}'"
            " : 'The channel of a decision that you write yourself is cli, kubectl or api'",
        ),
        Check(
            "variables.approvals.size() == 0 || variables.channels.size() == 0"
            " || variables.approvals.all(entry, entry.?channel.orValue('') in variables.channels)",
            "An approval through this channel does not count: see status.channels",
            "'An approval through this channel does not count for this exception: the policies of its plan"
            " count ' + variables.channels.join(', ')",
        ),
        Check(
            "variables.decisions.all(entry, has(entry.knownBy) == variables.isWeb)",
            "Only the web process writes knownBy, and it always does: leave it out",
        ),
    ),
)
