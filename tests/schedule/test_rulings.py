"""The rulings on time, each as the cases that somebody would ask about."""

from datetime import date

import pytest

from hibernator.schedule.errors import ScheduleError, UnknownTimezoneError
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.scaler import ScalerTimeline
from hibernator.schedule.timeline import Reason, State
from schedule.builders import EVERY_DAY, WEEKDAYS, at, plan, scaler, story, utc, window

BERLIN = "Europe/Berlin"


def test_a_window_belongs_to_the_day_on_which_it_starts() -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00", "FRI"), zone=BERLIN))
    assert story(timeline, "2026-01-30 12:00", "2026-01-31 12:00", BERLIN) == [
        "Fri 12:00 Awake WorkingHours",
        "Fri 20:00 Asleep OffHours",
        "Sat 06:00 Awake WorkingHours",
    ]


def test_a_friday_window_does_not_match_the_early_friday() -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00", "FRI"), zone=BERLIN))
    assert timeline.at(at("2026-01-30 01:00", BERLIN)).value is State.AWAKE


def test_a_window_includes_its_start_and_excludes_its_end() -> None:
    timeline = PlanTimeline(plan(window("09:00-17:00", "MON")))
    answers = [
        timeline.at(utc(f"2026-02-02 {time}")).value
        for time in ("08:59:59.999999999", "09:00", "16:59:59", "17:00")
    ]
    assert answers == [State.AWAKE, State.ASLEEP, State.ASLEEP, State.AWAKE]


def test_two_whole_days_in_a_row_are_one_sleep() -> None:
    timeline = PlanTimeline(plan(window("00:00-23:59", "SAT SUN")))
    answer = timeline.at(utc("2026-01-31 23:59:30"))
    assert (answer.value, answer.since, answer.until) == (
        State.ASLEEP,
        utc("2026-01-31 00:00"),
        utc("2026-02-02 00:00"),
    )


def test_an_overnight_window_may_end_at_23_59_only_as_the_end_of_its_own_day() -> None:
    timeline = PlanTimeline(plan(window("20:00-23:59", "FRI")))
    assert timeline.at(utc("2026-01-30 21:00")).until == utc("2026-01-31 00:00")


def test_a_scaler_takes_23_59_by_its_word() -> None:
    timeline = ScalerTimeline.of(scaler("Sat,Sun 00:00-23:59 3"))
    assert timeline.at(utc("2026-01-31 23:59:30")).value == 0
    assert timeline.at(utc("2026-01-31 12:00")).until == utc("2026-01-31 23:59")


@pytest.mark.parametrize("times", ["10:00-10:00", "6:00-06:00", "23:59-23:59"])
def test_a_window_that_ends_when_it_starts_is_refused(times: str) -> None:
    with pytest.raises(ScheduleError, match="Invalid window: start must not equal end"):
        PlanTimeline(plan(window(times)))


def test_a_window_that_starts_in_the_spring_gap_starts_at_the_jump() -> None:
    timeline = PlanTimeline(plan(window("02:30-06:00", "SUN"), zone=BERLIN))
    answer = timeline.at(at("2026-03-29 04:00", BERLIN))
    assert (answer.since, answer.until) == (utc("2026-03-29 01:00"), utc("2026-03-29 04:00"))


def test_a_window_that_ends_in_the_spring_gap_ends_at_the_jump() -> None:
    timeline = PlanTimeline(plan(window("00:00-02:30", "SUN"), zone=BERLIN))
    assert timeline.at(at("2026-03-29 01:00", BERLIN)).until == utc("2026-03-29 01:00")


def test_a_window_within_the_spring_gap_does_not_happen() -> None:
    timeline = PlanTimeline(plan(window("02:10-02:50", "SUN"), zone=BERLIN))
    assert timeline.at(at("2026-03-28 12:00", BERLIN)).until == at("2026-04-05 02:10", BERLIN)


def test_a_window_that_ends_in_the_repeated_hour_ends_on_its_second_pass() -> None:
    timeline = PlanTimeline(plan(window("00:00-02:30", "SUN"), zone=BERLIN))
    answer = timeline.at(at("2026-10-25 01:00", BERLIN))
    assert answer.until == utc("2026-10-25 01:30")  # 02:30 for the second time; the first is 00:30 in UTC


