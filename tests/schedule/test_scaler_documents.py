"""Every example about time in the two time-window-scaler documents."""

from datetime import date

import pytest
from whenever import TimeDelta

from hibernator.schedule.errors import ScheduleError, UnknownTimezoneError
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.problems import check_scaler
from hibernator.schedule.scaler import ScalerTimeline, apply_grace
from hibernator.schedule.scaler_words import label
from hibernator.schedule.timeline import Reason
from hibernator.schedule.zones import zone_of
from schedule.builders import at, scaler, story, utc

NEW_YORK = "America/New_York"
FRIDAY_NIGHT = scaler("Fri 22:00-02:00 5", default=1, zone=NEW_YORK)


# The ten edge cases of the CRD document


def test_edge_case_1_a_friday_night_window_matches_early_saturday() -> None:
    assert ScalerTimeline.of(FRIDAY_NIGHT).at(at("2026-01-31 01:00", NEW_YORK)).value == 5


def test_edge_case_2_of_two_overlapping_windows_the_second_wins() -> None:
    spec = scaler("Mon 09:00-12:00 2", "Mon 11:00-13:00 4")
    assert ScalerTimeline.of(spec).at(utc("2026-02-02 11:30")).value == 4


def test_edge_case_3_start_equals_end() -> None:
    spec = scaler("Mon 10:00-10:00 2")
    (problem,) = check_scaler(spec)
    assert (problem.path, problem.message) == ("spec.windows[0]", "Invalid window: start must not equal end")
    with pytest.raises(ScheduleError, match="Invalid window: start must not equal end"):
        ScalerTimeline.of(spec)


def test_edge_case_4_an_invalid_timezone_falls_back_to_the_default() -> None:
    spec = scaler("Mon 09:00-17:00 5", default=2, zone="Mars/Olympus_Mons")
    with pytest.raises(UnknownTimezoneError):
        ScalerTimeline.of(spec)


def test_edge_case_5_a_closed_holiday_takes_precedence_over_a_matching_window() -> None:
    spec = scaler("Mon 09:00-17:00 5", default=1, holidays={"mode": "treat-as-closed"})
    answer = ScalerTimeline.of(spec, Holidays.on(date(2026, 2, 2))).at(utc("2026-02-02 12:00"))
    assert (answer.value, answer.reason) == (1, Reason.HOLIDAY_CLOSED)


def test_edge_case_6_an_open_holiday_without_windows_uses_the_default() -> None:
    timeline = ScalerTimeline(
        zone_of("UTC"), (), 3, mode="treat-as-open", holidays=Holidays.on(date(2026, 2, 2))
    )
    answer = timeline.at(utc("2026-02-02 12:00"))
    assert (answer.value, answer.reason) == (3, Reason.HOLIDAY_OPEN)


def test_edge_case_7_two_minutes_of_grace_after_leaving_a_window_at_14_00() -> None:
    spec = scaler("Mon 09:00-14:00 5", default=1, gracePeriodSeconds=120)
    timeline = ScalerTimeline.of(spec)
    moments = ["13:59:59", "14:00:00", "14:01:59", "14:02:00"]
    assert [timeline.at(utc(f"2026-02-02 {moment}")).value for moment in moments] == [5, 5, 5, 1]
    assert timeline.at(utc("2026-02-02 14:01")).reason is Reason.GRACE_PERIOD


def test_edge_case_8_a_pause_changes_nothing_about_what_is_wanted() -> None:
    running, paused = scaler("Mon 09:00-17:00 5"), scaler("Mon 09:00-17:00 5", pause=True)
    moment = utc("2026-02-02 12:00")
    assert ScalerTimeline.of(paused).at(moment).value == ScalerTimeline.of(running).at(moment).value == 5


def test_edge_case_9_what_is_wanted_does_not_depend_on_what_someone_scaled_by_hand() -> None:
    """Seven by hand, three wanted: without a grace period there is nothing to wait for."""
    assert apply_grace(3, 7, None, 0, utc("2026-02-02 12:00")) == (3, None)


