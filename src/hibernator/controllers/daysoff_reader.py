"""Reads the ConfigMaps that schedules name for their holidays, each once for every version of it.

It is a controller of its own, because reading costs what a user has chosen. Of the processes that read, one
namespace has one at a time, and a namespace whose calendar took too long rests for a while: the calendars of
others are read meanwhile.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from hibernator.api.core import CONFIG_MAPS, HOLIDAY_MAPS, HolidayMap
from hibernator.controllers import shared
from hibernator.controllers.daysoff import MISSING, DaysOffBook
from hibernator.controllers.daysoff_reading import read
from hibernator.controllers.means import Means
from hibernator.kube.cache import Cache
from hibernator.kube.child import Child
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result, Watches
from hibernator.kube.errors import NotFound
from hibernator.schedule.daysoff import years_around

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

    return Controller(
        "holidays",
        reader.reconcile,
        sources=[
            Watches(maps, of_map),
            *(Watches(cache, shared.holiday_maps_of) for cache in schedules),
        ],
        clock=means.clock,
        metrics=means.metrics,
        workers=len(children),
        of_one_namespace=1,
    )


def _version(found: Any, years: range) -> str:
    return f"{found.metadata.uid}/{found.metadata.resource_version}/{years.start}"
