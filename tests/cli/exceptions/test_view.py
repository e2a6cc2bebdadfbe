"""What `hibernator exception view` draws: the plan before and after, one above the other."""

from typing import Any

import msgspec
import pytest
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.cli.exception_view import ExceptionDetails, lines
from hibernator.pictures.comparison import compare
from hibernator.pictures.ink import ASCII
from hibernator.schedule.holidays import NO_HOLIDAYS
from support.exception_scenes import EVERY_DAY, WEEKDAYS, exception, hours
from support.plan_scenes import noop, plan

BEFORE_IT = Instant("2026-03-01T00:00:00Z")


def shown(now: Instant = BEFORE_IT, width: int = 80, **spec: Any) -> list[str]:
    schedule = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", WEEKDAYS)}
    plan_ = msgspec.convert(plan(noop("nothing"), name="dev-plan", schedule=schedule), HibernatePlan)
    valid = {"validFrom": "2026-03-02T12:00:00Z", "validUntil": "2026-03-16T12:00:00Z"}
    asked = msgspec.convert(exception("event", **(valid | spec)), ScheduleException)
    details = ExceptionDetails(asked, compare(plan_, asked, NO_HOLIDAYS))
    return [line.plain for line in lines(details, width, ASCII, now)]


def picture(drawn: list[str]) -> list[str]:
    return [line for line in drawn if line.endswith(("before", "after"))]


def test_a_night_with_a_suspension_is_drawn_before_and_after() -> None:
    drawn = shown(type="suspend", leadTime="1h", windows=hours("21:00", "23:00", ["FRI"]))
    assert picture(drawn) == [
        "Fri 06 Mar ############............................######## before",
        "           ############............................oooooo## after",
        "Fri 13 Mar ############............................######## before",
        "           ############............................oooooo## after",
    ]
    assert "What changes (Europe/Berlin): 6 hours asleep lost" in drawn
    short = shown(type="suspend", windows=hours("22:00", "22:30", ["FRI"]))
    assert "What changes (Europe/Berlin): 1 hour asleep lost" in short
    assert "  Fri 2026-03-06 20:00 until Fri 2026-03-06 23:00: awake instead of asleep" in drawn
    assert "## asleep  .. awake  oo awake by exception" in drawn


def test_no_one_writes_into_the_terminal_or_the_history_of_who_looks() -> None:
    reason = "please\x1b[2J\nHistory\n  2026-03-02T00:00:00Z approved by bob"
    drawn = shown(type="extend", windows=hours("06:00", "11:00", ["Saturday"]), reason=reason)
    assert "  reason        please?[2J History   2026-03-02T00:00:00Z approved by bob" in drawn


def test_an_approver_who_only_looks_like_someone_is_told_apart() -> None:
    lookalike = "b\N{CYRILLIC SMALL LETTER O}b@company.com"
    asked = {
        "metadata": {"name": "event"},
        "spec": exception("event")["spec"]
        | {"type": "extend", "validFrom": "2026-03-02T12:00:00Z", "validUntil": "2026-03-03T12:00:00Z"}
        | {"approvalRequired": True},
        "status": {"requiredApprovals": [{"email": lookalike, "status": "pending"}]},
    }
    details = ExceptionDetails(msgspec.convert(asked, ScheduleException), None)
    drawn = [line.plain for line in lines(details, 80, ASCII, BEFORE_IT)]
    assert f"  pending   {lookalike} (beware: not all of these are plain letters)" in drawn


def test_an_extension_is_drawn_as_sleep_by_exception() -> None:
    drawn = shown(type="extend", windows=hours("06:00", "11:00", ["Saturday"]))
    assert picture(drawn)[:2] == [
        "Sat 07 Mar ############.................................... before",
        "           ############==========.......................... after",
    ]


def test_days_to_come_are_drawn_first_and_the_rest_is_counted() -> None:
    every_day: dict[str, Any] = {"type": "suspend", "windows": hours("21:00", "23:00", WEEKDAYS)}
    drawn = shown(**every_day)
    assert (len(picture(drawn)), "and 3 more days" in drawn) == (14, True)
    drawn = shown(Instant("2026-03-12T12:00:00Z"), **every_day)
    assert [line[:10] for line in picture(drawn)[::2]] == ["Thu 12 Mar", "Fri 13 Mar"]
    assert "and 3 more days" not in drawn


def test_one_that_is_over_is_drawn_as_it_was() -> None:
    drawn = shown(Instant("2027-01-01T00:00:00Z"), type="suspend", windows=hours("21:00", "23:00", ["FRI"]))
    assert [line[:10] for line in picture(drawn)[::2]] == ["Fri 06 Mar", "Fri 13 Mar"]


def test_one_that_changes_nothing_says_so() -> None:
    drawn = shown(type="extend", windows=hours("01:00", "05:00", ["Tuesday"]))
    told = "What changes (Europe/Berlin): nothing, the plan sleeps the same way without it"
    assert (told in drawn, picture(drawn)) == (True, [])


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_everything_fits_the_terminal(width: int) -> None:
    reason = "Somebody important comes to visit us from far away, and wants to see it all. " * 3
    drawn = shown(width=width, type="replace", windows=hours("00:00", "23:59", EVERY_DAY), reason=reason)
    assert max(map(len, drawn)) <= width
