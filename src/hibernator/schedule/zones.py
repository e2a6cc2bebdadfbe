"""What the clocks on the walls of a zone show, and when they show it.

DESIGN ruling 4 in one place: a time of day becomes an instant either as the *first* instant at which the
clock reads it or later (where windows start), or as the *last* instant at which the clock passes it (where
windows end). Both are the same instant except around a change of the clock.

A zone is a list of stretches with one UTC offset each, learned from `whenever` a few years at a time and
shared by all schedules in that zone.

A stretch of time by the months of a zone, as an accountant there would file it.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from whenever import Instant, ZonedDateTime, available_timezones

from hibernator.schedule.errors import UnknownTimezoneError
from hibernator.schedule.spans import Span, Spans, union
from hibernator.schedule.ticks import DAY, FIRST, LAST, SECOND, to_instant
from hibernator.schedule.words import DAYS

Stretch = tuple[int, int, int]  # from, to, and what to add to an instant for the local reading

_BLOCK = 1 << 47  # ticks: four and a half years, some nine changes of the clock
# Abbreviations that people write for a zone, and the zone that most of them mean.
_MEANT = {
    "AEDT": "Australia/Sydney",
    "AEST": "Australia/Sydney",
    "BST": "Europe/London",
    "CDT": "America/Chicago",
    "CST": "America/Chicago",
    "EDT": "America/New_York",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MDT": "America/Denver",
    "PDT": "America/Los_Angeles",
    "PST": "America/Los_Angeles",
    "SGT": "Asia/Singapore",
    "WIB": "Asia/Jakarta",
}
_LONGEST_ABBREVIATION = 5
_LONGEST_NAME = 64  # in the CRD; that of a zone has at most 32
_WRITE_IANA = "Write an IANA name such as Europe/Berlin or UTC."
_OFFSET = re.compile(r"(?:UTC|GMT)?[+-]\d{1,2}(?::?\d\d)?", re.ASCII)
_OF_WINDOWS = " standard time"  # the end of the names that Windows has for zones
_LARGEST_CHANGE = DAY  # whole days have been skipped, but never more


class Zone:
    __slots__ = ("_blocks", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._blocks: dict[int, list[Stretch]] = {}

    def stretches(self, lo: int, hi: int) -> list[Stretch]:
        """The stretches of one offset that [lo, hi) touches, in order, whole or cut somewhere outside it."""
        first, last = lo // _BLOCK, hi // _BLOCK
        if first == last:
            return [stretch for stretch in self._block(first) if stretch[0] < hi and stretch[1] > lo]
        return _merged(
            stretch
            for number in range(first, last + 1)
            for stretch in self._block(number)
            if stretch[0] < hi and stretch[1] > lo
        )

    def steady(self, lo: int, hi: int) -> list[tuple[int, int, int | None]]:
        """Cut [lo, hi) into parts with one offset each, and parts (None) near a change of the clock.

        Near is as far as the clock is moved: no edge that is further away falls on another instant by it.
        """
        stretches = self.stretches(lo - _LARGEST_CHANGE, hi + _LARGEST_CHANGE)
        if len(stretches) == 1:
            return [(lo, hi, stretches[0][2])]
        parts: list[tuple[int, int, int | None]] = []
        at, offset = lo, stretches[0][2]
        for (_, change, before), (_, _, after) in pairwise(stretches):
            near = abs(after - before)
            start, end = max(change - near, at), min(change + near, hi)
            if start >= hi:
                break
            if at < end:
                if at < start:
                    parts.append((at, start, before))
                parts.append((start, end, None))
                at = end
            offset = after
        if at < hi:
            parts.append((at, hi, offset))
        return parts

    def calm(self, ticks: int) -> Stretch:
        """The stretch around an instant, less what is near a change of the clock, which may be all of it."""
        start, end, offset = next(stretch for stretch in self._block(ticks // _BLOCK) if ticks < stretch[1])
        return max(start + _LARGEST_CHANGE, FIRST), min(end - _LARGEST_CHANGE, LAST), offset

    def day(self, day: int) -> Spans:
        """All instants with this local date: no span, one, or more if the clock steps back over midnight."""
        reading = day * DAY
        stretches = self.stretches(reading - DAY, reading + 2 * DAY)
        if len(stretches) == 1:
            return ((reading - stretches[0][2], reading + DAY - stretches[0][2]),)
        return union(
            (max(start, reading - offset), min(end, reading + DAY - offset))
            for start, end, offset in stretches
        )

    def reading(self, ticks: int) -> int:
        """What the local clock shows at an instant."""
        return ticks + self.stretches(ticks, ticks + 1)[0][2]

    def _block(self, number: int) -> list[Stretch]:
        block = self._blocks.get(number)
        if block is None:
            block = self._blocks[number] = _merged(self._learn(number * _BLOCK, (number + 1) * _BLOCK))
        return block

    def _learn(self, lo: int, hi: int) -> Iterator[Stretch]:
        local = _within_calendar(lo).to_tz(self.name)
        while lo < hi:
            offset = int(local.offset.total("seconds")) * SECOND
            following = local.next_transition()
            end = hi if following is None else min(hi, following.timestamp() * SECOND)
            yield lo, end, offset
            lo, local = end, following or local


def first_at(reading: int, stretches: list[Stretch]) -> int:
    """The first instant at which the local clock reads this or later. Give all stretches a day around it."""
    if len(stretches) == 1:
        return reading - stretches[0][2]
    return min(max(start, reading - offset) for start, end, offset in stretches if reading - offset < end)


def last_at(reading: int, stretches: list[Stretch]) -> int:
    """The last instant at which the local clock passes this: from then on it never reads less."""
    if len(stretches) == 1:
        return reading - stretches[0][2]
    return max(min(end, reading - offset) for start, end, offset in stretches if reading - offset > start)


def _within_calendar(ticks: int) -> Instant:
    """The instant, or the nearest one that has a date in every zone."""
    return to_instant(min(max(ticks, FIRST + DAY), LAST - DAY))


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """A zone may change its name without its clock, and blocks end anywhere: join what has one offset."""
    found: list[Stretch] = []
    for stretch in stretches:
        if found and found[-1][2] == stretch[2]:
            found[-1] = (found[-1][0], stretch[1], stretch[2])
        else:
            found.append(stretch)
    return found


@cache
def zone_of(name: str) -> Zone:
    """The zone of that name, always the same one."""
    if name not in _known():
        raise UnknownTimezoneError(*_unknown(name))
    return Zone(name)


@cache
def _known() -> frozenset[str]:
    return frozenset(available_timezones())


@cache
def _folded() -> dict[str, str]:
    return {known.casefold(): known for known in _known()}


def _unknown(name: str) -> tuple[str, str]:
    if len(name) > _LONGEST_NAME:
        return f"{name[:_LONGEST_NAME]!r}… is not a zone in the IANA time zone database", _WRITE_IANA
    if name.isalpha() and len(name) <= _LONGEST_ABBREVIATION and name.casefold() not in _folded():
        place = _MEANT.get(name.upper(), "Europe/Berlin")
        return f"{name!r} is not a zone in the IANA time zone database", f"Use an IANA zone such as {place}."
    if _OFFSET.fullmatch(name.upper()) or name.casefold().endswith(_OF_WINDOWS):
        use = "Use an IANA zone such as Europe/Berlin, which knows its summer time."
        return f"{name!r} is not a zone in the IANA time zone database", use
    folded = _folded()
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    fix = f"Did you mean {folded[close[0]]}?" if close else _WRITE_IANA
    return f"{name!r} is not a zone in the IANA time zone database", fix


def local_text(zone: Zone, ticks: int) -> str:
    """An instant for people, on the local clock: `Fri 2026-01-30 06:00`."""
    local = _within_calendar(ticks).to_tz(zone.name)
    return f"{DAYS[local.day_of_week().value - 1]} {local.format('YYYY-MM-DD HH:mm')}"


_DECEMBER = 12


class Part(NamedTuple):
    month: str  # `2026-03`
    seconds: int


def by_month(span: Span, zone: str) -> Iterator[Part]:
    """The parts of a span of seconds since the epoch; months begin at midnight in the zone.

    A zone that is unknown here, because it was another version that knew it, counts as UTC.
    """
    start, end = span
    name = known_zone(zone)
    while start < end:
        local = Instant.from_timestamp(start).to_tz(name)
        year, month = (local.year + 1, 1) if local.month == _DECEMBER else (local.year, local.month + 1)
        border = min(ZonedDateTime(year, month, 1, tz=name).timestamp(), end)
        yield Part(f"{local.year:04}-{local.month:02}", border - start)
        start = border


def day_and_month(at: Instant, zone: str) -> tuple[int, int]:
    """When the day and the month began in the zone, in seconds since the epoch; likewise."""
    name = known_zone(zone)
    local = at.to_tz(name)
    month = ZonedDateTime(local.year, local.month, 1, tz=name)
    return local.start_of("day").timestamp(), month.timestamp()


def known_zone(zone: str) -> str:
    """The name of the zone, or UTC where there is no such zone here."""
    try:
        return zone_of(zone).name
    except UnknownTimezoneError:
        return "UTC"