def test_a_window_that_starts_in_the_repeated_hour_starts_on_its_first_pass_and_only_once() -> None:
    timeline = PlanTimeline(plan(window("02:30-06:00", "SUN"), zone=BERLIN))
    sleeps = [
        each
        for each in timeline.between(utc("2026-10-24 12:00"), utc("2026-10-25 12:00"))
        if each.value == "Asleep"
    ]
    assert [(each.start, each.end) for each in sleeps] == [(utc("2026-10-25 00:30"), utc("2026-10-25 05:00"))]


def test_a_window_within_the_repeated_hour_lasts_through_both_passes() -> None:
    timeline = PlanTimeline(plan(window("02:10-02:20", "SUN"), zone=BERLIN))
    answer = timeline.at(utc("2026-10-25 00:45"))
    assert (answer.value, answer.since, answer.until) == (
        State.ASLEEP,
        utc("2026-10-25 00:10"),
        utc("2026-10-25 01:20"),
    )


def test_lord_howe_moves_its_clock_by_half_an_hour() -> None:
    timeline = PlanTimeline(plan(window("01:45-03:00", "SUN"), zone="Australia/Lord_Howe"))
    spring, autumn = timeline.at(utc("2026-10-03 15:30")), timeline.at(utc("2026-04-04 15:30"))
    assert spring.since is not None
    assert spring.until is not None
    assert (spring.until - spring.since).total("minutes") == 45
    assert autumn.since is not None
    assert autumn.until is not None
    assert (autumn.until - autumn.since).total("minutes") == 105


def test_a_day_that_a_zone_skips_has_no_windows() -> None:
    timeline = PlanTimeline(plan(window("09:00-17:00", "FRI"), zone="Pacific/Apia"))
    answer = timeline.at(at("2011-12-29 12:00", "Pacific/Apia"))  # the next day there was Saturday the 31st
    assert answer.until == at("2012-01-06 09:00", "Pacific/Apia")


def test_a_night_that_begins_on_a_skipped_day_begins_when_the_day_after_does() -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00", "FRI"), zone="Pacific/Apia"))
    answer = timeline.at(at("2011-12-31 01:00", "Pacific/Apia"))
    assert (answer.since, answer.until) == (utc("2011-12-30 10:00"), at("2011-12-31 06:00", "Pacific/Apia"))


def test_a_day_whose_midnight_comes_twice_is_slept_through_once() -> None:
    """In St. John's the clock went from 00:01 on the 29th back to 23:01 on the 28th."""
    timeline = PlanTimeline(plan(window("00:00-23:59", "SUN"), zone="America/St_Johns"))
    answer = timeline.at(utc("2006-10-29 02:45"))
    assert (answer.value, answer.since) == (State.ASLEEP, utc("2006-10-29 02:30"))


def test_a_holiday_ends_and_comes_back_where_the_clock_goes_back_over_midnight() -> None:
    schedule = plan(window("12:00-13:00", "WED"), zone="America/St_Johns", holidays={"mode": "sleep-all-day"})
    timeline = PlanTimeline(schedule, holidays=Holidays.on(date(2006, 10, 28)))
    sleeps = [
        each
        for each in timeline.between(utc("2006-10-27 12:00"), utc("2006-10-29 12:00"))
        if each.value == "Asleep"
    ]
    assert [(each.start, each.end) for each in sleeps] == [
        (utc("2006-10-28 02:30"), utc("2006-10-29 02:30")),
        (utc("2006-10-29 02:31"), utc("2006-10-29 03:30")),
    ]


def test_days_and_times_may_be_written_in_many_ways() -> None:
    answers = [
        PlanTimeline(plan(window(times, days))).at(utc("2026-02-02 05:30")).value
        for times, days in [("5:00-6:00", "MON"), ("05:00-06:00", "monday"), ("5:00-06:00", "Mon TUESDAY")]
    ]
    assert answers == [State.ASLEEP] * 3


