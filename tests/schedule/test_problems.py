"""Every mistake about time is told at once, with its place, its value and its fix."""

from collections.abc import Iterable

import msgspec
import pytest

from hibernator.api.hibernatenotification import HibernateNotificationSpec
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import TimeWindowScalerSpec
from hibernator.schedule.problems import check_exception, check_notification, check_scaler, check_schedule
from schedule.builders import exception, plan, scaler, window

VALID = "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z"


def told(problems: Iterable[Problem]) -> list[tuple[str, object, str]]:
    return [(problem.path, problem.value, problem.message) for problem in problems]


def test_a_good_schedule_has_no_problems() -> None:
    schedule = plan(window("20:00-6:00", "MON tuesday"), zone="Europe/Berlin", holidays={"country": "DE"})
    assert list(check_schedule(schedule)) == []


def test_all_times_of_a_notification_are_looked_at() -> None:
    spec = {
        "selector": {},
        "onEvents": ["Failure"],
        "sinks": [],
        "quietHours": {"start": "20:00", "end": "06:00", "timezone": "Europe/Berln"},
        "groupWithin": "9999999999999h",
        "repeatEvery": "9999999999999h",
    }
    problems = check_notification(msgspec.convert(spec, HibernateNotificationSpec))
    places = ["quietHours.timezone", "groupWithin", "repeatEvery"]
    assert [problem.path for problem in problems] == [f"spec.{place}" for place in places]


def test_all_mistakes_of_a_schedule_are_told_at_once() -> None:
    schedule = plan(
        window("24:00-06:60", "MON"),
        window("10:00-10:00", "MON Funday"),
        window("10:00-11:00", ""),
        zone="Europe/Berln",
        holidays={"country": "DE", "subdivision": "ZZ"},
    )
    assert told(check_schedule(schedule)) == [
        (
            "spec.schedule.timezone",
            "Europe/Berln",
            "'Europe/Berln' is not a zone in the IANA time zone database",
        ),
        ("spec.schedule.offHours[0].start", "24:00", "'24:00' is not a time of day"),
        ("spec.schedule.offHours[0].end", "06:60", "'06:60' is not a time of day"),
        ("spec.schedule.offHours[1]", "10:00-10:00", "Invalid window: start must not equal end"),
        ("spec.schedule.offHours[1].daysOfWeek[1]", "Funday", "'Funday' is not a day of the week"),
        ("spec.schedule.offHours[2].daysOfWeek", [], "no day is listed"),
        ("spec.schedule.holidays.subdivision", "ZZ", "'ZZ' is not a part of DE with holidays of its own"),
    ]


def test_every_problem_carries_its_fix() -> None:
    schedule = plan(window("24:00-06:60", "MON Funday"), zone="Europe/Berln")
    fixes = [problem.fix for problem in check_schedule(schedule)]
    assert fixes[0] == "Did you mean Europe/Berlin?"
    assert all(fix.endswith((".", "?")) for fix in fixes)


def test_a_schedule_without_windows_is_a_problem() -> None:
    assert told(check_schedule(plan(), "spec.s")) == [("spec.s.offHours", [], "no window is listed")]


@pytest.mark.parametrize(
    "time", ["1:2", "7", "noon", "", " 07:00", "07:00 ", "-1:00", "\u0660\u0667:00", "07:00:00", "25:00"]
)
def test_what_is_not_a_time_of_day_is_refused(time: str) -> None:
    wrong = msgspec.structs.replace(window("20:00-06:00"), start=time)
    (problem,) = check_schedule(plan(wrong))
    assert problem.path == "spec.schedule.offHours[0].start"


def test_a_scaler_wants_two_digits_for_the_hour() -> None:
    spec = scaler("Mon 09:00-17:00 1")
    (short,) = (msgspec.structs.replace(each, start="9:00") for each in spec.windows)
    (problem,) = check_scaler(msgspec.structs.replace(spec, windows=(short,)))
    assert (problem.path, problem.value) == ("spec.windows[0].start", "9:00")


def test_a_good_exception_has_no_problems() -> None:
    _, spec = exception("suspend", VALID, window("21:00-02:00", "Saturday"), lead="1h30m")
    assert list(check_exception(spec)) == []


def test_an_exception_may_last_ninety_days_and_no_longer() -> None:
    _, longest = exception("extend", "2026-01-01T00:00:00Z/2026-04-01T00:00:00Z", window("20:00-06:00"))
    _, longer = exception("extend", "2026-01-01T00:00:00Z/2026-04-01T00:00:01Z", window("20:00-06:00"))
    assert list(check_exception(longest)) == []
    (problem,) = check_exception(longer)
    assert (problem.path, problem.message) == ("spec.validUntil", "the exception lasts longer than 90 days")
    assert "2026-04-01T00:00:00Z" in problem.fix


