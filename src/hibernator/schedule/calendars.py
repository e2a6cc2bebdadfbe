"""Where holidays come from: listed dates, iCalendar texts, and the `holidays` library for countries.

Recurring events and public holidays never end, so they are computed a year at a time, when asked for.
"""

import difflib
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, Protocol

from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import date_of, day_of

_OFTEN = {"SECONDLY", "MINUTELY", "HOURLY"}


class Calendar(Protocol):
    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        """The holidays among the days from first to last, both included."""


class Listed:
    """Dates that somebody wrote down."""

    __slots__ = ("_days", "_names")

    def __init__(self, dates: Mapping[date, str]) -> None:
        named = sorted((day_of(day), name) for day, name in dates.items())
        self._days = [day for day, _ in named]
        self._names = [name for _, name in named]

    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        i, j = bisect_left(self._days, first), bisect_right(self._days, last)
        return zip(self._days[i:j], self._names[i:j], strict=True)


class _ByYear(ABC):
    """A calendar that is computed a year at a time."""

    def __init__(self) -> None:
        self._years: dict[int, Listed] = {}

    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        years = range(date_of(first).year, date_of(last).year + 1)
        return (named for year in years for named in self.year(year).between(first, last))

    def year(self, year: int) -> Listed:
        if year not in self._years:
            self._years[year] = Listed(dict(self._compute(year)))
        return self._years[year]

    @abstractmethod
    def _compute(self, year: int) -> Iterable[tuple[date, str]]: ...


class Country(_ByYear):
    """The public holidays of a country or of a part of it, observed days included."""

    def __init__(self, country: str, subdivision: str | None) -> None:
        super().__init__()
        self._country = country
        self._subdivision = subdivision

    def _compute(self, year: int) -> Iterable[tuple[date, str]]:
        import holidays  # takes longer to import than all the rest; most schedules name no country

        return holidays.country_holidays(self._country, subdiv=self._subdivision, years=year).items()


class Events(_ByYear):
    """The all-day events of an iCalendar text, with their recurrences."""

    def __init__(self, text: str) -> None:
        super().__init__()
        import icalendar
        import recurring_ical_events

        calendars = icalendar.Calendar.from_ical(text, multiple=True)
        events: list[Any] = [event for calendar in calendars for event in calendar.walk("VEVENT")]
        for event in events:
            _refuse_frequent(event)
        self._queries = [recurring_ical_events.of(calendar) for calendar in calendars]
        starts = [event.start for event in events]
        if all(isinstance(start, datetime) for start in starts):
            raise ValueError("it has no all-day event")
        self.year(min(start.year for start in starts))  # what cannot be computed shows itself here, not later

    def _compute(self, year: int) -> Iterable[tuple[date, str]]:
        if year in {date.min.year, date.max.year}:
            return  # the library looks a little beyond each year, and there is nothing beyond these
        first, following = date(year, 1, 1), date(year + 1, 1, 1)
        for query in self._queries:
            for event in query.between(first, following):
                start, end = event.start, event.end
                if isinstance(start, datetime) or str(event.get("STATUS", "")).upper() == "CANCELLED":
                    continue
                days = range(day_of(max(start, first)), day_of(min(end, following)))
                yield from ((date_of(day), str(event.get("SUMMARY", ""))) for day in days)


def _refuse_frequent(event: Any) -> None:
    """A rule that repeats within a day says nothing about days and takes for ever to expand."""
    rules = event.get("RRULE", ())
    for rule in rules if isinstance(rules, list) else [rules]:
        if rule and {str(value).upper() for value in rule.get("FREQ", ())} & _OFTEN:
            raise ValueError("an event in it repeats more than once a day")


@lru_cache(maxsize=256)
def events(text: str) -> Events:
    """Read an iCalendar text; the same text is read once."""
    try:
        return Events(text)
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ScheduleError(
            f"the calendar cannot be read: {reason}",
            "Paste an iCalendar file (BEGIN:VCALENDAR) with all-day events.",
        ) from error


@cache
def country(code: str, subdivision: str | None) -> Country:
    """The calendar of a country that the library knows; anything else is refused."""
    import holidays

    known = holidays.list_supported_countries()
    if code not in known:
        raise ScheduleError(f"{code!r} is not a country whose holidays are known", _fix(code, known, "DE"))
    if subdivision is not None and subdivision not in known[code]:
        raise ScheduleError(
            f"{subdivision!r} is not a part of {code} with holidays of its own",
            _part(subdivision, known[code]),
        )
    return Country(code, subdivision)


def library_version() -> str:
    """The release of the `holidays` library, which is the release of what it knows."""
    return version("holidays")


def _part(written: str, known: list[str]) -> str:
    return _fix(written, known, known[0]) if known else "Leave it out; no parts of this country are known."


def _fix(written: str, known: Mapping[str, Any] | list[str], example: str) -> str:
    folded = {code.casefold(): code for code in known}
    close = difflib.get_close_matches(written.casefold(), folded, n=1)
    return f"Did you mean {folded[close[0]]}?" if close else f"Write a code such as {example}."
