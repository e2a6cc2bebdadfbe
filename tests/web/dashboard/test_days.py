"""On which days an exception is shown, and what a plan that is suspended does in the next day."""

from typing import Any

import msgspec
import pytest
from starlette.datastructures import QueryParams
from whenever import Date, Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.web.dashboard.exceptions import _first, calendar, fitting
from hibernator.web.dashboard.lanes import Lanes, resource_of, weeks
from hibernator.web.dashboard.plans import fits
from hibernator.web.dashboard.views import ExceptionRow, next_change, plan_row

NOW = Instant("2026-11-19T18:00:00Z")
NIGHT = {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]}


def row(begin: str, end: str) -> ExceptionRow:
    return ExceptionRow(
        namespace="team-a",
        name="release",
        uid="1",
        plan="shop",
        type="extend",
        state="Active",
        valid_from=Instant(begin).to_stdlib(),
        valid_until=Instant(end).to_stdlib(),
    )


@pytest.mark.parametrize(
    ("begin", "end", "dates"),
    [
        ("2026-11-19T00:00:00Z", "2026-11-21T00:00:00Z", ["2026-11-19", "2026-11-20"]),  # until midnight
        ("2026-11-19T23:59:00Z", "2026-11-20T00:01:00Z", ["2026-11-19", "2026-11-20"]),
        ("2026-11-01T00:00:00Z", "2026-11-16T12:00:00Z", ["2026-11-16"]),
    ],
)
def test_an_exception_is_on_each_day_on_which_it_holds(begin: str, end: str, dates: list[str]) -> None:
    days = calendar([row(begin, end)], Date(2026, 11, 16), NOW)
    assert [day.date for day in days if day.items] == dates


@pytest.mark.parametrize(
    ("day", "found"), [("2026-11-18", 0), ("2026-11-19", 1), ("2026-11-20", 1), ("2026-11-21", 0), ("<b>", 0)]
)
def test_what_a_day_of_the_calendar_leaves_out_is_found_by_its_date(day: str, found: int) -> None:
    held = {"validFrom": "2026-11-19T23:59:00Z", "validUntil": "2026-11-21T00:00:00Z", "type": "suspend"}
    document = {"metadata": {"name": "release"}, "spec": {"planRef": {"name": "shop"}, "windows": []} | held}
    one = msgspec.convert(document, ScheduleException)
    assert len(fitting([one], QueryParams({"on": day}))) == found


@pytest.mark.parametrize("asked", ["9999-12-31", "0001-01-01", "no date", ""])
def test_a_calendar_that_has_no_weeks_around_it_is_this_one(asked: str) -> None:
    first = _first(asked, NOW)
    assert len(calendar([], first, NOW)) == 28
    assert first == Date(2026, 11, 16)


def plan(**spec: Any) -> HibernatePlan:
    schedule = {"timezone": "UTC", "offHours": [NIGHT]}
    status = {"phase": "Suspended" if spec.get("suspend") else "Active"}
    following = {"at": "2026-11-19T20:00:00Z", "to": "Asleep", "reason": "off-hours"}
    document = {
        "metadata": {"name": "shop", "namespace": "team-a", "uid": "1"},
        "spec": {"schedule": schedule, "targets": []} | spec,
        "status": status | {"nextTransition": following},
    }
    return msgspec.convert(document, HibernatePlan)


def test_a_plan_that_is_suspended_follows_no_schedule() -> None:
    for_good = plan(suspend=True)
    assert Lanes().day(for_good, (), NOW) == ()
    assert Lanes().sleeps(for_good, (), NOW) == ()
    assert next_change(for_good) is None


def test_a_plan_that_is_suspended_for_a_while_follows_its_schedule_from_then_on() -> None:
    goes_on = Instant("2026-11-19T23:00:00Z")
    usual, later = plan(), plan(suspend=True, suspendUntil=goes_on.format_iso())
    followed = [(max(one.start, goes_on), one.end, one.value) for one in Lanes().day(usual, (), NOW)][1:]
    assert [(one.start, one.end, one.value) for one in Lanes().day(later, (), NOW)] == followed
    assert followed[0][:2] == (goes_on, Instant("2026-11-20T06:00:00Z"))
    following = next_change(later)
    assert following
    assert (following.at, following.to) == (goes_on.to_stdlib(), "Resumed")


def test_a_plan_of_which_a_part_failed_says_what_and_is_among_those_that_failed() -> None:
    sleeping = msgspec.to_builtins(plan())
    since = {"lastTransitionTime": "2026-11-19T17:00:00Z"}
    sleeping["status"] |= {
        "phase": "Hibernated",
        "targets": [{"name": "db", "state": "Failed"}, {"name": "web", "state": "Completed"}],
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Asleep", "message": "It is night."} | since,
            {"type": "Degraded", "status": "True", "reason": "TargetsFailed", "message": "db: no."} | since,
        ],
    }
    found = msgspec.convert(sleeping, HibernatePlan)
    assert plan_row(found).message == "db: no."
    assert (plan_row(found).state, plan_row(found).failed) == ("Asleep", True)
    assert fits(found, QueryParams("phase=Error"))
    assert not fits(plan(), QueryParams("phase=Error"))


@pytest.mark.parametrize(
    ("now", "day", "along"),
    [
        ("2026-10-24T22:00:00Z", "Sun 25 Oct", 0),
        ("2026-10-25T00:30:00Z", "Sun 25 Oct", 70),  # 02:30, for the first time
        ("2026-10-25T01:30:00Z", "Sun 25 Oct", 70),  # and for the second time
        ("2026-10-25T02:00:00Z", "Sun 25 Oct", 84),
        ("2027-03-28T01:00:00Z", "Sun 28 Mar", 84),  # 03:00, the minute after 01:59
    ],
)
def test_a_timeline_shows_where_one_is(now: str, day: str, along: int) -> None:
    berlin = plan(schedule={"timezone": "Europe/Berlin", "offHours": [NIGHT]})
    resource = resource_of(berlin, ())
    assert resource
    lines = weeks(resource, Instant(now)).splitlines()
    assert sum("clip-path" in line for line in lines) == 28  # days, also where one has another hour
    [mark] = [number for number, line in enumerate(lines) if 'class="now"' in line]
    [today] = [number for number, line in enumerate(lines) if 'class="today"' in line]
    assert today < mark
    assert f">{day}<" in lines[today]
    assert f'd="M{24 + 92 + along} ' in lines[mark]
