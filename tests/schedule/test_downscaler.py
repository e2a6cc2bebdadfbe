"""kube-downscaler's annotations become windows that sleep at the same minutes.

What the annotations mean is written down here once more, minute by minute, from what the two programs that
read them do at each look at the clock: the weekday and the time of day in the zone, and nothing else.
"""

from datetime import datetime, timedelta
from functools import cache

import pytest
from hypothesis import assume, given, settings, strategies as st

from hibernator.api.hibernateplan import Schedule
from hibernator.api.timewindowscaler import ScalerWindow, TargetReference, TimeWindowScalerSpec
from hibernator.schedule.downscaler import Hours, Rules, read_hours, sleep_of
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_scaler, check_schedule
from hibernator.schedule.sleeps import (
    WHOLE_WEEK,
    around_the_week,
    awake,
    off_hours_of,
    scaler_windows_of,
)
from hibernator.schedule.timeline import State
from schedule import brute
from schedule.builders import window
from schedule.test_plan_properties import by_minute

_DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

# The grammar


def test_office_hours_are_the_nights_and_the_weekend_of_a_plan() -> None:
    hours = sleep_of(Rules(uptime=read_hours("Mon-Fri 07:30-20:30 Europe/Berlin")))
    assert hours.zone == "Europe/Berlin"
    assert off_hours_of(around_the_week(hours.spans)) == (
        window("20:30-07:30", "MON TUE WED THU"),
        window("20:30-23:59", "FRI"),
        window("00:00-23:59", "SAT SUN"),
        window("00:00-07:30", "MON"),
    )


def test_a_list_of_hours_is_all_of_them() -> None:
    hours = read_hours("Sat-Sun 00:00-24:00 CET, Fri-Fri 20:00-24:00 CET")
    assert off_hours_of(hours.spans) == (window("20:00-23:59", "FRI"), window("00:00-23:59", "SAT SUN"))


def test_days_may_go_over_the_end_of_the_week() -> None:
    spans = read_hours("sat-mon 10:00-11:00 UTC").spans
    assert off_hours_of(spans) == (window("10:00-11:00", "MON SAT SUN"),)


@pytest.mark.parametrize(("text", "spans"), [("always", WHOLE_WEEK), ("Never", ()), ("true", WHOLE_WEEK)])
def test_all_and_nothing_have_no_zone(text: str, spans: object) -> None:
    assert read_hours(text) == (spans, "")


def test_hours_that_end_when_they_begin_are_no_time_at_all() -> None:
    assert read_hours("Mon-Fri 08:00-08:00 UTC").spans == ()


def test_periods_sleep_from_the_one_to_the_other() -> None:
    hours = sleep_of(
        Rules(
            upscale_period=read_hours("Mon-Fri 07:00-08:00 UTC"),
            downscale_period=read_hours("Mon-Fri 19:00-20:00 UTC"),
        )
    )
    assert window("19:00-07:00", "MON TUE WED THU") in off_hours_of(around_the_week(hours.spans))


def test_a_forced_uptime_wins_over_a_forced_downtime() -> None:
    hours = sleep_of(
        Rules(
            force_downtime=read_hours("always"),
            force_uptime=read_hours("Mon-Fri 09:00-17:00 UTC"),
        )
    )
    assert awake(hours.spans) == read_hours("Mon-Fri 09:00-17:00 UTC").spans


