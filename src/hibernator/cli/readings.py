"""What a time on the command line may be, and the instant that it means on the clock of a zone."""

from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from hibernator.schedule.ticks import DAY, from_instant, to_instant, weekday_of
from hibernator.schedule.zones import Zone, first_at

_WEEK = 7


class Reading(Protocol):
    """A time without the clock on which it is read."""

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        """The instant that is meant; `back` where it is in the past, if that is left open."""


@dataclass(frozen=True, slots=True)
class At:
    """An instant: the same on all clocks."""

    ticks: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        del zone, now, back
        return self.ticks


@dataclass(frozen=True, slots=True)
class AfterNow:
    """So many days on the local clock, and so much more."""

    days: int
    ticks: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        sign = -1 if back else 1
        local = to_instant(now).to_tz(zone.name).add(days=sign * self.days, disambiguation="compatible")
        return from_instant(local.to_instant()) + sign * self.ticks


@dataclass(frozen=True, slots=True)
class Day:
    """A time on a day of the calendar."""

    day: int
    time: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        del now, back
        return _first(zone, self.day * DAY + self.time)


@dataclass(frozen=True, slots=True)
class FromToday:
    """A time on a day that is counted from the one that the local clock shows."""

    days: int
    time: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        del back
        return _first(zone, (zone.reading(now) // DAY + self.days) * DAY + self.time)


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of the day: when the local clock shows it next, or showed it last."""

    time: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        today = zone.reading(now) // DAY
        return _nearest(zone, [day * DAY + self.time for day in range(today - 2, today + 3)], now, back=back)


@dataclass(frozen=True, slots=True)
class Weekday:
    """A time on a day of the week: the next one, or the last one."""

    number: int  # Monday is 0
    time: int

    def at(self, zone: Zone, now: int, *, back: bool) -> int:
        today = zone.reading(now) // DAY
        monday = today - weekday_of(today) + self.number
        days = (monday + weeks * _WEEK for weeks in range(-2, 3))
        return _nearest(zone, [day * DAY + self.time for day in days], now, back=back)


def _first(zone: Zone, reading: int) -> int:
    """The first instant at which the local clock shows this or later."""
    return first_at(reading, zone.stretches(reading - 2 * DAY, reading + 2 * DAY))


def _nearest(zone: Zone, readings: list[int], now: int, *, back: bool) -> int:
    passes = list(chain.from_iterable(_passes(zone, reading) for reading in readings))
    return max(at for at in passes if at <= now) if back else min(at for at in passes if at > now)


def _passes(zone: Zone, reading: int) -> list[int]:
    """Every instant at which the local clock comes to show this, or jumps over it."""
    found, shown = [], None
    for start, end, offset in zone.stretches(reading - 2 * DAY, reading + 2 * DAY):
        exact = reading - offset
        if start <= exact < end:
            found.append(exact)
        elif shown is not None and start + shown <= reading < start + offset:
            found.append(start)
        shown = offset
    return found
