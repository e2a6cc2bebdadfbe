"""Reads the holidays of a ConfigMap within bounds: of size, of number, of memory and of time.

A calendar is asked for by itself, so that one that costs too much is named, and costs only itself.
"""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final, NamedTuple

import msgspec

from hibernator.api.problem import Problem
from hibernator.kube.child import Child, ChildError, TooSlowError
from hibernator.schedule.daysoff import MOST_PROBLEMS, DaysOff, is_calendar, read_dates, unreadable

MOST_CHARACTERS: Final = 2**18  # of dates and calendars in one ConfigMap; a country's ten years take 50,000
MOST_CALENDARS: Final = 16  # in one ConfigMap
SECONDS: Final = 2  # of computing for a calendar; that of a country takes a tenth of one

_WORKER: Final = "hibernator.controllers.daysoff_worker"
_LONGEST_VALUE: Final = 100  # of a date; longer ones are not shown
_SIMPLER: Final = (
    "Keep only holidays in it, as all-day events, and let those that repeat begin in a recent year."
)


class _Read(msgspec.Struct, frozen=True):
    dates: tuple[tuple[date, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    error: str = ""


def calendar_child() -> Child:
    return Child(_WORKER, seconds=SECONDS)


class Reading(NamedTuple):
    days_off: DaysOff
    slow: bool = False  # whether a calendar took longer than it may


async def read(child: Child, data: Mapping[str, str], years: range) -> Reading:
    """The holidays in the data of a ConfigMap. Whatever is wrong with it becomes a problem of it."""
    listed, calendars = _parts(data)
    if (refusal := _too_much(listed, calendars)) is not None:
        return Reading(DaysOff.of({}, (refusal,)))
    dates: dict[date, str] = {}
    problems: list[Problem] = []
    slow = False
    for part in (listed, *({key: text} for key, text in calendars.items())):
        if not part:
            continue
        try:
            found = await _ask(child, part, years)
        except ChildError as error:
            slow = slow or isinstance(error, TooSlowError)
            problems.append(_expensive(next(iter(part))))
            if slow:
                problems += _unread(calendars, after=next(iter(part)))
                break
        else:
            dates |= {day: dates.get(day) or name for day, name in found.dates}
            problems += found.problems
    return Reading(DaysOff.of(dates, tuple(problems[:MOST_PROBLEMS])), slow)


async def read_once(data: Mapping[str, str], years: range) -> DaysOff:
    """The same for one who reads once, as a command does."""
    listed, calendars = _parts(data)
    if not calendars and _too_much(listed, calendars) is None:
        return DaysOff.of(*read_dates(listed, years))
    async with calendar_child() as child:
        return (await read(child, data, years)).days_off


def read_now(data: Mapping[str, str], years: range) -> DaysOff:
    """The same outside of any event loop."""
    return asyncio.run(read_once(data, years))


async def _ask(child: Child, part: Mapping[str, str], years: range) -> _Read:
    reply = msgspec.convert(await child.ask({"data": part, "years": (years.start, years.stop)}), _Read)
    if reply.error:
        raise ChildError(reply.error)
    return reply


def _parts(data: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Dates with what is shown of their values, and calendars."""
    listed = {key: value[:_LONGEST_VALUE] for key, value in data.items() if not is_calendar(key)}
    return listed, {key: value for key, value in data.items() if is_calendar(key)}


def _too_much(listed: Mapping[str, str], calendars: Mapping[str, str]) -> Problem | None:
    size = sum(len(key) + len(value) for part in (listed, calendars) for key, value in part.items())
    if size > MOST_CHARACTERS:
        return Problem(
            "data",
            size,
            f"it holds {size} characters of dates and calendars, and at most {MOST_CHARACTERS} are read",
            "Keep only the holidays of the next years in it.",
        )
    if len(calendars) > MOST_CALENDARS:
        return Problem(
            "data",
            len(calendars),
            f"it holds {len(calendars)} calendars, and at most {MOST_CALENDARS} are read",
            "Put them together into fewer.",
        )
    return None


def _expensive(key: str) -> Problem:
    return unreadable(key, f"it takes more than {SECONDS} s of computing, or too much memory", _SIMPLER)


def _unread(calendars: Mapping[str, str], *, after: str) -> Iterator[Problem]:
    """Those that come after one that took too long: to try each would let a ConfigMap take minutes."""
    keys = list(calendars)
    for key in keys[keys.index(after) + 1 :] if after in calendars else keys:
        yield unreadable(key, f"{after} before it takes too long", f"Mend or remove {after}.")