def test_edge_case_10_inside_a_window_over_midnight_the_next_boundary_is_its_end() -> None:
    timeline = ScalerTimeline.of(FRIDAY_NIGHT)
    assert timeline.at(at("2026-01-30 23:00", NEW_YORK)).until == at("2026-01-31 02:00", NEW_YORK)


def test_edge_case_10_before_a_window_over_midnight_the_next_boundary_is_its_start() -> None:
    timeline = ScalerTimeline.of(FRIDAY_NIGHT)
    assert timeline.at(at("2026-01-30 21:00", NEW_YORK)).until == at("2026-01-30 22:00", NEW_YORK)


# The reconcile document


@pytest.mark.parametrize(
    ("moment", "replicas"),
    [("2026-01-30 21:00", 1), ("2026-01-30 23:00", 5), ("2026-01-31 01:00", 5), ("2026-01-31 03:00", 1)],
)
def test_the_cross_midnight_examples_of_friday_22_00_to_02_00(moment: str, replicas: int) -> None:
    assert ScalerTimeline.of(FRIDAY_NIGHT).at(at(moment, NEW_YORK)).value == replicas


def test_a_friday_night_window_does_not_match_friday_at_one_in_the_morning() -> None:
    """The pseudo-code of the document says otherwise; ruling 1 overrules it."""
    assert ScalerTimeline.of(FRIDAY_NIGHT).at(at("2026-01-30 01:00", NEW_YORK)).value == 1


@pytest.mark.parametrize(
    ("window", "now", "boundary"),
    [
        ("Mon 09:00-17:00 5", "2026-02-02 14:30", "2026-02-02 17:00"),
        ("Mon,Tue 09:00-17:00 5", "2026-02-02 18:00", "2026-02-03 09:00"),
        ("Mon 22:00-06:00 5", "2026-02-02 23:30", "2026-02-03 06:00"),
    ],
)
def test_the_examples_of_the_next_boundary(window: str, now: str, boundary: str) -> None:
    timeline = ScalerTimeline.of(scaler(window, zone=NEW_YORK))
    assert timeline.at(at(now, NEW_YORK)).until == at(boundary, NEW_YORK)


def hours(window: str, day: str) -> float:
    """How long the window is that covers this local midnight-and-a-half in New York."""
    answer = ScalerTimeline.of(scaler(window, zone=NEW_YORK)).at(at(day, NEW_YORK))
    assert answer.value == 5
    assert answer.since is not None
    assert answer.until is not None
    return (answer.until - answer.since).total("hours")


def test_in_spring_the_window_from_01_00_to_03_00_is_an_hour_shorter() -> None:
    assert hours("Sun 01:00-03:00 5", "2026-03-08 01:30") == 1


def test_in_spring_the_night_keeps_its_wall_clock_times() -> None:
    """Six hours on the wall from 23:00 to 05:00, five on a stopwatch."""
    assert hours("Sat 23:00-05:00 5", "2026-03-07 23:30") == 5
    timeline = ScalerTimeline.of(scaler("Sat 23:00-05:00 5", zone=NEW_YORK))
    assert timeline.at(at("2026-03-07 23:30", NEW_YORK)).until == at("2026-03-08 05:00", NEW_YORK)


def test_in_autumn_the_window_from_01_00_to_03_00_is_an_hour_longer() -> None:
    assert hours("Sun 01:00-03:00 5", "2026-11-01 02:30") == 3


def test_in_autumn_the_night_keeps_its_wall_clock_times() -> None:
    assert hours("Sat 23:00-05:00 5", "2026-10-31 23:30") == 7
    timeline = ScalerTimeline.of(scaler("Sat 23:00-05:00 5", zone=NEW_YORK))
    assert timeline.at(at("2026-10-31 23:30", NEW_YORK)).until == at("2026-11-01 05:00", NEW_YORK)


