"""Where holidays come from: listed dates, iCalendar texts, and the `holidays` library for countries.

Recurring events and public holidays never end: they are computed for the years that are asked for.
"""

import difflib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol

from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import date_of, day_of

MOST_EVENTS = 2000  # in one calendar; that of a country has some twenty a year

_OFTEN = {"SECONDLY", "MINUTELY", "HOURLY"}
_LONGEST_NAME = 80
_PASTE = "Paste an iCalendar file (BEGIN:VCALENDAR) with all-day events."


class Calendar(Protocol):
    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        """The holidays among the days from first to last, both included."""


class Listed:
    """Dates that someone wrote down."""

    __slots__ = ("_days", "_names")

    def __init__(self, dates: Mapping[date, str]) -> None:
        named = sorted((day_of(day), name) for day, name in dates.items())
        self._days = [day for day, _ in named]
        self._names = [name for _, name in named]

    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        i, j = bisect_left(self._days, first), bisect_right(self._days, last)
        return zip(self._days[i:j], self._names[i:j], strict=True)


class Country:
    """The public holidays of a country or of a part of it, observed days included, a year at a time."""

    def __init__(self, country: str, subdivision: str | None) -> None:
        self._country = country
        self._subdivision = subdivision
        self._years: dict[int, Listed] = {}

    def between(self, first: int, last: int) -> Iterable[tuple[int, str]]:
        years = range(date_of(first).year, date_of(last).year + 1)
        return (named for year in years for named in self._year(year).between(first, last))

    def _year(self, year: int) -> Listed:
        if year not in self._years:
            import holidays  # takes longer to import than all the rest; most schedules name no country

            found = holidays.country_holidays(self._country, subdiv=self._subdivision, years=year)
            self._years[year] = Listed(dict(found.items()))
        return self._years[year]


def expanded(text: str, years: range) -> dict[date, str]:
    """The all-day events of an iCalendar text in these years, with their recurrences.

    A few hundred bytes can say what takes minutes to expand. So this belongs into a process that has bounds,
    and never onto an event loop.
    """
    try:
        return dict(_all_day_events(text, years))
    except (ScheduleError, MemoryError):
        raise
    except OverflowError as error:
        raise ScheduleError(
            "an event in it reaches to the first or the last year of the calendar",
            "Let each event begin and end within a few years of today.",
        ) from error
    except Exception as error:
        raise ScheduleError(
            "it is no iCalendar file, or an event in it has a date or a rule that does not exist",
            _PASTE,
        ) from error


def _all_day_events(text: str, years: range) -> Iterator[tuple[date, str]]:
    import icalendar
    import recurring_ical_events

    calendars = icalendar.Calendar.from_ical(text, multiple=True)
    events: list[Any] = [event for calendar in calendars for event in calendar.walk("VEVENT")]
    _check(events)
    first, following = date(years.start, 1, 1), date(years.stop, 1, 1)
    for calendar in calendars:
        for event in recurring_ical_events.of(calendar).between(first, following):
            start, end = event.start, event.end
            if isinstance(start, datetime) or str(event.get("STATUS", "")).upper() == "CANCELLED":
                continue
            days = range(day_of(max(start, first)), day_of(min(end, following)))
            name = one_line(str(event.get("SUMMARY", "")))
            yield from ((date_of(day), name) for day in days)


def _check(events: list[Any]) -> None:
    fix = "Keep only the holidays in it, as all-day events."
    if len(events) > MOST_EVENTS:
        raise ScheduleError(f"it has {len(events)} events, and at most {MOST_EVENTS} are read", fix)
    if all(isinstance(event.start, datetime) for event in events):
        raise ScheduleError("it has no all-day event", _PASTE)
    for event in events:
        rules = event.get("RRULE", ())
        for rule in rules if isinstance(rules, list) else [rules]:
            if rule and {str(value).upper() for value in rule.get("FREQ", ())} & _OFTEN:
                raise ScheduleError("an event in it repeats more than once a day", fix)


def one_line(text: str) -> str:
    """A name that is worth showing: short, and on one line."""
    text = text.strip()
    return text if len(text) <= _LONGEST_NAME and text.isprintable() else ""


@cache
def country(code: str, subdivision: str | None) -> Country:
    """The calendar of a country that the library knows; anything else is refused."""
    import holidays
    from holidays.registry import COUNTRIES, EntityLoader

    # The library's own list of everything imports 250 modules. This imports the one that is asked for.
    known = frozenset(EntityLoader.get_country_codes())
    if code not in known:
        named = {name: code for name, code, *_ in COUNTRIES.values()}
        fix = _fix(code, {each: each for each in known} | named, "DE")
        raise ScheduleError(f"{code!r} is not a country whose holidays are known", fix)
    parts = tuple(getattr(holidays, code).subdivisions)
    if subdivision is not None and subdivision not in parts:
        named = {each: each for each in parts} | getattr(holidays, code).subdivisions_aliases
        fix = _fix(subdivision, named, parts[0]) if parts else "Leave it out; no parts of it are known."
        raise ScheduleError(f"{subdivision!r} is not a part of {code} with holidays of its own", fix)
    return Country(code, subdivision)


@cache
def library_version() -> str:
    """The release of the `holidays` library, which is the release of what it knows about countries."""
    return version("holidays")


def _fix(written: str, codes: Mapping[str, str], example: str) -> str:
    """By its code, or by the name that people write for it."""
    folded = {name.casefold(): code for name, code in codes.items()}
    close = difflib.get_close_matches(written.casefold(), folded, n=1)
    return f"Did you mean {folded[close[0]]}?" if close else f"Write a code such as {example}."
