"""The next 24 hours of plans, and two weeks back and ahead of one: from the same engine as `simulate`.

What a plan does in a day is kept until the plan or one of its exceptions changes: a page of thousands of
plans computes only what is new.
"""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from whenever import Instant, TimeDelta

from hibernator.api.conversion import effective_spec
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.decisions.conditions import seconds_until
from hibernator.decisions.scaler_timeline import mistakes, timeline
from hibernator.decisions.scheduleexception_line import place
from hibernator.pictures.ink import tone
from hibernator.pictures.resource import Resource, ShownException, plan_resource, standing_from
from hibernator.pictures.strips import strip
from hibernator.pictures.svg import CLASSES, render
from hibernator.schedule.holidays import load_holidays
from hibernator.schedule.problems import check_exception, check_schedule
from hibernator.schedule.timeline import Interval, State

DAY: Final = TimeDelta(hours=24)
QUARTERS: Final = 96  # quarters of an hour in it
_FORTNIGHT: Final = 14  # days
_MOST: Final = 20_000  # plans whose day is remembered

_Day = tuple[Interval[Any], ...]
Quarters = tuple[tuple[int, int], ...]  # sleeps, from and until which quarter of an hour of a lane


class Piece(NamedTuple):
    """A part of a lane of 24 hours, of which `start` and `width` are shares."""

    start: float
    width: float
    css: str
    words: str


@dataclass(slots=True)
class _Kept:
    """Two days of a plan, for as long as the watch brings no newer object than these."""

    plan: HibernatePlan
    exceptions: Sequence[ScheduleException]
    began: Instant
    days: _Day
    start: Instant | None = None  # of the lane that `quarters` are of
    quarters: Quarters = ()

    def is_of(self, plan: HibernatePlan, exceptions: Sequence[ScheduleException], now: Instant) -> bool:
        return (
            self.plan is plan
            and len(self.exceptions) == len(exceptions)
            and all(map(operator.is_, self.exceptions, exceptions))
            and self.began <= now < self.began + DAY
        )


class Lanes:
    """The days of plans, each computed once for what is known of it."""

    def __init__(self) -> None:
        self._days: OrderedDict[str, _Kept] = OrderedDict()

    def day(self, plan: HibernatePlan, exceptions: Sequence[ScheduleException], now: Instant) -> _Day:
        """What the schedule says from now on for 24 hours; empty where it has mistakes."""
        end = now + DAY
        found = self._of(plan, exceptions, now).days
        return tuple(one for one in found if one.end > now and one.start < end)

    def sleeps(
        self, plan: HibernatePlan, exceptions: Sequence[ScheduleException], start: Instant
    ) -> Quarters:
        """When it sleeps in the lane that begins here."""
        kept = self._of(plan, exceptions, start)
        if kept.start != start:
            day = self.day(plan, exceptions, start)
            kept.start = start
            kept.quarters = tuple(
                (quarter(one.start, start), quarter(one.end, start))
                for one in day
                if one.value is State.ASLEEP
            )
        return kept.quarters

    def _of(self, plan: HibernatePlan, exceptions: Sequence[ScheduleException], now: Instant) -> _Kept:
        kept = self._days.get(plan.metadata.uid)
        if kept is None or not kept.is_of(plan, exceptions, now):
            began, resource = _midnight(now), resource_of(plan, exceptions)
            found: _Day = resource.timeline.between(began, began + DAY + DAY) if resource else ()
            found = _followed(plan, found)
            kept = self._days[plan.metadata.uid] = _Kept(plan, exceptions, began, found)
            self._days.move_to_end(plan.metadata.uid)
            if len(self._days) > _MOST:
                self._days.popitem(last=False)
        return kept


def _followed(plan: HibernatePlan, days: _Day) -> _Day:
    """What of these days the schedule decides: nothing while the plan is suspended."""
    if not plan.spec.suspend:
        return days
    if plan.spec.suspend_until is None:
        return ()
    goes_on = Instant(plan.spec.suspend_until)
    return tuple(replace(one, start=max(one.start, goes_on)) for one in days if one.end > goes_on)


def pieces(intervals: Iterable[Interval[Any]], now: Instant) -> tuple[Piece, ...]:
    """The intervals as parts of a lane that begins now."""
    whole = DAY.total("seconds")
    found = []
    for one in intervals:
        start = seconds_until(one.start, now)
        end = min(whole, (one.end - now).total("seconds"))
        found.append(Piece(start / whole, (end - start) / whole, CLASSES[tone(one)], one.message))
    return tuple(found)


def resource_of(plan: HibernatePlan, exceptions: Iterable[ScheduleException]) -> Resource | None:
    """A plan with its exceptions as pictures need it; None where the schedule has mistakes."""
    schedule, metadata = plan.spec.schedule, plan.metadata
    if any(check_schedule(schedule)):
        return None
    # Days off from a ConfigMap are not drawn: this process may not read ConfigMaps.
    holidays = load_holidays(schedule.holidays)[0]
    shown = tuple(
        ShownException(one.metadata.name, one.spec, standing_from(one.spec, one.status))
        for one in sorted(exceptions, key=place)
        if not one.metadata.deletion_timestamp and not any(check_exception(one.spec))
    )
    return plan_resource(metadata.namespace, metadata.name, schedule, holidays, shown)


def resource_of_scaler(scaler: TimeWindowScaler) -> Resource | None:
    """A scaler likewise. Measured windows count with their most, shares with what the status knows."""
    spec, metadata = effective_spec(scaler), scaler.metadata
    if any((mistakes(scaler, spec).zone, *mistakes(scaler, spec).others)):
        return None
    holidays = load_holidays(spec.holidays)[0]
    baseline = scaler.status.baseline_replicas or 1
    return Resource(
        SCALERS.kind,
        metadata.namespace,
        metadata.name,
        timeline(spec, holidays, baseline, {}),
        holidays,
        spec.holidays.mode if spec.holidays else "ignore",
    )


def weeks(resource: Resource, now: Instant) -> str:
    """Two weeks back and two ahead as `simulate -o svg` draws them, by the plan's clock; and where now is."""
    today = now.to_tz(resource.zone.name).start_of("day")
    first, last = today.subtract(days=_FORTNIGHT), today.add(days=_FORTNIGHT)
    drawn = strip(resource, first.to_instant(), last.to_instant())
    return render([drawn], styled=False, now=now)


def quarter(at: Instant, start: Instant) -> int:
    """The quarter of an hour of a lane in which a moment is, before and after it the first and last."""
    return min(QUARTERS, max(0, round((at - start).total("minutes") / 15)))


def _midnight(now: Instant) -> Instant:
    return now.to_tz("UTC").start_of("day").to_instant()
