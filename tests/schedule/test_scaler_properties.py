"""A scaler's timeline says at every minute what the decision table and step 5, run every minute, say."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.api.timewindowscaler import (
    ScalerHolidays,
    ScalerWindow,
    TargetReference,
    TimeWindowScalerSpec,
)
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.scaler import ScalerTimeline, apply_grace
from hibernator.schedule.scaler_words import ScaledWindow
from hibernator.schedule.windows import scaler_window
from hibernator.schedule.zones import zone_of
from schedule import brute
from schedule.strategies import ODD_WEEKS, holidays_near, scalings, weeks
from schedule.test_plan_properties import Week, by_minute


def spec(
    zone: str, windows: Sequence[brute.BruteScaling], default: int, mode: Any = "ignore", grace: int = 0
) -> TimeWindowScalerSpec:
    return TimeWindowScalerSpec(
        target_ref=TargetReference(kind="Deployment", name="web"),
        timezone=zone,
        windows=tuple(_window(scaling) for scaling in windows),
        default_replicas=default,
        holidays=ScalerHolidays(mode=mode),
        grace_period_seconds=grace * 60,
    )


def _window(scaling: brute.BruteScaling) -> ScalerWindow:
    return ScalerWindow(
        days=scaling.window.days,  # type: ignore[arg-type]  # the strategy draws only Mon to Sun
        start=scaling.window.start,
        end=scaling.window.end,
        replicas=scaling.replicas,
    )


@given(
    weeks(), scalings(), st.integers(0, 4), st.sampled_from(["treat-as-closed", "treat-as-open"]), st.data()
)
def test_a_scaler_wants_at_every_minute_what_the_decision_table_says(
    week: Week, windows: tuple[brute.BruteScaling, ...], default: int, mode: str, data: st.DataObject
) -> None:
    zone, start, end = week
    dates: frozenset[date] = data.draw(holidays_near(start))
    clock = brute.wall(zone, start, end)
    timeline = ScalerTimeline.of(spec(zone, windows, default, mode), Holidays.on(*dates))
    assert by_minute(timeline, start, end) == clock.asked(brute.wanted(clock, windows, default, mode, dates))


@given(
    weeks(), scalings(), st.integers(0, 4), st.sampled_from([1, 5, 60, 240, 600, 1440, 2160, 4000]), st.data()
)
def test_after_grace_there_runs_what_step_five_would_run_if_it_looked_every_minute(
    week: Week, windows: tuple[brute.BruteScaling, ...], default: int, grace: int, data: st.DataObject
) -> None:
    zone, start, end = week
    dates: frozenset[date] = data.draw(holidays_near(start))
    clock = brute.wall(zone, start, end, timedelta(days=14))
    wanted = brute.wanted(clock, windows, default, "treat-as-closed", dates)
    timeline = ScalerTimeline.of(spec(zone, windows, default, "treat-as-closed", grace), Holidays.on(*dates))
    assert by_minute(timeline, start, end) == clock.asked(brute.after_grace(wanted, grace))


@given(weeks(), scalings(), st.sampled_from(sorted(ODD_WEEKS)))
def test_windows_may_live_in_zones_of_their_own(
    week: Week, windows: tuple[brute.BruteScaling, ...], other: str
) -> None:
    zone, start, end = week
    here, there = brute.wall(zone, start, end), brute.wall(other, start, end)
    expected = here.asked(brute.wanted(here, windows, default=1))
    last = windows[-1]
    elsewhere = brute.matching(there, last.window)
    expected = [
        last.replicas if holds else value
        for holds, value in zip(there.asked(elsewhere), expected, strict=True)
    ]
    scaled = [
        ScaledWindow(scaler_window(_window(scaling), zone_of(name)), scaling.replicas, "Custom")
        for scaling, name in [*((scaling, zone) for scaling in windows), (last, other)]
    ]
    assert by_minute(ScalerTimeline(zone_of(zone), scaled, 1), start, end) == expected


@given(weeks(), scalings(), st.integers(0, 4), st.integers(1, 7200), st.data())
def test_a_controller_that_looks_at_each_change_runs_what_was_simulated(
    week: Week, windows: tuple[brute.BruteScaling, ...], default: int, grace: int, data: st.DataObject
) -> None:
    """Looks at the changes of what is wanted and at the end of each grace, and at odd times in between."""
    zone, start, end = week
    written = spec(zone, windows, default)
    simulated = ScalerTimeline(
        zone_of(zone),
        [
            ScaledWindow(scaler_window(window, zone_of(zone)), window.replicas, "Custom")
            for window in written.windows
        ],
        default,
        grace_seconds=grace,
    )
    wanted = ScalerTimeline.of(written, grace=False)
    moment, stop = Instant(start), Instant(end)
    effective, expiry = simulated.at(moment).value, None
    answer = simulated.at(moment)
    if answer.reason == "GracePeriod":
        return  # began before: the status of that time is not known here
    while moment < stop:
        effective, expiry = apply_grace(wanted.at(moment).value, effective, expiry, grace, moment)
        assert effective == simulated.at(moment).value
        odd = moment + TimeDelta(seconds=data.draw(st.integers(1, 86_400)))
        looks = [wanted.at(moment).until, expiry, odd]
        moment = min(look for look in looks if look is not None)


def test_a_year_of_answers_is_the_same_asked_singly_or_together() -> None:
    windows = (
        brute.BruteScaling(brute.BruteWindow(("Mon", "Wed"), "22:00", "03:00", end_of_day=False), 4),
        brute.BruteScaling(brute.BruteWindow(("Wed", "Sun"), "02:30", "11:00", end_of_day=False), 2),
    )
    timeline = ScalerTimeline.of(spec("Europe/Berlin", windows, 1, grace=90))
    start, end = Instant.from_utc(2026, 1, 1), Instant.from_utc(2027, 1, 1)
    together = [(interval.start, interval.value) for interval in timeline.between(start, end)]
    singly, moment = [(start, timeline.at(start).value)], timeline.at(start).until
    while moment is not None and moment < end:
        singly.append((moment, timeline.at(moment).value))
        moment = timeline.at(moment).until
    assert singly == together
    assert len(together) > 300