@pytest.mark.parametrize(
    ("holiday", "mode", "hour", "replicas"),
    [
        (True, "treat-as-closed", 12, 1),
        (True, "treat-as-closed", 20, 1),
        (True, "treat-as-open", 12, 7),
        (True, "treat-as-open", 20, 7),
        (True, "ignore", 12, 5),
        (True, "ignore", 20, 1),
        (False, "treat-as-closed", 12, 5),
        (False, "treat-as-open", 20, 1),
    ],
)
def test_the_decision_table(holiday: bool, mode: str, hour: int, replicas: int) -> None:  # noqa: FBT001  a table
    spec = scaler("Mon 09:00-17:00 5", "Sat 09:00-17:00 7", default=1, holidays={"mode": mode})
    holidays = Holidays.on(date(2026, 2, 2)) if holiday else Holidays.on(date(2026, 2, 3))
    assert ScalerTimeline.of(spec, holidays).at(utc(f"2026-02-02 {hour}:00")).value == replicas


def test_a_window_that_reaches_into_a_holiday_is_governed_by_it_from_local_midnight_on() -> None:
    spec = scaler("Fri 22:00-06:00 5", zone=NEW_YORK, holidays={"mode": "treat-as-closed"})
    timeline = ScalerTimeline.of(spec, Holidays.on(date(2026, 1, 31)))
    assert story(timeline, "2026-01-30 21:00", "2026-01-31 07:00", NEW_YORK) == [
        "Fri 21:00 0 OutsideWindows",
        "Fri 22:00 5 Window",
        "Sat 00:00 0 HolidayClosed",
    ]


# Grace: step 5 and ruling 20


def test_grace_is_dropped_when_the_old_number_is_wanted_again() -> None:
    spec = scaler("Mon 09:00-12:00 5", "Mon 12:30-14:00 5", default=1, gracePeriodSeconds=3600)
    assert story(ScalerTimeline.of(spec), "2026-02-02 08:00", "2026-02-02 16:00", "UTC") == [
        "Mon 08:00 1 OutsideWindows",
        "Mon 09:00 5 Window",
        "Mon 12:00 5 GracePeriod",
        "Mon 12:30 5 Window",
        "Mon 14:00 5 GracePeriod",
        "Mon 15:00 1 OutsideWindows",
    ]


def test_grace_ends_when_its_first_drop_says_whatever_is_wanted_by_then() -> None:
    spec = scaler("Mon 09:00-12:00 5", "Mon 12:00-12:30 2", "Mon 12:30-14:00 3", gracePeriodSeconds=3600)
    assert story(ScalerTimeline.of(spec), "2026-02-02 11:00", "2026-02-02 16:00", "UTC") == [
        "Mon 11:00 5 Window",
        "Mon 12:00 5 GracePeriod",
        "Mon 13:00 3 Window",
        "Mon 14:00 3 GracePeriod",
        "Mon 15:00 0 OutsideWindows",
    ]


def test_a_grace_longer_than_any_gap_keeps_the_most_for_ever() -> None:
    spec = scaler("Mon 09:00-12:00 5", default=1, gracePeriodSeconds=2_000_000_000)
    timeline = ScalerTimeline.of(spec)
    assert {each.value for each in timeline.between(utc("2026-02-01 00:00"), utc("2026-03-01 00:00"))} == {5}


def test_a_grace_of_ages_is_no_trouble_even_where_the_most_is_never_wanted() -> None:
    """The first window is hidden by the second, so that nine replicas never run."""
    spec = scaler("Mon 09:00-12:00 9", "Mon 09:00-12:00 5", default=1, gracePeriodSeconds=10**15)
    assert ScalerTimeline.of(spec).at(utc("2026-02-03 12:00")).value == 5


