"""Off-hours to cron and back: RFC-0002's cases, its migration guide, and everything that is refused."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, strategies as st

from hibernator.api.windows import OffHourWindow
from hibernator.schedule.cron import (
    CronPair,
    convert_off_hours_to_cron,
    convert_schedule_to_cron,
    cron_to_off_hours,
)
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.sleeps import MINUTES_A_DAY, MINUTES_A_WEEK, firings
from schedule.brute import BruteWindow
from schedule.builders import EVERY_DAY, WEEKDAYS, plan, window
from schedule.strategies import off_hours
from schedule.test_plan_properties import written

# RFC-0002's list of unit tests


def test_a_valid_single_window() -> None:
    assert convert_off_hours_to_cron([window("09:30-17:00", "WED")]) == (
        CronPair("30 9 * * 3", "0 17 * * 3"),
    )


def test_weekday_nights_wake_on_the_day_after() -> None:
    assert convert_off_hours_to_cron([window("20:00-06:00", WEEKDAYS)]) == (
        CronPair("0 20 * * 1,2,3,4,5", "0 6 * * 2,3,4,5,6"),
    )


def test_several_days() -> None:
    assert convert_off_hours_to_cron([window("20:00-06:00", "MON TUE FRI")]) == (
        CronPair("0 20 * * 1,2,5", "0 6 * * 2,3,6"),
    )


def test_an_invalid_time() -> None:
    with pytest.raises(ScheduleError, match="'25:00' is not a time of day"):
        convert_off_hours_to_cron([window("25:00-06:00")])


def test_an_invalid_day() -> None:
    with pytest.raises(ScheduleError, match="'FUNDAY' is not a day of the week"):
        convert_off_hours_to_cron([window("20:00-06:00", "FUNDAY")])


def test_friday_night_ends_on_saturday() -> None:
    assert convert_off_hours_to_cron([window("20:00-06:00", "FRI")]) == (CronPair("0 20 * * 5", "0 6 * * 6"),)


# Several windows


def test_windows_apart_give_a_pair_each() -> None:
    assert convert_off_hours_to_cron([window("12:00-13:00", "SAT SUN"), window("9:05-10:00", "MON")]) == (
        CronPair("5 9 * * 1", "0 10 * * 1"),
        CronPair("0 12 * * 0,6", "0 13 * * 0,6"),
    )


def test_nights_and_a_weekend_are_not_woken_in_the_middle() -> None:
    assert convert_off_hours_to_cron([window("20:00-06:00", WEEKDAYS), window("00:00-23:59", "SAT SUN")]) == (
        CronPair("0 20 * * 1,2,3,4", "0 6 * * 2,3,4,5"),
        CronPair("0 20 * * 5", "0 0 * * 1"),
    )


def test_the_end_of_the_day_is_the_next_midnight() -> None:
    assert convert_off_hours_to_cron([window("20:00-23:59", "SUN")]) == (CronPair("0 20 * * 0", "0 0 * * 1"),)


def test_a_schedule_that_never_wakes_is_refused() -> None:
    with pytest.raises(ScheduleError, match="never end, so that no line can say when to wake up"):
        convert_off_hours_to_cron([window("00:00-23:59", EVERY_DAY)])


def test_a_schedule_with_holidays_is_refused() -> None:
    schedule = plan(window("20:00-06:00"), holidays={"mode": "stay-awake", "country": "DE"})
    with pytest.raises(ScheduleError, match=r"cron knows no holidays, and this schedule does \(stay-awake\)"):
        convert_schedule_to_cron(schedule)


def test_a_schedule_that_ignores_holidays_is_converted() -> None:
    schedule = plan(window("20:00-06:00", "FRI"), holidays={"mode": "ignore", "country": "DE"})
    assert convert_schedule_to_cron(schedule) == (CronPair("0 20 * * 5", "0 6 * * 6"),)


# Back


def test_the_migration_guide() -> None:
    migrated = cron_to_off_hours("0 20 * * 1-5", "0 6 * * 1-5")
    assert migrated.windows == (window("20:00-06:00", WEEKDAYS),)
    (note,) = migrated.notes
    assert "slept from Fri 20:00 until Mon 06:00" in note


@pytest.mark.parametrize(
    ("hibernate", "wake_up", "windows"),
    [
        ("0 20 * * 1-5", "0 6 * * 2-6", [window("20:00-06:00", WEEKDAYS)]),
        ("0 20 * * MON-FRI", "0 6 * * tue,Wed,THURSDAY,fri,sat", [window("20:00-06:00", WEEKDAYS)]),
        ("0 20 * * *", "0 6 * * *", [window("20:00-06:00", EVERY_DAY)]),
        ("0 20 ? * *", "0 6 * * ?", [window("20:00-06:00", EVERY_DAY)]),
        ("0 9 * * 1/2", "0 17 * * 1-5/2", [window("09:00-17:00", "MON WED FRI")]),
        ("0 9 * * */2", "0 17 * * */2", [window("09:00-17:00", "TUE THU SAT SUN")]),
        ("0 9 * * 0", "0 17 * * 7", [window("09:00-17:00", "SUN")]),
        ("0 9 * * 5-7", "0 17 * * 0,5,6", [window("09:00-17:00", "FRI SAT SUN")]),
        ("@daily", "0 6 * * *", [window("00:00-06:00", EVERY_DAY)]),
        ("0 20 * * 1", "0 0 * * 2", [window("20:00-23:59", "MON")]),
        ("0 0 * * 6", "0 0 * * 1", [window("00:00-23:59", "SAT SUN")]),
        (
            "0 20 * * FRI",
            "0 6 * * MON",
            [window("20:00-23:59", "FRI"), window("00:00-23:59", "SAT SUN"), window("00:00-06:00", "MON")],
        ),
        ("0 12,20 * * *", "0 13,6 * * *", [window("12:00-13:00"), window("20:00-06:00")]),
        ("0 18,20 * * 1", "0 6 * * 2", [window("18:00-06:00", "MON")]),
        ("0 20 * * 1", "0 6 * * *", [window("20:00-06:00", "MON")]),
        ("30 5 * * 1", "30 5 * * 2", [window("05:30-23:59", "MON"), window("00:00-05:30", "TUE")]),
    ],
)
def test_pairs_become_the_windows_in_which_they_sleep(
    hibernate: str, wake_up: str, windows: Sequence[OffHourWindow]
) -> None:
    migrated = cron_to_off_hours(hibernate, wake_up)
    assert list(migrated.windows) == list(windows)
    assert migrated.notes == ()


@pytest.mark.parametrize(
    ("hibernate", "wake_up", "why"),
    [
        ("0 20 1 * *", "0 6 * * *", "know no day of the month"),
        ("0 20 * * *", "0 6 * 12 *", "know no month"),
        ("0 20 * *", "0 6 * * *", "it has 4 fields, not five"),
        ("0 0 20 * * *", "0 6 * * *", "it has 6 fields, not five"),
        ("", "0 6 * * *", "it has 0 fields, not five"),
        ("@yearly", "0 6 * * *", "it has 1 fields, not five"),
        ("0 24 * * *", "0 6 * * *", "'24' is out of range"),
        ("60 2 * * *", "0 6 * * *", "'60' is out of range"),
        ("0 x * * *", "0 6 * * *", "'x' is out of range"),
        ("0 20 * * 8", "0 6 * * *", "'8' is out of range"),
        ("0 20 * * FUN", "0 6 * * *", "'FUN' is out of range"),
        ("0 20 * * 5-1", "0 6 * * *", "'5-1' goes nowhere"),
        ("0 20 * * */0", "0 6 * * *", "goes nowhere"),
        ("0 20 * * 5L", "0 6 * * *", "'5L' is out of range"),
        ("0 20 * * 1#2", "0 6 * * *", "'1#2' is not understood"),
        ("0 " + "9" * 5000 + " * * *", "0 6 * * *", "is not understood"),
        ("0 20 * * ,", "0 6 * * *", "'' is not understood"),
        ("0 6 * * *", "0 6 * * 1-5", "both fire on Mon 06:00"),
        ("0 6 * * 1-5", "0 6 * * 1-5", "both fire on Mon 06:00"),
        ("0 20 * * *", "59 23 * * *", "wakes up on Mon 23:59, and windows read 23:59 as the end of the day"),
        ("*/2 * * * *", "1-57/2 * * * *", "windows, and a plan may have 64"),
    ],
)
def test_what_has_no_equivalent_is_refused_with_the_reason(hibernate: str, wake_up: str, why: str) -> None:
    with pytest.raises(ScheduleError) as refusal:
        cron_to_off_hours(hibernate, wake_up)
    assert why in refusal.value.message
    assert refusal.value.fix.endswith(".")


# Both ways


def asleep(windows: Sequence[OffHourWindow]) -> list[bool]:
    """The minutes of a week without a change of the clock in which windows sleep, from Monday on."""
    minutes = [False] * MINUTES_A_WEEK
    for each in windows:
        start, end = _minute(each.start), MINUTES_A_DAY if each.end == "23:59" else _minute(each.end)
        for day in each.days_of_week:
            first = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"].index(day[:3].upper()) * MINUTES_A_DAY
            for minute in range(first + start, first + (end if end > start else end + MINUTES_A_DAY)):
                minutes[minute % MINUTES_A_WEEK] = True
    return minutes


def _minute(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def run(pairs: Sequence[CronPair]) -> list[bool]:
    """What plain cron lines do to a machine over two weeks, of which the second is given back."""
    sleeping, seen = False, []
    begins = frozenset[int]().union(*(firings(pair.hibernate) for pair in pairs))
    ends = frozenset[int]().union(*(firings(pair.wake_up) for pair in pairs))
    assert not begins & ends
    for minute in range(2 * MINUTES_A_WEEK):
        sleeping = (sleeping or minute % MINUTES_A_WEEK in begins) and minute % MINUTES_A_WEEK not in ends
        seen.append(sleeping)
    return seen[MINUTES_A_WEEK:]


@given(off_hours())
def test_the_lines_run_side_by_side_sleep_when_the_windows_do(windows: tuple[BruteWindow, ...]) -> None:
    expected = asleep(written(windows))
    assume(not all(expected))
    assert run(convert_off_hours_to_cron(written(windows))) == expected


@given(off_hours())
def test_each_pair_comes_back_as_windows_that_sleep_the_same(windows: tuple[BruteWindow, ...]) -> None:
    assume(not all(asleep(written(windows))))
    for pair in convert_off_hours_to_cron(written(windows)):
        if pair.wake_up.startswith("59 23 "):
            continue
        migrated = cron_to_off_hours(*pair)
        if not migrated.notes:
            assert asleep(migrated.windows) == run([pair])


_times = st.builds(
    "{} {} * * {}".format,
    st.integers(0, 59),
    st.integers(0, 23),
    st.sampled_from(["*", "1-5", "0,6", "2", "MON-WED", "*/3", "5-7"]),
)


@given(_times, _times)
def test_any_pair_becomes_the_windows_in_which_it_sleeps(hibernate: str, wake_up: str) -> None:
    try:
        migrated = cron_to_off_hours(hibernate, wake_up)
    except ScheduleError:
        assert firings(hibernate) & firings(wake_up) or wake_up.startswith("59 23 ")
        return
    if not migrated.notes:
        assert asleep(migrated.windows) == run([CronPair(hibernate, wake_up)])