def test_all_windows_of_a_plan_count() -> None:
    timeline = PlanTimeline(
        plan(window("20:00-06:00", WEEKDAYS), window("00:00-23:59", "SAT SUN"), zone=BERLIN)
    )
    assert story(timeline, "2026-01-30 12:00", "2026-02-02 12:00", BERLIN) == [
        "Fri 12:00 Awake WorkingHours",
        "Fri 20:00 Asleep OffHours",
        "Mon 00:00 Awake WorkingHours",
    ]


def test_the_last_of_overlapping_scaler_windows_wins_whatever_its_number() -> None:
    timeline = ScalerTimeline.of(scaler("Mon 09:00-17:00 9", "Mon 12:00-13:00 1"))
    assert [timeline.at(utc(f"2026-02-02 {hour}:30")).value for hour in (11, 12, 13)] == [9, 1, 9]


def test_an_unknown_zone_is_an_error_of_its_own() -> None:
    with pytest.raises(UnknownTimezoneError, match="'Mars/Olympus_Mons' is not a zone"):
        PlanTimeline(plan(window("20:00-06:00"), zone="Mars/Olympus_Mons"))


@pytest.mark.parametrize(
    "name", ["", "localtime", "posixrules", "right/UTC", "../UTC", "europe/berlin", "a\0b", "+02:00"]
)
def test_only_names_of_the_database_are_zones(name: str) -> None:
    with pytest.raises(UnknownTimezoneError):
        PlanTimeline(plan(window("20:00-06:00"), zone=name))


def test_what_always_holds_never_changes() -> None:
    timeline = PlanTimeline(plan(window("00:00-23:59", EVERY_DAY), zone=BERLIN))
    answer = timeline.at(utc("2026-03-29 01:00"))
    assert (answer.value, answer.since, answer.until) == (State.ASLEEP, None, None)
    assert timeline.at(utc("2026-07-01 00:00")).until is None


def test_a_change_a_year_ahead_is_found() -> None:
    schedule = plan(window("00:00-23:59", EVERY_DAY), zone=BERLIN, holidays={"mode": "stay-awake"})
    timeline = PlanTimeline(schedule, holidays=Holidays.on(date(2026, 12, 25)))
    answer = timeline.at(at("2025-12-26 00:00", BERLIN))
    assert answer.until == at("2026-12-25 00:00", BERLIN)
    assert timeline.at(answer.until).reason is Reason.HOLIDAY_AWAKE


@pytest.mark.parametrize(
    "moment", ["0001-01-01 00:00", "0001-01-08 00:00", "9999-12-31 23:59", "9999-12-24 00:00"]
)
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Midway", "Europe/Berlin"])
def test_the_first_and_the_last_days_of_the_calendar_have_answers(moment: str, zone: str) -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00", EVERY_DAY), zone=zone))
    answer = timeline.at(utc(moment))
    assert answer.message
    assert timeline.explain(utc(moment)).rules


def test_between_two_equal_instants_there_is_nothing() -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00")))
    assert timeline.between(utc("2026-01-01 00:00"), utc("2026-01-01 00:00")) == ()
    assert timeline.between(utc("2026-01-02 00:00"), utc("2026-01-01 00:00")) == ()


def test_a_moment_shorter_than_any_clock_tick_has_its_interval_too() -> None:
    timeline = PlanTimeline(plan(window("20:00-06:00")))
    start, end = utc("2026-01-01 19:59:59.999999999"), utc("2026-01-01 20:00:00.000000001")
    assert [(each.start, each.end, each.value) for each in timeline.between(start, end)] == [
        (start, utc("2026-01-01 20:00"), "Awake"),
        (utc("2026-01-01 20:00"), end, "Asleep"),
    ]


def test_neighbours_that_differ_only_in_their_window_are_one_interval_but_two_answers() -> None:
    timeline = ScalerTimeline.of(scaler("Sat 06:00-12:00 3", "Sat 12:00-18:00 3"))
    morning = timeline.at(utc("2026-01-31 08:00"))
    assert morning.until == utc("2026-01-31 12:00")
    assert timeline.at(utc("2026-01-31 12:00")).window != morning.window
    (interval,) = [
        each for each in timeline.between(utc("2026-01-31 00:00"), utc("2026-02-01 00:00")) if each.value
    ]
    assert (interval.start, interval.end) == (utc("2026-01-31 06:00"), utc("2026-01-31 18:00"))