@pytest.mark.parametrize(
    ("text", "why", "fix"),
    [
        (
            "Mon-Fri 20:00-06:00 UTC",
            "goes over midnight",
            "`Mon-Fri 20:00-24:00 UTC,Tue-Sat 00:00-06:00 UTC`",
        ),
        ("Mon-Fri 08:00-18:00", "names no zone", "`Mon-Fri 08:00-18:00 Europe/Berlin`"),
        ("Mon-Fri 08:00-18:00 Europe/Berln", "not a zone in the IANA", "Did you mean Europe/Berlin?"),
        ("Mon-Fri 08:00-25:00 UTC", "'25:00' in", "00:00 to 24:00"),
        ("Mon-Fri 08:60-09:00 UTC", "'08:60' in", "00:00 to 24:00"),
        ("Mon-Fre 08:00-09:00 UTC", "'Fre' is not a day of the week", "MON"),
        ("Mon 08:00-09:00 UTC", "is not understood", "`Mon-Fri 07:30-20:30 Europe/Berlin`"),
        ("", "is not understood", "always or never"),
        ("Mon-Fri 08:00-09:00 UTC,Sat-Sat 08:00-09:00 CET", "several zones (CET, UTC)", "in one zone"),
        (
            "2026-01-01T00:00:00+00:00-2026-01-02T12:34:56+00:00",
            "a single stretch of time",
            "validFrom 2026-01-01T00:00:00+00:00 and validUntil 2026-01-02T12:34:56+00:00",
        ),
    ],
)
def test_what_cannot_be_said_in_windows_is_refused_with_the_fix(text: str, why: str, fix: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        read_hours(text)
    assert why in refusal.value.message
    assert fix in refusal.value.fix


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (Rules(downscale_period=read_hours("Mon-Fri 19:00-20:00 UTC")), "never woken"),
        (Rules(upscale_period=read_hours("Mon-Fri 19:00-20:00 UTC")), "never put to sleep"),
        (
            Rules(uptime=read_hours("always"), downscale_period=read_hours("Mon-Fri 19:00-20:00 UTC")),
            "exclude each other",
        ),
        (
            Rules(
                uptime=read_hours("Mon-Fri 01:00-02:00 UTC"),
                downtime=read_hours("Mon-Fri 01:00-02:00 CET"),
            ),
            "several zones",
        ),
    ],
)
def test_annotations_that_contradict_each_other_are_refused(rules: Rules, why: str) -> None:
    with pytest.raises(ScheduleError, match=why):
        sleep_of(rules)


def test_a_sleep_that_ends_a_minute_before_midnight_is_refused() -> None:
    with pytest.raises(ScheduleError, match="wakes up on Mon 23:59"):
        off_hours_of(read_hours("Mon-Mon 20:00-23:59 UTC").spans)


# Minute by minute


Reading = tuple[int, int]  # the weekday, and the minutes since midnight


def matches(reading: Reading, text: str) -> bool:
    """Whether a look at the clock finds itself in these hours."""
    if text in {"always", "never"}:
        return text == "always"
    return any(_in_part(reading, *part.split(" ")) for part in text.split(","))


def _in_part(reading: Reading, days: str, times: str, _zone: str) -> bool:
    today, minute = reading
    first, last = _DAYS.index(days[:3]), _DAYS.index(days[4:])
    on_day = first <= today <= last if first <= last else today >= first or today <= last
    return on_day and _minutes(times[:5]) <= minute < _minutes(times[6:])


@cache
def _minutes(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


_JUNE = datetime.fromisoformat("2026-06-01T00:00:00+00:00")
_zones = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Chatham"])


@cache
def readings(zone: str, start: datetime = _JUNE, days: int = 7) -> tuple[Reading, ...]:
    clock = brute.wall(zone, start, start + timedelta(days=days))
    return tuple((at.weekday(), at.hour * 60 + at.minute) for at in clock.asked(clock.readings))


_times = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59)) | st.just("24:00")
_day = st.sampled_from(_DAYS)


@st.composite
def hours(draw: st.DrawFn, zone: str) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        start, end = sorted(draw(st.tuples(_times, _times)))
        parts.append(f"{draw(_day)}-{draw(_day)} {start}-{end} {zone}")
    return ",".join(parts)


def slept(sleep: Hours, zone: str, start: datetime = _JUNE, days: int = 7) -> list[bool]:
    """At which minutes a plan with what was converted sleeps."""
    try:
        windows = off_hours_of(around_the_week(sleep.spans))
    except ScheduleError as refusal:
        assume("23:59" not in refusal.message)
        raise
    schedule = Schedule(timezone=zone, off_hours=windows)
    assert list(check_schedule(schedule)) == []
    end = start + timedelta(days=days)
    return [state is State.ASLEEP for state in by_minute(PlanTimeline(schedule), start, end)]


