"""How far a ScheduleException is, and who decided what: the half that the operator and approvers write."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.meta import Conditions, Model, ObservedGeneration, says
from hibernator.api.people import Channel, Claims, Email, Groups, Role, User, Words

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
]


class RequiredApproval(Model):
    """One person, or one role, that must agree."""

    status: Annotated[str, says("What they said so far.", enum=["pending", "approved", "rejected"])]
    email: Annotated[Email | None, says("The person, when one was named.")] = None
    role: Annotated[Role | None, says("The role, when one was named.")] = None


class Approval(Model):
    approved_by: Annotated[User, says("Who approved.")]
    approved_at: Annotated[datetime, says("When.")]
    email: Annotated[Email | None, says("For which required person it counts.")] = None
    role: Annotated[Role | None, says("For which required role it counts.")] = None
    channel: Channel = ""
    reason: Words = ""
    groups: Groups = ()
    extra: Claims = msgspec.field(default_factory=dict)
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


class HistoryEntry(Model):
    action: Annotated[Action, says("What was done.")]
    actor: Annotated[User, says("Who did it.")]
    timestamp: Annotated[datetime, says("When.")]
    channel: Channel = ""
    role: Annotated[Role | None, says("In which role.")] = None
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
        says("Where it is. Only an `Active` one bends the schedule, and only while it is valid."),
    ] = None
    approval_state: Annotated[
        ApprovalState | None, says("How the approval stands; absent when none is needed.")
    ] = None
    approval_progress: Annotated[
        str, says("How many of the needed approvals are there, as `1/2`, for `kubectl get`.")
    ] = ""
    applied_at: Annotated[datetime | None, says("When it became active.")] = None
    expired_at: Annotated[datetime | None, says("When it expired.")] = None
    message: Annotated[str, says("What goes on, in words.")] = ""
    requested_by: Annotated[User, says("Who asked for it.")] = ""
    requested_at: Annotated[datetime | None, says("When it was asked for.")] = None
    required_approvals: Annotated[
        tuple[RequiredApproval, ...],
        says("Who must agree, and what they said so far.", maxItems=40, x_kubernetes_list_type="atomic"),
    ] = ()
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
