"""What a ConfigMap says about holidays: keys that are dates, and calendars, of the years that matter.

The size and the cost of it are a user's to choose, so that it is read in a process with bounds, once for
everybody who names the ConfigMap, and comes to the timelines as plain dates.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from hibernator.api.problem import Problem
from hibernator.schedule.calendars import Listed, expanded, one_line
from hibernator.schedule.errors import ScheduleError

CALENDAR: Final = ".ics"  # what the key of a calendar ends in
MOST_PROBLEMS: Final = 8  # so many keys that mean nothing are told of

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
    """The years whose holidays matter to somebody who looks at these two and what lies between."""
    return range(max(first - _BACK, date.min.year + 1), min(last + _AHEAD, date.max.year - 2) + 1)


def is_calendar(key: str) -> bool:
    return key.endswith(CALENDAR)


def read_dates(data: Mapping[str, str], years: range) -> tuple[dict[date, str], tuple[Problem, ...]]:
    """All of it. What cannot be read is left out and told."""
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
