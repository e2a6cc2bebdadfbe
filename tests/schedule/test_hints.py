"""What is allowed and yet hardly meant is said, with what to write instead."""

import msgspec
import pytest
from hypothesis import given

from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import _awake, exception_hints, scaler_hints, schedule_hints
from hibernator.schedule.ticks import from_instant, to_instant
from hibernator.schedule.timeline import State
from hibernator.schedule.windows import off_hours as read
from hibernator.schedule.zones import zone_of
from schedule.brute import BruteWindow
from schedule.builders import WEEKDAYS, exception, plan, utc, window
from schedule.strategies import off_hours

WEEKEND = window("00:00-23:59", "SAT SUN")
NIGHTS = window("20:00-06:00", "MON TUE WED THU FRI")


def test_a_plan_that_wakes_at_midnight_after_a_weekend_is_told_which_night_is_missing() -> None:
    (hint,) = schedule_hints(plan(NIGHTS, WEEKEND))
    assert hint == (
        "spec.schedule.offHours: it wakes on Mon 00:00, because no night begins on Sun. "
        "Add SUN to the days of 20:00-06:00, if it shall sleep until 06:00."
    )
    assert PlanTimeline(plan(NIGHTS, WEEKEND)).at(utc("2026-03-02 01:00")).value is State.AWAKE


@pytest.mark.parametrize(
    "windows",
    [
        (window("20:00-06:00", "MON TUE WED THU FRI SUN"), WEEKEND),
        (NIGHTS,),
        (WEEKEND,),
        (window("20:00-06:00", "FRI"), WEEKEND),  # from Friday evening until Monday
        (window("20:00-06:00"), WEEKEND),
        (window("00:00-23:59"),),
        (window("00:00-06:00", "MON"), window("20:00-23:59", "SUN")),
    ],
)
def test_a_plan_that_is_meant_as_it_is_written_is_told_nothing(windows: tuple[OffHourWindow, ...]) -> None:
    assert list(schedule_hints(plan(*windows))) == []


def test_a_short_time_awake_between_two_windows_is_told() -> None:
    (hint,) = schedule_hints(plan(window("20:00-23:58", "MON"), window("00:00-06:00", "TUE")))
    assert "it wakes on Mon 23:58 and sleeps again at Tue 00:00" in hint


def test_a_plan_that_sleeps_half_of_every_hour_is_told_so_once() -> None:
    (hint,) = schedule_hints(plan(*(window(f"{hour:02}:05-{hour:02}:35") for hour in range(24))))
    assert "it wakes on Mon 00:35 and sleeps again at Mon 01:05, and 167 more times a week. Let" in hint


@given(off_hours())
def test_what_is_taken_for_awake_is_awake_on_the_timeline(windows: tuple[BruteWindow, ...]) -> None:
    schedule = plan(*(window(f"{each.start}-{each.end}", " ".join(each.days)) for each in windows))
    timeline, monday = PlanTimeline(schedule), from_instant(utc("2026-03-02 00:00"))
    for start, end in _awake([read(each, zone_of("UTC")) for each in schedule.off_hours]):
        for moment, state in ((start - 1, State.ASLEEP), (start, State.AWAKE), (end - 1, State.AWAKE)):
            assert timeline.at(to_instant(monday + moment)).value is state
    list(schedule_hints(schedule))


def test_a_window_that_never_falls_into_the_validity_is_told() -> None:
    """Scenario 3 of the RFC: 1 February 2026 is a Sunday."""
    validity = "2026-02-01T20:00:00Z/2026-02-02T02:00:00Z"
    _, spec = exception("suspend", validity, window("21:00-02:00", "Saturday"), lead="1h")
    (hint,) = exception_hints(spec, "UTC")
    assert hint == (
        "spec.windows[0]: 21:00-02:00 Sat never falls between validFrom (Sun 2026-02-01 20:00) and "
        "validUntil (Mon 2026-02-02 02:00), so that it has no effect. Correct its days, or the two times."
    )
    _, spec = exception("suspend", validity, window("21:00-02:00", "Sunday"), lead="1h")
    assert list(exception_hints(spec, "UTC")) == []


def test_without_its_plan_only_what_is_so_in_every_zone_is_told() -> None:
    validity = "2026-02-01T20:00:00Z/2026-02-02T02:00:00Z"
    _, spec = exception("suspend", validity, window("21:00-02:00", "Saturday"))
    assert len(list(exception_hints(spec, None))) == 1
    _, spec = exception("suspend", validity, window("15:00-18:00", "Monday"))  # in the far east
    assert list(exception_hints(spec, None)) == []
    assert list(exception_hints(spec, "Pacific/Kiritimati")) == []
    _, spec = exception("suspend", validity, window("03:00-09:00", "Sunday"))  # in the far west
    assert list(exception_hints(spec, None)) == []
    assert list(exception_hints(spec, "Etc/GMT+12")) == []


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("EST", "EST has no summer time. Write America/New_York, if its clock shall be followed."),
        ("Etc/GMT-1", "Etc/GMT-1 is 1 hour ahead of UTC, all year: its sign is the other way round."),
        ("Etc/GMT+5", "Etc/GMT+5 is 5 hours behind UTC, all year: its sign is the other way round."),
    ],
)
def test_a_zone_that_is_hardly_meant_is_told(zone: str, said: str) -> None:
    assert list(schedule_hints(plan(NIGHTS, zone=zone))) == [f"spec.schedule.timezone: {said}"]
    assert list(scaler_hints(zone, None)) == [f"spec.timezone: {said}"]


def test_holidays_without_effect_are_told() -> None:
    idle = plan(NIGHTS, holidays={"country": "DE"})
    (hint,) = schedule_hints(idle)
    assert hint == (
        "spec.schedule.holidays: it has no effect, because mode is ignore. "
        "Write mode: sleep-all-day or stay-awake."
    )
    assert list(scaler_hints("UTC", ScalerHolidays(mode="treat-as-closed"))) == [
        "spec.holidays: it has no effect, because no holidays are named. Set country or sourceRef."
    ]
    assert list(schedule_hints(plan(NIGHTS, holidays={"country": "DE", "mode": "stay-awake"}))) == []


def test_approvers_who_are_named_and_not_asked_are_told() -> None:
    _, spec = exception("suspend", "2026-02-01T20:00:00Z/2026-02-02T02:00:00Z", window("00:00-23:59"))
    named = msgspec.structs.replace(spec, approver_emails=("bob@example.com",))
    (hint,) = exception_hints(named, "UTC")
    assert hint == (
        "spec.approvalRequired: it is not set, so that the approvers that are named are not asked. "
        "Set it to true, or remove them."
    )
    assert list(exception_hints(msgspec.structs.replace(named, approval_required=True), "UTC")) == []


@pytest.mark.parametrize("kind", ["extend", "replace"])
def test_lead_time_where_it_has_no_effect_is_told(kind: str) -> None:
    """The RFC's own first sample has one."""
    validity = "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z"
    _, spec = exception(kind, validity, window("06:00-11:00", WEEKDAYS), lead="1h")
    assert list(exception_hints(spec, "UTC")) == [
        f"spec.leadTime: it has no effect with type {kind}. Remove it, or write type: suspend."
    ]
