"""Times as people write them, after any option of any command and in the forms of pages.

There is one language for all of them:

- `2026-11-20T07:00:00Z` and `2026-11-20T07:00+01:00` are instants;
- `2026-11-20 07:00`, `2026-11-20`, `tomorrow 07:00`, `fri 18:00` and `07:00` are read on the local clock of
  whatever the command is about, which is that of the plan, unless a zone such as Europe/Berlin follows;
- `4h`, `1h30m` and `2d` are counted from now, days on the local clock.

A day without a time is its beginning. A time without a day, and a day of the week, is the next one, or the
last one where a command looks back. A time that the clock skips is the moment at which it is skipped.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol, TypeVar

from whenever import Date, Instant

from hibernator.schedule.errors import FORMS, ScheduleError, TimeError, UnknownTimezoneError
from hibernator.schedule.spoken import shown
from hibernator.schedule.ticks import DAY, HOUR, MINUTE, SECOND, day_of, from_instant, to_instant, weekday_of
from hibernator.schedule.words import read_day
from hibernator.schedule.zones import Zone, first_at, zone_of

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
class TimeOfDay:
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


T = TypeVar("T")

FIRST_YEAR, LAST_YEAR = 1970, 2199
_HINT: Final = f"Write it as {FORMS}."
_NOTHING: Final = '""'

_INSTANT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(z|[+-]\d\d:?\d\d)", re.ASCII
)
_LENGTH: Final = re.compile(r"(?:\d{1,9}[wdhms])+", re.ASCII)
_PART: Final = re.compile(r"(\d+)([wdhms])", re.ASCII)
_TIME: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?|(24):00", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TICKS: Final = {"h": HOUR, "m": MINUTE, "s": SECOND}
_DAYS: Final = {"w": 7, "d": 1}
_FROM_TODAY: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}


@dataclass(frozen=True, slots=True)
class Moment:
    """What was given after an option."""

    option: str
    text: str
    reading: Reading
    zone: str = ""  # where it names one itself
    back: bool = False

    def seen_from(self, zone: str, now: Instant) -> Instant:
        """The instant that is meant by someone who lives by that zone's clock."""
        try:
            ticks = self.reading.at(zone_of(self.zone or zone), from_instant(now), back=self.back)
            instant = to_instant(ticks)
            year = instant.to_tz("UTC").year
        except (ValueError, OverflowError):
            year = 0
        if not FIRST_YEAR <= year <= LAST_YEAR:
            words = f"{self.option} {self.text}: only the years {FIRST_YEAR} to {LAST_YEAR} can be used."
            raise TimeError(words)
        return instant

    def ahead(self, zone: str, now: Instant) -> Instant:
        """The same, where only what is still to come makes sense."""
        instant = self.seen_from(zone, now)
        if instant <= now:
            words = f"{self.option} {self.text}: {shown(instant, self.zone or zone)} is in the past."
            raise TimeError(words, hint="Give a time that is still to come.")
        return instant


def parse(option: str, text: str | None, *, back: bool = False) -> Moment | None:
    """Understand a time, or raise TimeError with a sentence that says how to write one.

    `back` is for commands that look at what was: `4h` is so long ago, and `07:00` the last one.
    """
    if text is None:
        return None
    try:
        words, zone = _zone_apart(" ".join(text.split()))
        reading = _reading(words.casefold())
    except ValueError as error:
        raise TimeError(f"{option} {text or _NOTHING}: {error}.", hint=_hint(text)) from error
    return Moment(option, text, reading, zone, back)


def _hint(text: str) -> str:
    """How to write it, or which zone to write where an abbreviation such as CEST stands for one."""
    words, _, last = text.strip().rpartition(" ")
    if not (words and last.isalpha() and last.isupper()):
        return _HINT
    try:
        zone_of(last)
    except UnknownTimezoneError as error:
        return error.fix
    return "Write the zone with its area, such as America/New_York."


def length(option: str, text: str) -> Moment:
    """Understand what only a length of time may follow, such as `--for`."""
    words = text.strip().casefold()
    found = _length(words) if _LENGTH.fullmatch(words) else AfterNow(0, 0)
    if not found.days + found.ticks:
        hint = "Write it as 30m, 4h, 1h30m or 2d."
        raise TimeError(f"{option} {text}: this is not a length of time.", hint=hint)
    return Moment(option, text, found)


def seconds(option: str, text: str) -> float:
    """A length of time in which the clock of no zone has a part."""
    start = Instant.from_timestamp(0)
    return (length(option, text).seen_from("UTC", start) - start).total("seconds")


def _zone_apart(text: str) -> tuple[str, str]:
    """What was written, and the zone at its end if there is one."""
    words, _, last = text.rpartition(" ")
    if "/" not in last and last != "UTC":
        return text, ""
    try:
        return words, zone_of(last).name
    except ScheduleError as error:
        raise ValueError(error.message) from error


def _reading(text: str) -> Reading:
    if text == "now":
        return AfterNow(0, 0)
    if _LENGTH.fullmatch(text):
        return _length(text)
    if _INSTANT.fullmatch(text):
        return At(from_instant(_checked(Instant.parse_iso, text.upper().replace(",", "."))))
    if _DATE.match(text):
        text = text.replace("t", " ", 1)
    *days, last = text.split(" ")
    if time := _TIME.fullmatch(last):
        return _on(days, _time(time))
    return _on([*days, last], None)


def _on(days: list[str], time: int | None) -> Reading:
    """A time on the days that were named before it; without a time, their beginning."""
    ticks = time or 0
    match days:
        case [] if time is not None:
            return TimeOfDay(ticks)
        case [word] if word in _FROM_TODAY:
            return FromToday(_FROM_TODAY[word], ticks)
        case [word] if _DATE.fullmatch(word):
            return Day(_date(word), ticks)
        case [word] if (number := _weekday(word)) is not None:
            return Weekday(number, ticks)
        case [word, date] if _DATE.fullmatch(date) and (number := _weekday(word)) is not None:
            if weekday_of(day := _date(date)) != number:
                raise ValueError(f"{date} is not a {word.capitalize()}")
            return Day(day, ticks)
    raise ValueError("this is not a time")


def _length(text: str) -> AfterNow:
    parts = [(int(number), unit) for number, unit in _PART.findall(text)]
    return AfterNow(
        sum(number * _DAYS.get(unit, 0) for number, unit in parts),
        sum(number * _TICKS.get(unit, 0) for number, unit in parts),
    )


def _time(found: re.Match[str]) -> int:
    hours, minutes, rest, end = found.groups()
    return DAY if end else int(hours) * HOUR + int(minutes) * MINUTE + int(rest or 0) * SECOND


def _date(text: str) -> int:
    return day_of(_checked(Date.parse_iso, text).to_stdlib())


def _weekday(text: str) -> int | None:
    try:
        return read_day(text)
    except ScheduleError:
        return None


def _checked(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError("there is no such time in the calendar") from error
