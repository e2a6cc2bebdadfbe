"""ScheduleException: a temporary override of a plan's schedule, with the approvals that it needs."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import (
    OBJECT_NAME,
    Conditions,
    Journal,
    Model,
    Object,
    ObservedGeneration,
    kept,
    rule,
    says,
    unchanged,
)
from hibernator.api.people import Channel, Claims, Email, Groups, KnownBy, Role, User, Words
from hibernator.api.planstatus import LONGEST_NAME
from hibernator.api.windows import DURATION, OffHourWindow

ExceptionState = Literal["Draft", "Pending", "Approved", "Active", "Expired", "Rejected", "Cancelled"]
ApprovalState = Literal["Pending", "Approved", "Rejected"]
Action = Literal[
    "requested",
    "submitted",
    "approved",
    "rejected",
    "refused",
    "waiting",
    "activated",
    "cancelled",
    "expired",
    "policy",
    "escalated",
]


class RequiredApproval(Model):
    """One person, or one role, that must agree."""

    status: Annotated[str, says("What they said so far.", enum=["pending", "approved", "rejected"])]
    email: Annotated[Email | None, says("The person, when one was named.")] = None
    role: Annotated[Role | None, says("The role, when one was named.")] = None
    policy: Annotated[
        str | None,
        says("The ExceptionPolicy that asks for it; absent where the exception itself does.", maxLength=340),
    ] = None
    needed: Annotated[
        int | None,
        says("How many of those with the same `policy` must agree; absent without one.", format="int32"),
    ] = None


class MatchedPolicy(Model):
    """An ExceptionPolicy that counts for this exception."""

    name: Annotated[str, says("Its name, with its namespace where that is the operator's.", maxLength=320)]
    version: Annotated[str, says("A hash of what it says.", maxLength=128)]
    unless: Annotated[
        str, says("Why this policy asks for no approval; absent where it asks for one.", maxLength=1024)
    ] = ""
    escalated: Annotated[bool, says("Whether those of `escalateAfter` may agree by now.")] = False


class Judged(Model):
    """What the policies were asked about."""

    spec_hash: Annotated[str, says("The hash of the spec.", maxLength=128)]
    since: Annotated[datetime, says("Since when the spec reads like this.")]
    let_through: Annotated[
        bool, says("Whether it became active like this, so that later policies no longer count.")
    ] = False


class Approval(Model):
    approved_by: Annotated[User, says("Who approved.")]
    approved_at: Annotated[datetime, says("When.")]
    email: Annotated[Email | None, says("For which required person it counts.")] = None
    role: Annotated[Role | None, says("For which required role it counts.")] = None
    channel: Channel = ""
    reason: Words = ""
    groups: Groups = ()
    extra: Claims = msgspec.field(default_factory=dict)
    known_by: Annotated[KnownBy | None, says("How they were known, where the web process wrote this.")] = None
    uid: Annotated[str, says("The uid of the exception that was approved.", maxLength=64)] = ""
    spec_hash: Annotated[str, says("The hash of the spec that was approved.", maxLength=128)] = ""


class Rejection(Model):
    rejected_by: Annotated[User, says("Who rejected.")]
    rejected_at: Annotated[datetime, says("When.")]
    email: Annotated[Email | None, says("For which required person it counts.")] = None
    role: Annotated[Role | None, says("For which required role it counts.")] = None
    channel: Channel = ""
    reason: Words = ""
    groups: Groups = ()
    extra: Claims = msgspec.field(default_factory=dict)
    known_by: Annotated[KnownBy | None, says("How they were known, where the web process wrote this.")] = None


class HistoryEntry(Model):
    action: Annotated[Action, says("What was done.")]
    actor: Annotated[User, says("Who did it.")]
    timestamp: Annotated[datetime, says("When.")]
    channel: Channel = ""
    role: Annotated[Role | None, says("In which role.")] = None
    on_behalf_of: Annotated[User, says("In whose place, by their deputy; absent for oneself.")] = ""
    reason: Words = ""


class Impact(Model):
    """What the exception changes over its validity, compared with the plan without it."""

    hours_asleep_gained: Annotated[float | None, says("Hours of sleep that it adds.")] = None
    hours_asleep_lost: Annotated[float | None, says("Hours of sleep that it takes away.")] = None
    workloads: Annotated[
        int | None, says("How many workloads and cloud resources it touches.", format="int32")
    ] = None


class ScheduleExceptionStatus(Model):
    state: Annotated[
        ExceptionState | None,
        says("Where it is. Only an `Active` one overrides the schedule, and only while it is valid."),
    ] = None
    approval_state: Annotated[
        ApprovalState | None, says("How the approval stands; absent when none is needed.")
    ] = None
    approval_progress: Annotated[
        str, says("How many of the needed approvals are there, as `1/2`, for `kubectl get`.")
    ] = ""
    approval_deadline: Annotated[
        datetime | None, says("By when it must be approved; absent when no approval is needed.")
    ] = None
    approval_url: Annotated[
        str, says("Where approvers decide with a browser; written by the web process.", maxLength=2048)
    ] = ""
    applied_at: Annotated[datetime | None, says("When it became active.")] = None
    expired_at: Annotated[datetime | None, says("When it expired.")] = None
    message: Annotated[str, says("What is going on, in a sentence.")] = ""
    requested_by: Annotated[User, says("Who asked for it.")] = ""
    requested_at: Annotated[datetime | None, says("When it was asked for.")] = None
    required_approvals: Annotated[
        tuple[RequiredApproval, ...],
        says("Who must agree, and what they said so far.", maxItems=200, x_kubernetes_list_type="atomic"),
    ] = ()
    policies: Annotated[
        tuple[MatchedPolicy, ...],
        says("The ExceptionPolicies that count for it.", maxItems=16, x_kubernetes_list_type="atomic"),
    ] = ()
    channels: Annotated[
        tuple[Annotated[str, says("A channel.", maxLength=64)], ...],
        says(
            "The channels through which an approval counts, as the policies say; all when absent.",
            maxItems=6,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    judged: Annotated[Judged | None, says("Which spec the policies were asked about.")] = None
    approvals: Annotated[
        tuple[Approval, ...],
        says(
            "Who agreed: one entry a person, neither changed nor removed.",
            maxItems=40,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["approvedBy"],
        ),
    ] = ()
    rejections: Annotated[
        tuple[Rejection, ...],
        says(
            "Who disagreed: one entry a person, neither changed nor removed.",
            maxItems=40,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["rejectedBy"],
        ),
    ] = ()
    history: Annotated[
        tuple[HistoryEntry, ...],
        says("Everything that was done, oldest first.", maxItems=200, x_kubernetes_list_type="atomic"),
    ] = ()
    impact: Annotated[Impact | None, says("What it changes.")] = None
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
    journal: Journal = ()


ExceptionType = Literal["extend", "suspend", "replace"]

MOST_APPROVERS = 20

_APPROVERS = (
    "(has(self.approverEmails) ? self.approverEmails.size() : 0)"
    " + (has(self.approvalRequiredRoles) ? self.approvalRequiredRoles.size() : 0)"
)


class PlanReference(Model):
    RULES = (
        rule(
            "self.name == oldSelf.name",
            "planRef is immutable: create another ScheduleException for the other plan",
            field=".name",
        ),
    )

    name: Annotated[
        str,
        says("The HibernatePlan to override.", minLength=1, maxLength=LONGEST_NAME, pattern=OBJECT_NAME),
    ]
    namespace: Annotated[
        str | None, says("The plan's namespace; it can only be the exception's own.", maxLength=63)
    ] = None


class ScheduleExceptionSpec(Model):
    RULES = (
        rule(
            "self.validFrom <= self.validUntil",
            "validUntil must not be before validFrom",
            field=".validUntil",
        ),
        rule(
            "self.validUntil - self.validFrom <= duration('2160h')",
            "An exception lasts at most 90 days: bring validUntil closer to validFrom",
            field=".validUntil",
        ),
        rule(
            f"!self.approvalRequired || {_APPROVERS} > 0",
            "approvalRequired needs an approver: set approverEmails or approvalRequiredRoles",
            field=".approvalRequired",
        ),
        rule(
            "type(self.approvalThreshold) == string ? self.approvalThreshold == 'all'"
            " : self.approvalThreshold >= 1",
            "approvalThreshold must be `all` or a number from 1 on",
            field=".approvalThreshold",
        ),
        rule(
            f"type(self.approvalThreshold) == string || self.approvalThreshold <= {_APPROVERS}",
            "approvalThreshold asks for more approvals than there are approvers",
            field=".approvalThreshold",
        ),
        rule(
            "!has(self.approverEmails) || self.approverEmails.all(one, self.approverEmails.exists_one(other,"
            " one.lowerAscii() == other.lowerAscii()))",
            "approverEmails must name each person once, whatever the case of the letters",
            field=".approverEmails",
        ),
        rule(
            "!oldSelf.cancelled || self.cancelled",
            "cancelled cannot be taken back: create a new ScheduleException",
            field=".cancelled",
        ),
    )

    plan_ref: Annotated[PlanReference, says("The plan whose schedule this overrides.")]
    valid_from: Annotated[datetime, says("From when it is valid (inclusive).")]
    valid_until: Annotated[
        datetime, says("Until when it is valid (exclusive), at most 90 days after `validFrom`.")
    ]
    type: Annotated[
        ExceptionType,
        says(
            "`extend` sleeps in these windows too, `suspend` stays awake in them, `replace` sleeps in them "
            "and at no other time."
        ),
    ]
    windows: Annotated[
        tuple[OffHourWindow, ...],
        says(
            "When it applies, in the plan's zone.",
            required=True,
            minItems=1,
            maxItems=64,
            x_kubernetes_list_type="atomic",
        ),
    ] = msgspec.field(default=())
    lead_time: Annotated[
        str | None,
        says(
            "With `suspend`: no sleep begins this long before a window. A duration such as `30m`, `1h` or "
            "`3600s`. With other types it has no effect.",
            pattern=f"^$|{DURATION}",
            maxLength=32,
        ),
    ] = None
    reason: Annotated[str | None, says("Why it is needed, for those who approve it.", maxLength=1024)] = None
    draft: Annotated[
        bool, says("Not yet submitted: it does nothing, and everything may still be changed.", default=False)
    ] = False
    approval_required: Annotated[
        bool, says("Whether it needs approval before it takes effect.", default=False)
    ] = False
    approver_emails: Annotated[
        tuple[Email, ...],
        says("The people who must agree.", maxItems=MOST_APPROVERS, x_kubernetes_list_type="set"),
    ] = ()
    approval_required_roles: Annotated[
        tuple[Role, ...],
        says(
            "The roles of which one member each must approve.",
            maxItems=MOST_APPROVERS,
            x_kubernetes_list_type="set",
        ),
    ] = ()
    approval_threshold: Annotated[
        int | Literal["all"],
        says("How many of them must agree: `all`, or a number.", default="all"),
    ] = "all"
    cancelled: Annotated[
        bool, says("Set by the requester to call it off. Cannot be taken back.", default=False)
    ] = False


_FROZEN = " && ".join(
    unchanged(f"spec.{field.encode_name}")
    for field in msgspec.structs.fields(ScheduleExceptionSpec)
    if field.name != "cancelled"
)


# What people are asked about by a policy, or what became active under one, stays as it was shown to them.
_GOVERNED = (
    "(has(oldSelf.status) && ((has(oldSelf.status.requiredApprovals)"
    " && oldSelf.status.requiredApprovals.size() > 0) || (has(oldSelf.status.policies)"
    " && oldSelf.status.policies.size() > 0 && has(oldSelf.status.state)"
    " && oldSelf.status.state in ['Approved', 'Active'])))"
)


class ScheduleException(Object, kw_only=True):
    """Overrides the schedule of one HibernatePlan for a limited time, and then is over by itself."""

    RULES = (
        rule(
            f"(!oldSelf.spec.approvalRequired && !{_GOVERNED}) || oldSelf.spec.draft || ({_FROZEN})",
            "The spec is frozen once it was submitted for approval; only cancelled may still be set. Cancel "
            "this exception and create another",
            field=".spec",
            reason="FieldValueForbidden",
        ),
        rule(
            "!self.spec.cancelled || oldSelf.spec.cancelled || !has(oldSelf.status)"
            " || !has(oldSelf.status.state) || oldSelf.status.state != 'Expired'",
            "This exception has expired; there is nothing left to cancel",
            field=".spec.cancelled",
            reason="FieldValueForbidden",
        ),
        rule(
            f"{kept('approvals')} && {kept('rejections')}",
            "An approval or rejection can be neither changed nor taken back",
            field=".status",
            reason="FieldValueForbidden",
        ),
    )

    spec: Annotated[ScheduleExceptionSpec, says("Which plan to override, how, when, and who must approve.")]
    status: Annotated[ScheduleExceptionStatus, says("How far it is, and who decided what.")] = (
        ScheduleExceptionStatus()
    )


EXCEPTIONS = Kind(ScheduleException, DOMAIN, "v1alpha1", "ScheduleException", "scheduleexceptions")