def test_an_exception_may_not_end_before_it_begins() -> None:
    _, spec = exception("extend", "2026-02-02T00:00:00Z/2026-02-01T00:00:00Z", window("20:00-06:00"))
    (problem,) = check_exception(spec)
    assert problem.message == "the exception ends before it begins, at 2026-02-02T00:00:00Z"


def test_an_exception_whose_times_have_no_zone_is_told_so() -> None:
    _, spec = exception("extend", "2026-02-02T00:00:00/2026-02-03T00:00:00Z", window("20:00-06:00"))
    (problem,) = check_exception(spec)
    assert (problem.path, problem.message) == (
        "spec.validFrom",
        "2026-02-02T00:00:00 does not say in which zone it is",
    )


@pytest.mark.parametrize("lead", ["1", "h", "-1h", "1d", "1 h", "1h30", "1.h", "PT1H"])
def test_a_bad_lead_time_is_refused(lead: str) -> None:
    _, spec = exception("suspend", VALID, window("20:00-06:00"), lead=lead)
    (problem,) = check_exception(spec)
    assert (problem.path, problem.message) == ("spec.leadTime", f"{lead!r} is not a duration")


def test_a_lead_time_with_too_many_digits_is_told_so() -> None:
    _, spec = exception("suspend", VALID, window("20:00-06:00"), lead="99999999999999h")
    (problem,) = check_exception(spec)
    assert (problem.message, problem.fix) == (
        "'99999999999999h' is longer than any schedule",
        "Write at most 12 digits.",
    )


@pytest.mark.parametrize("lead", ["30m", "1h", "3600s", "1.5h", "1h30m10s", "500ms", ""])
def test_lead_times_are_durations_as_kubernetes_writes_them(lead: str) -> None:
    _, spec = exception("suspend", VALID, window("20:00-06:00"), lead=lead)
    assert list(check_exception(spec)) == []


def test_a_lead_time_on_another_type_is_allowed_and_means_nothing() -> None:
    """The first example of RFC-0003 has one on `extend`."""
    _, spec = exception("extend", VALID, window("20:00-06:00"), lead="1h")
    assert list(check_exception(spec)) == []


def test_an_exception_without_windows_is_a_problem() -> None:
    _, spec = exception("replace", VALID)
    assert told(check_exception(spec)) == [("spec.windows", [], "no window is listed")]


def test_all_mistakes_of_a_scaler_are_told_at_once() -> None:
    spec = scaler(
        "Mon 10:00-10:00 -1", zone="Nowhere", default=-2, gracePeriodSeconds=-3, holidays={"country": "XX"}
    )
    assert [path for path, _, _ in told(check_scaler(spec))] == [
        "spec.timezone",
        "spec.windows[0]",
        "spec.windows[0].replicas",
        "spec.defaultReplicas",
        "spec.gracePeriodSeconds",
        "spec.holidays.country",
    ]


def test_specs_survive_the_way_to_json_and_back() -> None:
    _, bend = exception("suspend", VALID, window("21:00-02:00", "Saturday"), lead="1h")
    spec = scaler("Mon 09:00-17:00 5", holidays={"mode": "treat-as-open", "country": "DE"})
    assert msgspec.json.decode(msgspec.json.encode(bend), type=ScheduleExceptionSpec) == bend
    assert msgspec.json.decode(msgspec.json.encode(spec), type=TimeWindowScalerSpec) == spec


@pytest.mark.parametrize("lead", ["9" * 5000 + "h", "0." + "9" * 5000 + "h"])
def test_a_duration_with_too_many_digits_is_refused_and_breaks_nothing(lead: str) -> None:
    _, spec = exception("suspend", VALID, window("20:00-06:00"), lead=lead)
    assert [problem.path for problem in check_exception(spec)] == ["spec.leadTime"]


def test_the_end_of_a_day_is_told_as_each_kind_writes_it() -> None:
    (problem,) = check_schedule(plan(window("20:00-24:00")))
    assert problem.fix == "Write 23:59 as an end, which means the end of the day, or 00:00 as a start."
    (problem,) = check_scaler(scaler("Mon 20:00-24:00 3"))
    assert problem.fix == "Write 00:00, which as an end is the midnight after the start."
