"""How a HibernatePlan is going: the half that the operator writes."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.meta import Conditions, Journal, Model, ObservedGeneration, says

Phase = Literal["Pending", "Active", "Hibernating", "Hibernated", "WakingUp", "Suspended", "Error"]
TargetState = Literal["Pending", "Running", "Completed", "Failed", "Aborted", "Skipped"]
Operation = Literal["Sleep", "Wake"]
Rest = Literal["Asleep", "Awake"]
Result = Literal["Succeeded", "PartlyFailed", "Failed", "Aborted"]

# Exceptions carry the name of their plan as a label, and labels are short.
LONGEST_NAME = 63
MOST_TARGETS = 100
MOST_REMOVED = 100  # targets that have left the spec and are still to be woken
MOST_RECENT = 100


class NextTransition(Model):
    at: Annotated[datetime, says("When the plan changes next.")]
    to: Annotated[Rest, says("What it changes to.")]
    reason: Annotated[str, says("Which rule of the schedule asks for it.")] = ""


class ItemCount(Model):
    """How far the items of a target are; their names are in the restore data."""

    total: Annotated[int | None, says("How many items the target has.", format="int32")] = None
    done: Annotated[int | None, says("How many are done.", format="int32")] = None
    failed: Annotated[int | None, says("How many failed.", format="int32")] = None
    skipped: Annotated[
        int | None, says("How many were left alone, such as those that already slept.", format="int32")
    ] = None


class HourlySaving(Model):
    cpu_cores: Annotated[float | None, says("CPU cores not used.")] = None
    memory_gib: Annotated[float | None, says("GiB of memory not used.")] = msgspec.field(
        default=None, name="memoryGiB"
    )
    nodes: Annotated[float | None, says("Machines not used.")] = None
    machines: Annotated[
        Mapping[str, float],
        says("Which machines, where it is known, by region and type, such as `eu-central-1/m5.large`."),
    ] = msgspec.field(default_factory=dict)


class WokenByOthers(Model):
    """What others woke of a target in this sleep, which saves nothing since."""

    items: Annotated[int, says("How many items.", format="int32")]
    since: Annotated[datetime, says("When the last of them was woken, as far as it is known.")]
    saving: Annotated[HourlySaving | None, says("What an hour of their sleep would save.")] = None


class TargetStatus(Model):
    name: Annotated[str, says("The target.", maxLength=LONGEST_NAME)]
    state: Annotated[TargetState, says("How far it is in the current operation.")]
    attempts: Annotated[int | None, says("How often it was tried.", format="int32")] = None
    started_at: Annotated[datetime | None, says("When work on it began.")] = None
    finished_at: Annotated[datetime | None, says("When work on it ended.")] = None
    message: Annotated[str, says("What happened, in words.")] = ""
    items: Annotated[ItemCount | None, says("How many items it has, and how many are done.")] = None
    saving: Annotated[HourlySaving | None, says("What each hour of its sleep saves.")] = None
    woken_by_others: Annotated[
        WokenByOthers | None, says("What others woke of it while the plan sleeps; absent if nothing.")
    ] = None


class ActiveException(Model):
    """A ScheduleException of this plan, active or past."""

    name: Annotated[str, says("The ScheduleException.", maxLength=253)]
    type: Annotated[str, says("How it overrides the schedule.", enum=["extend", "suspend", "replace"])]
    valid_from: Annotated[datetime, says("From when it is valid.")]
    valid_until: Annotated[datetime, says("Until when it is valid.")]
    state: Annotated[str, says("Its state.")]
    applied_at: Annotated[datetime | None, says("When it became active.")] = None
    expired_at: Annotated[datetime | None, says("When it expired.")] = None


class RecentException(Model):
    """A ScheduleException that had an effect lately, for policies that count them: deleted ones count."""

    uid: Annotated[str, says("Its uid.", maxLength=64)]
    name: Annotated[str, says("Its name.", maxLength=253)]
    began_at: Annotated[datetime, says("From when it was valid.")]
    valid_until: Annotated[datetime, says("Until when it was valid, or was to be.")]


class OperationResult(Model):
    started_at: Annotated[datetime, says("When it began.")]
    result: Annotated[Result | None, says("How it ended; absent while it runs.")] = None
    finished_at: Annotated[datetime | None, says("When it ended.")] = None
    duration_seconds: Annotated[float | None, says("How long it took.")] = None
    completed: Annotated[int | None, says("How many targets were completed.", format="int32")] = None
    failed: Annotated[int | None, says("How many targets failed.", format="int32")] = None
    message: Annotated[str, says("What happened, in words.")] = ""


class Cycle(Model):
    cycle: Annotated[int, says("The number of the cycle.")]
    saving: Annotated[HourlySaving | None, says("What each hour of this sleep saves.")] = None
    sleep: Annotated[OperationResult | None, says("How going to sleep went.")] = None
    wake: Annotated[OperationResult | None, says("How waking up went.")] = None


class Savings(Model):
    """What sleeping has saved, estimated from what the sleeping things ask for when awake."""

    cpu_core_hours: Annotated[float | None, says("Hours of CPU cores not used.")] = None
    memory_gib_hours: Annotated[float | None, says("Hours of GiB of memory not used.")] = msgspec.field(
        default=None, name="memoryGiBHours"
    )
    node_hours: Annotated[float | None, says("Hours of machines not used.")] = None
    since: Annotated[datetime | None, says("Since when this is counted.")] = None
    counted_until: Annotated[
        datetime | None,
        says("Until when this sleep is counted in already; absent where it is not, or where none goes on."),
    ] = None


class HibernatePlanStatus(Model):
    phase: Annotated[Phase | None, says("Where the plan is.")] = None
    current_operation: Annotated[Operation | None, says("What is being done; absent when nothing is.")] = None
    cycle: Annotated[int | None, says("How often the plan has gone to sleep.")] = None
    progress: Annotated[
        str, says("How many targets are done in the current operation, as `3/5`, for `kubectl get`.")
    ] = ""
    next_transition: Annotated[NextTransition | None, says("When the schedule changes next.")] = None
    targets: Annotated[
        tuple[TargetStatus, ...],
        says(
            "How far each target is, and each one that has left the spec and is still to be woken.",
            maxItems=MOST_TARGETS + MOST_REMOVED,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = ()
    active_exceptions: Annotated[
        tuple[ActiveException, ...],
        says(
            "The exceptions of this plan, the active one and up to nine before it.",
            maxItems=10,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = ()
    recent_exceptions: Annotated[
        tuple[RecentException, ...],
        says(
            "The exceptions of the last seven days, also deleted ones, because ExceptionPolicies count them.",
            maxItems=MOST_RECENT,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["uid"],
        ),
    ] = ()
    history: Annotated[
        tuple[Cycle, ...],
        says(
            "The last five cycles.",
            maxItems=5,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["cycle"],
        ),
    ] = ()
    savings: Annotated[Savings | None, says("What sleeping has saved.")] = None
    retried: Annotated[
        str, says("The last request to try failed targets again that was honoured.", maxLength=64)
    ] = ""
    journal: Journal = ()
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
