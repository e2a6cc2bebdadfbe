"""What an exception changes: the hours of sleep over its validity, with it and without it.

Both are counted with the other exceptions that are in force: an evening that another one keeps awake already
is no evening that this one changes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import HibernatePlanStatus
from hibernator.api.scheduleexception import Impact, ScheduleException
from hibernator.schedule.exceptions import NamedException
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.spans import Spans, subtract, union
from hibernator.schedule.ticks import from_instant, to_instant
from hibernator.schedule.timeline import State


@dataclass(frozen=True, slots=True)
class Change:
    """A stretch of time in which the plan rests otherwise than it would without the exception."""

    start: Instant
    end: Instant
    state: State  # with the exception

    @property
    def hours(self) -> float:
        return (self.end - self.start).total("hours")


def beside(exception: ScheduleException, others: Iterable[ScheduleException]) -> tuple[NamedException, ...]:
    """Those of the plan's exceptions that are in force while this one is valid, without itself."""
    spec = exception.spec
    found = [
        other
        for other in others
        if other.status.state == "Active"
        and not other.metadata.deletion_timestamp
        and other.spec.plan_ref.name == spec.plan_ref.name
        and other.metadata.name != exception.metadata.name
        and other.spec.valid_from < spec.valid_until
        and spec.valid_from < other.spec.valid_until
    ]
    found.sort(key=lambda other: (other.spec.valid_from, other.metadata.name))
    return tuple((other.metadata.name, other.spec) for other in found)


def changes(
    plan: HibernatePlan,
    exception: ScheduleException,
    holidays: Holidays = NO_HOLIDAYS,
    others: Sequence[NamedException] = (),
) -> tuple[Change, ...]:
    """All that is different over the validity, in order."""
    schedule, spec = plan.spec.schedule, exception.spec
    start, end = Instant(spec.valid_from), Instant(spec.valid_until)
    before = _asleep(PlanTimeline(schedule, others, holidays), start, end)
    overrides = *others, (exception.metadata.name, spec)
    after = _asleep(PlanTimeline(schedule, overrides, holidays), start, end)
    found = [
        *(Change(to_instant(lo), to_instant(hi), State.ASLEEP) for lo, hi in subtract(after, before)),
        *(Change(to_instant(lo), to_instant(hi), State.AWAKE) for lo, hi in subtract(before, after)),
    ]
    return tuple(sorted(found, key=lambda change: change.start))


def impact(
    plan: HibernatePlan,
    exception: ScheduleException,
    holidays: Holidays = NO_HOLIDAYS,
    others: Sequence[NamedException] = (),
) -> Impact:
    found = changes(plan, exception, holidays, others)
    return Impact(
        hours_asleep_gained=_hours(found, State.ASLEEP),
        hours_asleep_lost=_hours(found, State.AWAKE),
        workloads=workloads(plan.status),
    )


def workloads(status: HibernatePlanStatus) -> int | None:
    """How many things the plan touches, as it counted them when it last slept or woke."""
    counts = [
        target.items.total for target in status.targets if target.items and target.items.total is not None
    ]
    return sum(counts) if counts else None


def _asleep(timeline: PlanTimeline, start: Instant, end: Instant) -> Spans:
    return union(
        (from_instant(each.start), from_instant(each.end))
        for each in timeline.between(start, end)
        if each.value is State.ASLEEP
    )


def _hours(found: Iterable[Change], state: State) -> float:
    return round(sum(change.hours for change in found if change.state is state), 2)
