"""A plan's timeline says at every minute what ruling 4, applied minute by minute, says."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import given, settings, strategies as st
from whenever import Instant

from hibernator.api.hibernateplan import PlanHolidays, Schedule
from hibernator.api.scheduleexception import PlanReference, ScheduleExceptionSpec
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.exceptions import overlap
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.timeline import State, Timeline
from schedule import brute
from schedule.strategies import exceptions_near, holidays_near, off_hours, weeks

WHOLE = timedelta(days=20)  # around a week, so that all exceptions near it begin and end within

Week = tuple[str, datetime, datetime]


def written(windows: Sequence[brute.BruteWindow]) -> tuple[OffHourWindow, ...]:
    return tuple(
        OffHourWindow(start=window.start, end=window.end, days_of_week=window.days) for window in windows
    )


def schedule(zone: str, windows: Sequence[brute.BruteWindow], mode: Any = "ignore") -> Schedule:
    return Schedule(timezone=zone, off_hours=written(windows), holidays=PlanHolidays(mode=mode))


def bending(exception: brute.BruteException) -> ScheduleExceptionSpec:
    return ScheduleExceptionSpec(
        plan_ref=PlanReference(name="plan"),
        type=exception.type,  # type: ignore[arg-type]  # the strategy draws only the three types
        valid_from=exception.valid_from,
        valid_until=exception.valid_until,
        lead_time=f"{exception.lead // timedelta(minutes=1)}m",
        windows=written(exception.windows),
    )


def by_minute(timeline: Timeline[Any], start: datetime, end: datetime) -> list[Any]:
    """What holds at each minute, from `between`; every edge but an exception's is on a whole minute."""
    values: list[Any] = []
    for interval in timeline.between(Instant(start), Instant(end)):
        until = -((start - interval.end.to_stdlib()) // brute.MINUTE)
        values += [interval.value] * (until - len(values))
    return values


def states(asleep: Sequence[object]) -> list[State]:
    return [State.ASLEEP if each else State.AWAKE for each in asleep]


@given(weeks(), off_hours())
def test_a_plan_sleeps_at_exactly_the_minutes_that_its_windows_cover(
    week: Week, windows: tuple[brute.BruteWindow, ...]
) -> None:
    zone, start, end = week
    clock = brute.wall(zone, start, end)
    expected = states(clock.asked(brute.base(clock, windows)))
    assert by_minute(PlanTimeline(schedule(zone, windows)), start, end) == expected


@given(weeks(), off_hours(), st.sampled_from(["sleep-all-day", "stay-awake"]), st.data())
def test_holidays_are_the_minutes_on_which_the_wall_calendar_shows_them(
    week: Week, windows: tuple[brute.BruteWindow, ...], mode: str, data: st.DataObject
) -> None:
    zone, start, end = week
    dates: frozenset[date] = data.draw(holidays_near(start))
    clock = brute.wall(zone, start, end)
    expected = states(clock.asked(brute.base(clock, windows, mode, dates)))
    timeline = PlanTimeline(schedule(zone, windows, mode), holidays=Holidays.on(*dates))
    assert by_minute(timeline, start, end) == expected


@given(weeks(), off_hours(), st.sampled_from(["ignore", "sleep-all-day", "stay-awake"]), st.data())
def test_an_exception_bends_a_plan_as_someone_would_who_decides_minute_by_minute(
    week: Week, windows: tuple[brute.BruteWindow, ...], mode: str, data: st.DataObject
) -> None:
    zone, start, end = week
    dates: frozenset[date] = data.draw(holidays_near(start))
    exception = data.draw(exceptions_near(start))
    clock = brute.wall(zone, start, end)
    asleep = brute.base(clock, windows, mode, dates)
    expected = states(clock.asked(brute.bent(clock, asleep, exception)))
    timeline = PlanTimeline(
        schedule(zone, windows, mode),
        exceptions=[("event", bending(exception))],
        holidays=Holidays.on(*dates),
    )
    assert by_minute(timeline, start, end) == expected


def lines_near(start: datetime) -> st.SearchStrategy[list[brute.BruteException]]:
    return st.lists(exceptions_near(start, whole_minutes=True), min_size=2, max_size=4)


@given(weeks(), st.data())
def test_exceptions_conflict_at_the_first_minute_that_both_want(week: Week, data: st.DataObject) -> None:
    zone, start, end = week
    one, other = data.draw(st.lists(exceptions_near(start, whole_minutes=True), min_size=2, max_size=2))
    first = brute.clash(brute.wall(zone, start, end, WHOLE), one, other)
    expected = None if first is None else Instant(first)
    assert overlap(bending(one), bending(other), zone) == expected
    assert overlap(bending(other), bending(one), zone) == expected


@settings(max_examples=40)  # each one is thousands of minutes
@given(weeks(), off_hours(), st.data())
def test_several_exceptions_compose_as_someone_would_who_decides_minute_by_minute(
    week: Week, windows: tuple[brute.BruteWindow, ...], data: st.DataObject
) -> None:
    zone, start, end = week
    line = data.draw(lines_near(start))
    clock = brute.wall(zone, start, end, WHOLE)
    expected = states(clock.asked(brute.composed(clock, brute.base(clock, windows), line)))
    named = [(f"event-{number}", bending(one)) for number, one in enumerate(line)]
    assert by_minute(PlanTimeline(schedule(zone, windows), named), start, end) == expected


@given(weeks(), off_hours(), st.data())
def test_the_order_of_filing_does_not_matter_where_nothing_conflicts(
    week: Week, windows: tuple[brute.BruteWindow, ...], data: st.DataObject
) -> None:
    zone, start, end = week
    kept: list[tuple[str, ScheduleExceptionSpec]] = []
    for number, one in enumerate(data.draw(lines_near(start))):
        spec = bending(one)
        if all(overlap(spec, other, zone) is None for _, other in kept):
            kept.append((f"event-{number}", spec))
    shuffled = data.draw(st.permutations(kept))
    one_way, other_way = (PlanTimeline(schedule(zone, windows), each) for each in (kept, shuffled))
    assert by_minute(one_way, start, end) == by_minute(other_way, start, end)


@given(weeks(), off_hours(), st.data())
def test_the_next_change_is_never_in_the_past_and_never_skips_one(
    week: Week, windows: tuple[brute.BruteWindow, ...], data: st.DataObject
) -> None:
    zone, start, end = week
    timeline = PlanTimeline(schedule(zone, windows))
    clock = brute.wall(zone, start, end)
    asleep = states(brute.base(clock, windows))
    minute = data.draw(st.integers(clock.index(start), clock.index(end) - 1))
    second = timedelta(seconds=data.draw(st.sampled_from([0, 1, 59])))
    moment = clock.first + minute * brute.MINUTE + second
    answer = timeline.at(Instant(moment))
    assert answer.value is asleep[minute]
    later = [i for i in range(minute, len(asleep) - 5 * 1440) if asleep[i] is not asleep[minute]]
    if later:
        assert answer.until == Instant(clock.first + later[0] * brute.MINUTE)
    earlier = [i for i in range(5 * 1440, minute) if asleep[i] is not asleep[minute]]
    if earlier:
        assert answer.since == Instant(clock.first + (earlier[-1] + 1) * brute.MINUTE)
