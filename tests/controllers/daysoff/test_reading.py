"""Dates and calendars of strangers, read within bounds, while everything else goes on."""

from collections.abc import AsyncIterator, Iterator
from datetime import date

import pytest

from hibernator.controllers.daysoff_reader import (
    MOST_CALENDARS,
    MOST_CHARACTERS,
    calendar_child,
    read,
    read_now,
)
from hibernator.kube.child import Child
from hibernator.schedule.holidays import DaysOff, years_around
from hibernator.schedule.ticks import day_of
from support.calendars import HARMLESS, HOSTILE, calendar
from support.heart import Heart

YEARS = years_around(2026, 2026)


@pytest.fixture
async def child() -> AsyncIterator[Child]:
    async with calendar_child() as made:
        yield made


def is_holiday(days_off: DaysOff, day: date) -> bool:
    return bool(list(days_off.calendar.between(day_of(day), day_of(day))))


async def test_a_calendar_that_takes_for_ever_is_named_with_the_fix_and_blocks_no_one(child: Child) -> None:
    assert len(HOSTILE) < 2048
    heart = Heart()
    async with heart.beating():
        days_off, slow = await read(child, {"team.ics": HOSTILE, "2026-12-24": "Xmas"}, YEARS)
    assert slow
    (problem,) = days_off.problems
    assert problem.path == 'data["team.ics"]'
    assert "more than 2 s of computing" in problem.message
    assert "begin in a recent year" in problem.fix
    assert is_holiday(days_off, date(2026, 12, 24))
    assert heart.longest < 0.5


async def test_the_next_calendar_is_read_after_one_that_took_too_long(child: Child) -> None:
    await read(child, {"team.ics": HOSTILE}, YEARS)
    days_off, slow = await read(child, {"team.ics": HARMLESS}, YEARS)
    assert (days_off.problems, slow) == ((), False)
    assert is_holiday(days_off, date(2026, 5, 1))


async def test_one_that_takes_too_long_ends_the_reading_of_its_config_map(child: Child) -> None:
    data = {"a.ics": HARMLESS, "b.ics": HOSTILE, "c.ics": HOSTILE, "d.ics": HARMLESS}
    days_off, _ = await read(child, data, YEARS)
    assert [problem.value for problem in days_off.problems] == ["b.ics", "c.ics", "d.ics"]
    assert "b.ics before it takes too long" in days_off.problems[1].message
    assert is_holiday(days_off, date(2026, 5, 1))


def bombs() -> Iterator[tuple[str, str]]:
    yield "as long as the calendar", calendar("UID:1\nDTSTART;VALUE=DATE:00010101\nDTEND;VALUE=DATE:99991231")
    yield "deeply nested", "BEGIN:VCALENDAR\n" + "BEGIN:VEVENT\n" * 20_000
    yield "without any line end", "BEGIN:VCALENDAR" + "X" * 200_000
    yield (
        "many rules",
        calendar("UID:1\nDTSTART;VALUE=DATE:20200101\n" + "RRULE:FREQ=YEARLY\n" * 8_000 + "SUMMARY:x"),
    )
    yield (
        "many dates",
        calendar("UID:1\nDTSTART;VALUE=DATE:20200101\nRDATE;VALUE=DATE:" + ",".join(["20260101"] * 20_000)),
    )
    yield (
        "a rule that never matches",
        calendar("UID:1\nDTSTART;VALUE=DATE:20200101\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31"),
    )
    yield (
        "a count without end",
        calendar("UID:1\nDTSTART;VALUE=DATE:20200101\nRRULE:FREQ=DAILY;COUNT=99999999999"),
    )
    yield (
        "an interval without end",
        calendar("UID:1\nDTSTART;VALUE=DATE:20200101\nRRULE:FREQ=YEARLY;INTERVAL=99999999999"),
    )


@pytest.mark.parametrize("text", [text for _, text in bombs()], ids=[name for name, _ in bombs()])
async def test_whatever_is_in_a_calendar_the_others_are_read(child: Child, text: str) -> None:
    heart = Heart()
    async with heart.beating():
        days_off, _ = await read(child, {"good.ics": HARMLESS, "z.ics": text}, YEARS)
    assert is_holiday(days_off, date(2026, 5, 1))
    assert {problem.value for problem in days_off.problems} <= {"z.ics"}
    assert heart.longest < 0.5


async def test_a_config_map_that_holds_too_much_is_not_read_at_all(child: Child) -> None:
    (problem,) = (await read(child, {"x.ics": "x" * (MOST_CHARACTERS + 1)}, YEARS)).days_off.problems
    assert problem.path == "data"
    assert f"at most {MOST_CHARACTERS} are read" in problem.message
    many = {f"{number}.ics": HARMLESS for number in range(MOST_CALENDARS + 1)}
    (problem,) = (await read(child, many, YEARS)).days_off.problems
    assert f"it holds {MOST_CALENDARS + 1} calendars" in problem.message
    assert child.pid is None  # nobody was asked


async def test_what_else_a_config_map_holds_does_not_count(child: Child) -> None:
    days_off, _ = await read(child, {"logo": "x" * 900_000, "2026-12-24": "y" * 900_000}, YEARS)
    assert [problem.value for problem in days_off.problems] == ["logo"]
    assert is_holiday(days_off, date(2026, 12, 24))


def test_a_command_reads_within_the_same_bounds() -> None:
    days_off = read_now({"team.ics": HOSTILE, "2026-12-24": ""}, YEARS)
    assert "more than 2 s of computing" in days_off.problems[0].message
    assert is_holiday(days_off, date(2026, 12, 24))
