"""On which days an exception is shown, and what a plan that is suspended does in the next day."""

from typing import Any

import msgspec
import pytest
from whenever import Date, Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.web.dashboard.exceptions import _first, calendar
from hibernator.web.dashboard.lanes import Lanes
from hibernator.web.dashboard.views import ExceptionRow, next_change

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
