"""What an exception changes: the hours of sleep over its validity, with it and without it."""

from whenever import Instant

from hibernator.api.exceptionstatus import Impact
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import HibernatePlanStatus
from hibernator.api.scheduleexception import ScheduleException
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.spans import Spans, subtract, union
from hibernator.schedule.ticks import HOUR, from_instant
from hibernator.schedule.verdicts import State


def impact(plan: HibernatePlan, exception: ScheduleException, holidays: Holidays = NO_HOLIDAYS) -> Impact:
    schedule, spec = plan.spec.schedule, exception.spec
    start, end = Instant(spec.valid_from), Instant(spec.valid_until)
    before = _asleep(PlanTimeline(schedule, (), holidays), start, end)
    after = _asleep(PlanTimeline(schedule, ((exception.metadata.name, spec),), holidays), start, end)
    return Impact(
        hours_asleep_gained=_hours(subtract(after, before)),
        hours_asleep_lost=_hours(subtract(before, after)),
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


def _hours(spans: Spans) -> float:
    return round(sum(end - start for start, end in spans) / HOUR, 2)
