"""Reads the ConfigMaps that schedules name for their holidays, each once for every version of it.

It is a controller of its own, because reading costs what a user has chosen. Of the processes that read, one
namespace has one at a time, and a namespace whose calendar took too long rests for a while: the calendars of
others are read meanwhile.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final, NamedTuple

import msgspec

from hibernator.api.core import CONFIG_MAPS, HOLIDAY_MAPS, HolidayMap
from hibernator.api.problem import Problem
from hibernator.controllers import shared
from hibernator.controllers.means import Means
from hibernator.controllers.shared import MISSING, DaysOffBook
from hibernator.kube.cache import Cache
from hibernator.kube.child import Child, ChildError, TooSlowError
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.errors import NotFound
from hibernator.schedule.holidays import (
    MOST_PROBLEMS,
    DaysOff,
    is_calendar,
    read_dates,
    unreadable,
    years_around,
)

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
        yield unreadable(key, f"{after} before it takes too long", f"Correct or remove {after}.")


REST_SECONDS: Final = 30.0  # for a namespace after a calendar that took too long
AGAIN_SECONDS: Final = 86_400.0  # the years that matter move on


class DaysOffReader:
    def __init__(
        self,
        client: Client,
        maps: Cache[HolidayMap],
        named_by: tuple[Cache[Any], ...],
        book: DaysOffBook,
        children: Sequence[Child],
        clock: Clock,
    ) -> None:
        self._client = client
        self._maps = maps
        self._named_by = named_by
        self._book = book
        self._idle = list(children)  # the last to be idle is the next to be asked: the others may never start
        self._clock = clock
        self._rests: dict[str, float] = {}  # until when, by namespace

    def is_named(self, key: Key) -> bool:
        """Whether any schedule takes its holidays from this ConfigMap."""
        name = f"{key.namespace}/{key.name}"
        return any(cache.find(shared.BY_HOLIDAYS, name) for cache in self._named_by)

    async def reconcile(self, key: Key) -> Result:
        if not self.is_named(key):
            self._book.drop(key)
            return Result()
        year = self._clock.now().to_tz("UTC").year
        years = years_around(year, year)
        known, found = self._book.get(*key), self._maps.get(*key)
        version = _version(found, years) if found else MISSING.version
        if known and known.version == version:
            return Result(AGAIN_SECONDS)
        if found is None:
            self._book.put(key, MISSING)
            return Result()
        if (rest := self._rests.get(key.namespace, 0.0) - self._clock.monotonic()) > 0:
            return Result(rest)
        await self._read(key, years)
        return Result(AGAIN_SECONDS)

    async def _read(self, key: Key, years: range) -> None:
        try:
            found = await self._client.get(CONFIG_MAPS, key.name, key.namespace)
        except NotFound:
            self._book.put(key, MISSING)
            return
        child = self._idle.pop()
        try:
            days_off, slow = await read(child, found.data, years)
        finally:
            self._idle.append(child)
        if slow:
            self._rests[key.namespace] = self._clock.monotonic() + REST_SECONDS
        else:
            self._rests.pop(key.namespace, None)
        self._book.put(key, replace(days_off, version=_version(found, years)))


def holiday_controller(means: Means, children: Sequence[Child]) -> Controller:
    """The controller with its watches: which ConfigMaps there are, and who names them. A worker per child."""
    maps = means.caches.of(HOLIDAY_MAPS)
    schedules = shared.scalers(means.caches), shared.plans(means.caches)
    reader = DaysOffReader(means.client, maps, schedules, means.days_off, children, means.clock)

    def of_map(found: HolidayMap) -> Iterator[Key]:
        key = Key(found.metadata.namespace, found.metadata.name)
        if reader.is_named(key):
            yield key

    return means.controller(
        "holidays",
        reader.reconcile,
        [Watches(maps, of_map), *(Watches(cache, shared.holiday_maps_of) for cache in schedules)],
        workers=len(children),
        of_one_namespace=1,
    )


def _version(found: Any, years: range) -> str:
    return f"{found.metadata.uid}/{found.metadata.resource_version}/{years.start}"
