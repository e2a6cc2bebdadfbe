"""The moments that people give to commands (`--from`, `--to`, `--at`) and the ranges made of them.

A moment is an RFC 3339 instant, or a plain date that means midnight on the wall clock of whatever is shown:
"from the first of March" is another instant in Jakarta than in New York.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from whenever import Date, Instant, PlainDateTime, Time

from hibernator.cli.exits import CliError, Exit
from hibernator.schedule.daysoff import years_around

T = TypeVar("T")

FIRST_YEAR, LAST_YEAR = 1970, 2199
MAX_DAYS = 5 * 366

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})")
_WITHOUT_ZONE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?")
_HINT = "Write it as 2026-03-01T08:00:00Z, as 2026-03-01T08:00:00+01:00, or as 2026-03-01 for local midnight."


@dataclass(frozen=True, slots=True)
class Moment:
    """What was given after an option."""

    option: str
    text: str
    value: Instant | Date

    def seen_from(self, zone: str) -> Instant:
        """The instant itself, or the midnight of the date in a zone."""
        return self.value if isinstance(self.value, Instant) else midnight(self.value, zone)


def midnight(day: Date, zone: str) -> Instant:
    """When the day begins on the local clock: after the gap, where midnight itself is skipped."""
    return day.at(Time(0, 0)).assume_tz(zone, disambiguation="compatible").start_of("day").to_instant()


def parse(option: str, text: str | None) -> Moment | None:
    """Understand a moment, or end the command with a sentence that says how to write one."""
    if text is None:
        return None
    try:
        value = _value(text)
    except ValueError as error:
        raise CliError(f"{option} {text}: {error}.", hint=_HINT, code=Exit.USAGE) from error
    if not FIRST_YEAR <= _year(value) <= LAST_YEAR:
        raise CliError(
            f"{option} {text}: only the years {FIRST_YEAR} to {LAST_YEAR} can be shown.", code=Exit.USAGE
        )
    return Moment(option, text, value)


def _value(text: str) -> Instant | Date:
    if _DATE.fullmatch(text):
        return _checked(Date.parse_iso, text)
    if _INSTANT.fullmatch(text):
        return _checked(Instant.parse_iso, text)
    if _WITHOUT_ZONE.fullmatch(text):
        _checked(PlainDateTime.parse_iso, text)
        raise ValueError("this moment does not say in which zone it is")
    raise ValueError("this is not a moment in time")


def _checked(read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError("there is no such moment in the calendar") from error


def years_of(now: Instant, *moments: Moment | None) -> range:
    """The years whose holidays matter to what is shown: around the moments, or around now."""
    years = [_year(moment.value) for moment in moments if moment] or [_year(now)]
    return years_around(min(years), max(years) + 1)


def _year(value: Instant | Date) -> int:
    return value.year if isinstance(value, Date) else value.to_tz("UTC").year


@dataclass(frozen=True, slots=True)
class Range:
    """What `--from` and `--to` say; what they leave open begins today and lasts `days` days."""

    start: Moment | None
    end: Moment | None
    days: int

    def seen_from(self, zone: str, now: Instant) -> tuple[Instant, Instant]:
        """The instants of the range for something that lives by that zone's clock."""
        start = self.start.seen_from(zone) if self.start else now.to_tz(zone).start_of("day").to_instant()
        end = self.end.seen_from(zone) if self.end else _later(start, zone, self.days)
        if end <= start:
            raise CliError(
                f"The range is empty: it would begin at {start} and end at {end}.",
                hint="Give a --to that is later than --from.",
                code=Exit.USAGE,
            )
        if (end - start).total("hours") > MAX_DAYS * 24:
            raise CliError(
                f"The range from {start} to {end} is longer than five years.",
                hint="Give a --from and a --to that are closer together.",
                code=Exit.USAGE,
            )
        return start, end


def _later(start: Instant, zone: str, days: int) -> Instant:
    """As many days later on the wall clock: a day with a change of the clock has 23 or 25 hours."""
    return start.to_tz(zone).add(days=days, disambiguation="compatible").to_instant()
