"""What a picture is of: something with a timeline, and the exceptions beside it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from hibernator.api.hibernateplan import PLANS, Schedule
from hibernator.api.scheduleexception import ScheduleExceptionSpec, ScheduleExceptionStatus
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.zones import Zone


class Standing(StrEnum):
    """What an exception does to its plan, as far as its document shows."""

    IN_FORCE = "in force"
    WAITS = "waiting for another exception"
    PENDING = "pending approval"
    DRAFT = "a draft"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "over without having been active"
    REFUSED = "held back, as its status says"


_HELD: Final = frozenset({"PolicyRefused", "QuotaExceeded", "RequesterUnknown"})  # reasons of a pending one
PROPOSED: Final = frozenset({Standing.PENDING, Standing.DRAFT})  # of these it is shown what they would do


def standing_from(spec: ScheduleExceptionSpec, status: ScheduleExceptionStatus) -> Standing:
    """Where an exception is: as its status says, or where it will be once the cluster has seen it."""
    agreed = status.approval_state == "Approved"
    needed = spec.approval_required or status.approval_state is not None  # a policy may ask for it, too
    if spec.cancelled or status.state == "Cancelled":
        return Standing.CANCELLED
    if status.state == "Rejected":
        return Standing.REJECTED
    if spec.draft:
        return Standing.DRAFT
    if status.state in {"Active", "Approved"}:
        return Standing.IN_FORCE
    if status.state == "Expired":
        return Standing.IN_FORCE if status.applied_at else Standing.EXPIRED
    if any(condition.reason in _HELD for condition in status.conditions):
        return Standing.REFUSED
    return Standing.PENDING if needed and not agreed else Standing.IN_FORCE


@dataclass(frozen=True, slots=True)
class ShownException:
    """An exception, and whether it is in force."""

    name: str
    spec: ScheduleExceptionSpec
    standing: Standing


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that has a timeline."""

    kind: str
    namespace: str
    name: str
    timeline: PlanTimeline | ScalerTimeline
    holidays: Holidays
    holiday_mode: str = "ignore"
    exceptions: tuple[ShownException, ...] = ()
    # Exceptions that are not in force, each with the plan as it would be with it.
    proposals: tuple[tuple[ShownException, PlanTimeline], ...] = ()

    @property
    def is_plan(self) -> bool:
        return isinstance(self.timeline, PlanTimeline)

    @property
    def zone(self) -> Zone:
        return self.timeline.zone

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.namespace, self.name

    @property
    def title(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def plan_resource(
    namespace: str,
    name: str,
    schedule: Schedule,
    holidays: Holidays,
    exceptions: tuple[ShownException, ...],
) -> Resource:
    """A plan as its exceptions leave it, and as it would be with each that is proposed."""
    in_force = [(one.name, one.spec) for one in exceptions if one.standing is Standing.IN_FORCE]
    return Resource(
        PLANS.kind,
        namespace,
        name,
        PlanTimeline(schedule, in_force, holidays),
        holidays,
        schedule.holidays.mode if schedule.holidays else "ignore",
        exceptions,
        tuple(
            (one, PlanTimeline(schedule, [*in_force, (one.name, one.spec)], holidays))
            for one in exceptions
            if one.standing in PROPOSED
        ),
    )