@settings(max_examples=40)  # each looks at ten thousand minutes
@given(_zones, st.data())
def test_a_plan_sleeps_at_the_minutes_of_uptime_and_downtime(zone: str, data: st.DataObject) -> None:
    up = data.draw(st.just("always") | hours(zone))
    down = data.draw(st.just("never") | hours(zone))
    sleep = sleep_of(Rules(uptime=read_hours(up), downtime=read_hours(down)))
    assume(sleep.spans)
    assert slept(sleep, zone) == [not matches(at, up) or matches(at, down) for at in readings(zone)]


@settings(max_examples=40)  # each looks at ten thousand minutes
@given(_zones, st.data())
def test_a_plan_sleeps_at_the_minutes_that_forced_times_leave(zone: str, data: st.DataObject) -> None:
    up, forced_up, forced_down = (data.draw(hours(zone)) for _ in range(3))
    rules = Rules(
        uptime=read_hours(up), force_uptime=read_hours(forced_up), force_downtime=read_hours(forced_down)
    )
    sleep = sleep_of(rules)
    assume(sleep.spans)
    assert slept(sleep, zone) == [
        not matches(at, forced_up) and (matches(at, forced_down) or not matches(at, up))
        for at in readings(zone)
    ]


@settings(max_examples=40)  # each looks at ten thousand minutes
@given(_zones, st.data())
def test_a_plan_sleeps_from_one_period_to_the_next(zone: str, data: st.DataObject) -> None:
    up, down = data.draw(hours(zone)), data.draw(hours(zone))
    rules = Rules(upscale_period=read_hours(up), downscale_period=read_hours(down))
    sleeping, expected = False, []
    looks = [(matches(at, up), matches(at, down)) for at in readings(zone)]
    assume((True, False) in looks or (False, True) in looks)
    if (True, False) not in looks or (False, True) not in looks:
        with pytest.raises(ScheduleError, match="there is no"):
            sleep_of(rules)
        return
    for scale_up, scale_down in looks * 2:  # what it begins with is forgotten in the first week
        if scale_up != scale_down:
            sleeping = scale_down
        expected.append(sleeping)
    assert slept(sleep_of(rules), zone) == expected[len(looks) :]


@pytest.mark.parametrize("monday", ["2026-03-23", "2026-10-19"])
def test_a_change_of_the_clock_makes_no_difference_to_hours_that_it_does_not_touch(monday: str) -> None:
    text, start = "Mon-Fri 07:30-20:30 Europe/Berlin", datetime.fromisoformat(f"{monday}T00:00:00+00:00")
    expected = [not matches(at, text) for at in readings("Europe/Berlin", start, 14)]
    assert slept(sleep_of(Rules(uptime=read_hours(text))), "Europe/Berlin", start, 14) == expected


@settings(max_examples=40)
@given(hours("UTC"))
def test_a_scaler_runs_at_the_minutes_of_the_uptime(text: str) -> None:
    spans = around_the_week(read_hours(text).spans)
    assume(spans)
    windows = scaler_windows_of(spans)
    spec = TimeWindowScalerSpec(
        target_ref=TargetReference(kind="Deployment", name="shop"),
        timezone="UTC",
        windows=tuple(
            ScalerWindow(days=tuple(days), start=start, end=end, replicas=1)  # type: ignore[arg-type]
            for start, end, days in windows
        ),
    )
    assert list(check_scaler(spec)) == []
    clock = brute.wall("UTC", _JUNE, _JUNE + timedelta(days=7))
    scalings = [
        brute.BruteScaling(brute.BruteWindow(tuple(days), begin, end, end_of_day=False), 1)
        for begin, end, days in windows
    ]
    expected = [int(matches(at, text)) for at in readings("UTC")]
    assert clock.asked(brute.wanted(clock, scalings, 0)) == expected
