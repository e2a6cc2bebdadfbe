"""What any timeline promises, whatever it is made of."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.timeline import Reason, Timeline
from schedule.builders import exception, plan, scaler, utc, window
from schedule.strategies import exceptions_near, holidays_near, off_hours, scalings, weeks
from schedule.test_plan_properties import bending, schedule
from schedule.test_scaler_properties import spec


@st.composite
def timelines(draw: st.DrawFn) -> tuple[Timeline[Any], datetime, datetime]:
    zone, start, end = draw(weeks())
    holidays = Holidays.on(*draw(holidays_near(start)))
    if draw(st.booleans()):
        mode = draw(st.sampled_from(["ignore", "treat-as-closed", "treat-as-open"]))
        grace = draw(st.sampled_from([0, 1, 45, 700, 3000]))
        return ScalerTimeline.of(spec(zone, draw(scalings()), 1, mode, grace), holidays), start, end
    mode = draw(st.sampled_from(["ignore", "sleep-all-day", "stay-awake"]))
    exceptions = [
        (f"e{index}", bending(draw(exceptions_near(start)))) for index in range(draw(st.integers(0, 2)))
    ]
    return PlanTimeline(schedule(zone, draw(off_hours()), mode), exceptions, holidays), start, end


def steps(timeline: Timeline[Any], start: Instant, end: Instant) -> list[tuple[Instant, Any, Reason]]:
    return [(each.start, each.value, each.reason) for each in timeline.between(start, end)]


@given(timelines())
def test_intervals_cover_everything_and_neighbours_differ(
    made: tuple[Timeline[Any], datetime, datetime],
) -> None:
    timeline, start, end = made
    intervals = timeline.between(Instant(start), Instant(end))
    assert intervals[0].start == Instant(start)
    assert intervals[-1].end == Instant(end)
    for left, right in pairwise(intervals):
        assert left.end == right.start
        assert (left.value, left.reason) != (right.value, right.reason)


@given(timelines(), st.data())
def test_a_stretch_is_the_same_cut_out_of_a_longer_one(
    made: tuple[Timeline[Any], datetime, datetime], data: st.DataObject
) -> None:
    timeline, start, end = made
    minutes = (end - start) // timedelta(minutes=1)
    middle = Instant(start + timedelta(minutes=data.draw(st.integers(1, minutes - 1))))
    left, right = steps(timeline, Instant(start), middle), steps(timeline, middle, Instant(end))
    seam = left[-1][1:] == right[0][1:]
    assert steps(timeline, Instant(start), Instant(end)) == [*left, *right[seam:]]


@given(timelines(), st.data())
def test_an_answer_holds_from_its_since_until_its_until(
    made: tuple[Timeline[Any], datetime, datetime], data: st.DataObject
) -> None:
    timeline, start, end = made
    moment = Instant(
        start + timedelta(seconds=data.draw(st.integers(0, (end - start) // timedelta(seconds=1))))
    )
    fresh = timeline.at(moment)
    assert timeline.between(moment, moment.add(seconds=1))[0].verdict == fresh.verdict
    for edge in (fresh.since, fresh.until):
        if edge is not None:
            before, after = timeline.at(edge.subtract(seconds=1)), timeline.at(edge)
            assert before.verdict != after.verdict
            assert before.until == edge == after.since
    again = timeline.at(moment)
    assert (again.verdict, again.since, again.until) == (fresh.verdict, fresh.since, fresh.until)


def test_a_stretch_that_ends_in_a_lead_time_knows_of_the_suspension_after_it() -> None:
    suspend = exception(
        "suspend", "2026-01-01T00:00:00Z/2026-03-01T00:00:00Z", window("21:00-22:00"), lead="1h"
    )
    timeline = PlanTimeline(plan(window("20:00-23:00")), [suspend])
    (only,) = timeline.between(utc("2026-02-03 20:10"), utc("2026-02-03 20:20"))
    assert only.reason is Reason.EXCEPTION_LEAD_TIME


def test_a_stretch_that_begins_in_a_lead_time_knows_of_the_sleep_before_it() -> None:
    suspend = exception(
        "suspend", "2026-01-01T00:00:00Z/2026-03-01T00:00:00Z", window("21:00-22:00"), lead="1h"
    )
    timeline = PlanTimeline(plan(window("19:00-23:00")), [suspend])
    (only,) = timeline.between(utc("2026-02-03 20:10"), utc("2026-02-03 20:20"))
    assert only.reason is Reason.OFF_HOURS


def test_a_stretch_that_begins_in_a_grace_period_knows_of_the_window_before_it() -> None:
    timeline = ScalerTimeline.of(scaler("Mon 09:00-17:00 5", gracePeriodSeconds=600))
    (only,) = timeline.between(utc("2026-02-02 17:05"), utc("2026-02-02 17:06"))
    assert (only.value, only.reason) == (5, Reason.GRACE_PERIOD)
