"""Which days are holidays for a schedule, from all its sources together.

One of them is a ConfigMap: keys that are dates, and calendars, of the years that matter. Its size and cost
are a user's to choose, so that it is read in a process with bounds, once for all schedules that name it, and
comes to the timelines as plain dates.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from hibernator.api.hibernateplan import PlanHolidays
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import ScalerHolidays
from hibernator.schedule.calendars import Calendar, Listed, country, expanded, one_line
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.spans import Spans, union
from hibernator.schedule.ticks import DAY, date_of, day_of
from hibernator.schedule.zones import Zone

CALENDAR: Final = ".ics"  # what the key of a calendar ends in
MOST_PROBLEMS: Final = 8  # so many keys that mean nothing are reported

_ISO_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# A timeline looks some 400 days ahead, and at a long grace period three years back.
_BACK, _AHEAD = 4, 4


@dataclass(frozen=True, slots=True, eq=False)
class DaysOff:
    """The holidays of a ConfigMap, and what in it could not be read."""

    calendar: Listed
    problems: tuple[Problem, ...] = ()
    version: str = ""  # of the ConfigMap, and of which years
    exists: bool = True

    @classmethod
    def of(cls, dates: Mapping[date, str], problems: tuple[Problem, ...] = ()) -> "DaysOff":
        return cls(Listed(dates), problems)


def years_around(first: int, last: int) -> range:
    """The years whose holidays matter to someone who looks at these two and what lies between."""
    return range(max(first - _BACK, date.min.year + 1), min(last + _AHEAD, date.max.year - 2) + 1)


def is_calendar(key: str) -> bool:
    return key.endswith(CALENDAR)


def read_dates(data: Mapping[str, str], years: range) -> tuple[dict[date, str], tuple[Problem, ...]]:
    """All of it. What cannot be read is left out and reported."""
    dates: dict[date, str] = {}
    problems: list[Problem] = []
    for key, value in data.items():
        try:
            for day, name in _entry(key, value, years):
                dates[day] = dates.get(day) or name
        except ScheduleError as error:
            if len(problems) < MOST_PROBLEMS:
                problems.append(unreadable(key, error.message, error.fix))
    return dates, tuple(problems)


def unreadable(key: str, message: str, fix: str) -> Problem:
    if is_calendar(key):
        message = f"the calendar cannot be read: {message}"
    return Problem(f'data["{key}"]', key, message, fix)


def _entry(key: str, value: str, years: range) -> Iterator[tuple[date, str]]:
    if is_calendar(key):
        yield from expanded(value, years).items()
    elif (day := _iso_date(key)).year in years:
        yield day, one_line(value)  # the values of dates mean nothing, but a short line is worth showing


def _iso_date(key: str) -> date:
    try:
        if _ISO_DATE.fullmatch(key):
            return date.fromisoformat(key)
    except ValueError:
        pass
    raise ScheduleError(
        f"{key!r} is neither a date nor a calendar",
        "Name the key as a date (yyyy-mm-dd), or let it end in .ics and hold an iCalendar file.",
    )


_FIRST, _LAST = day_of(date.min), day_of(date.max)


class Holidays:
    """Days and their names. Dates are local: which instants they cover depends on the zone."""

    __slots__ = ("_calendars",)

    def __init__(self, calendars: Iterable[Calendar] = ()) -> None:
        self._calendars = tuple(calendars)

    @classmethod
    def on(cls, *dates: date) -> "Holidays":
        return cls([Listed(dict.fromkeys(dates, ""))])

    def named(self, first: int, last: int) -> dict[int, str]:
        """The holidays among the days from first to last, both included; the first name counts."""
        first, last = max(first, _FIRST), min(last, _LAST)
        found: dict[int, str] = {}
        for calendar in self._calendars:
            for day, name in calendar.between(first, last):
                found[day] = found.get(day) or name
        return found

    def spans(self, zone: Zone, lo: int, hi: int) -> Spans:
        """All instants in [lo, hi), and some around it, whose local date is a holiday."""
        days = self.named(lo // DAY - 2, hi // DAY + 2)
        return union(*map(zone.day, days)) if days else ()

    def near(self, lo: int, hi: int) -> bool:
        """Whether any holiday can touch [lo, hi], whatever the zone."""
        return bool(self.named(lo // DAY - 2, hi // DAY + 2))

    def covers(self, zone: Zone, ticks: int) -> bool:
        day = zone.reading(ticks) // DAY
        return day in self.named(day, day)

    def text(self, zone: Zone, ticks: int) -> str:
        """What day it is: `2026-12-25 is a holiday (Christmas Day)`, `2026-12-23 is not a holiday`."""
        day = zone.reading(ticks) // DAY
        name = self.named(day, day).get(day)
        if name is None:
            return f"{date_of(day)} is not a holiday"
        return f"{date_of(day)} is a holiday ({name})" if name else f"{date_of(day)} is a holiday"


NO_HOLIDAYS = Holidays()


def load_holidays(
    block: PlanHolidays | ScalerHolidays | None, days_off: DaysOff | None = None
) -> tuple[Holidays, tuple[Problem, ...]]:
    """The holidays that a schedule names, from its ConfigMap, which was read before, and from its country.

    What cannot be read is left out and reported; paths are those of the ConfigMap (`data[…]`) or of the block
    (`country`). Whether the ConfigMap exists is for the caller to know.
    """
    if block is None:
        return NO_HOLIDAYS, ()
    problems = tuple(check_country(block))
    named = (block.country, block.subdivision) if block.country and not problems else (None, None)
    return _together(days_off, *named), ((*days_off.problems, *problems) if days_off else problems)


@lru_cache(maxsize=1024)
def _together(days_off: DaysOff | None, code: str | None, subdivision: str | None) -> Holidays:
    """One for all who have the same sources, as whole fleets do."""
    calendars: list[Calendar] = [days_off.calendar] if days_off else []
    return Holidays([*calendars, country(code, subdivision)] if code else calendars)


def check_country(block: PlanHolidays | ScalerHolidays) -> Iterator[Problem]:
    """What is wrong with the country and its part, if anything."""
    if block.country is None:
        if block.subdivision is not None:
            yield Problem(
                "subdivision",
                block.subdivision,
                "its country is missing",
                "Set country too, for example DE.",
            )
        return
    for path, value, part in (
        ("country", block.country, None),
        ("subdivision", block.subdivision, block.subdivision),
    ):
        try:
            country(block.country, part)
        except ScheduleError as error:
            yield Problem(path, value, error.message, error.fix)
            return