def test_a_grace_that_ends_together_with_a_step_goes_straight_over_to_the_next() -> None:
    """From five at 20:00 past two, which is wanted for just as long as the grace, to zero at midnight."""
    spec = scaler("Wed 00:00-20:00 5", "Wed 20:00-00:00 2", gracePeriodSeconds=4 * 3600)
    timeline = ScalerTimeline.of(spec)
    assert story(timeline, "2026-02-04 19:00", "2026-02-05 06:00", "UTC") == [
        "Wed 19:00 5 Window",
        "Wed 20:00 5 GracePeriod",
        "Thu 00:00 0 OutsideWindows",
    ]
    assert [each.value for each in timeline.between(utc("2026-02-05 03:00"), utc("2026-02-05 03:30"))] == [0]


def test_a_rise_during_grace_above_the_old_number_takes_effect_at_once() -> None:
    spec = scaler("Mon 09:00-12:00 5", "Mon 12:10-12:20 8", gracePeriodSeconds=3600)
    assert ScalerTimeline.of(spec).at(utc("2026-02-02 12:10")).value == 8


def test_a_first_look_without_a_status_takes_what_is_wanted() -> None:
    assert apply_grace(2, None, None, 300, utc("2026-02-02 12:00")) == (2, None)


def test_a_drop_starts_the_grace_and_an_expired_one_ends_it() -> None:
    now = utc("2026-02-02 12:00")
    expiry = now + TimeDelta(minutes=5)
    assert apply_grace(2, 5, None, 300, now) == (5, expiry)
    assert apply_grace(2, 5, expiry, 300, expiry - TimeDelta(seconds=1)) == (5, expiry)
    assert apply_grace(2, 5, expiry, 300, expiry) == (2, None)
    assert apply_grace(5, 5, expiry, 300, now) == (5, None)


# Labels: ruling 19


@pytest.mark.parametrize(
    ("window", "business"),
    [
        ("Mon,Tue,Wed,Thu,Fri 09:00-17:00 5", True),
        ("Wed 05:00-22:00 5", True),
        ("Wed 04:59-12:00 5", False),
        ("Wed 09:00-22:01 5", False),
        ("Fri,Sat 09:00-17:00 5", False),
        ("Mon 20:00-06:00 5", False),
        ("Sun 09:00-17:00 5", False),
    ],
)
def test_business_hours_are_a_working_day_between_five_and_ten(window: str, business: bool) -> None:  # noqa: FBT001
    (written,) = scaler(window).windows
    assert (label(written) == "BusinessHours") is business


def test_a_custom_label_is_the_hash_of_the_window() -> None:
    """The first eight digits of `sha256('{"days":["Sat"],"end":"17:00","replicas":5,"start":"09:00"}')`."""
    (written,) = scaler("Sat 09:00-17:00 5").windows
    assert label(written) == "Custom-57af6969"


def test_a_custom_label_does_not_depend_on_the_order_of_the_days() -> None:
    one, other = scaler("Sat,Sun 09:00-17:00 5", "Sun,Sat 09:00-17:00 5").windows
    assert label(one) == label(other)


def test_outside_all_windows_and_on_closed_holidays_the_window_is_off_hours() -> None:
    spec = scaler("Mon 09:00-17:00 5", holidays={"mode": "treat-as-closed"})
    timeline = ScalerTimeline.of(spec, Holidays.on(date(2026, 2, 2)))
    assert timeline.at(utc("2026-02-02 12:00")).window == "OffHours"
    assert timeline.at(utc("2026-02-03 12:00")).window == "OffHours"
    assert timeline.at(utc("2026-02-09 12:00")).window == "BusinessHours"


def test_an_open_holiday_has_a_window_of_its_own() -> None:
    spec = scaler("Mon 09:00-17:00 5", holidays={"mode": "treat-as-open"})
    answer = ScalerTimeline.of(spec, Holidays.on(date(2026, 2, 3))).at(utc("2026-02-03 03:00"))
    assert answer.window.startswith("Custom-")
