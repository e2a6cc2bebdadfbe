"""The five fields of a cron line, read into the minutes of the week at which it fires."""

import re

from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.words import read_day

MINUTES_A_DAY = 24 * 60
MINUTES_A_WEEK = 7 * MINUTES_A_DAY

_MACROS = {"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@hourly": "0 * * * *"}
_PART = re.compile(r"(?:[*?]|(?P<first>\w{1,9})(?:-(?P<last>\w{1,9}))?)(?:/(?P<step>\d{1,9}))?", re.ASCII)
_SATURDAY = 6


def firings(line: str) -> frozenset[int]:
    """When a cron line fires, in minutes since Monday 00:00. Lines that need a date are refused."""
    fields = _MACROS.get(line.strip().lower(), line).split()
    if len(fields) != 5:  # noqa: PLR2004  minute, hour, day of month, month, day of week
        raise _refusal(line, f"it has {len(fields)} fields, not five", "minute hour * * day-of-week")
    minute, hour, day_of_month, month, day_of_week = fields
    for field, name in ((day_of_month, "day of the month"), (month, "month")):
        if field not in {"*", "?"}:
            raise _refusal(line, f"windows repeat every week and know no {name} ({field})", "*")
    minutes = _values(line, minute, 59)
    hours = _values(line, hour, 23)
    days = {(day - 1) % 7 for day in _values(line, day_of_week, 6)}
    return frozenset(day * MINUTES_A_DAY + h * 60 + m for day in days for h in hours for m in minutes)


def _values(line: str, field: str, highest: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _refusal(
                line, f"{part!r} is not understood", "a number, a range 1-5, a list 1,3 or a step */2"
            )
        first = _number(line, match["first"] or "0", highest)
        if match["last"]:
            last = _number(line, match["last"], highest)
        else:
            last = highest if match["first"] is None or match["step"] else first
        step = int(match["step"] or 1)
        if step == 0 or last < first:
            raise _refusal(line, f"{part!r} goes nowhere", "a range that rises, and a step of at least 1")
        found.update(range(first, last + 1, step))
    return found


def _number(line: str, text: str, highest: int) -> int:
    days = highest == _SATURDAY
    if text.isdigit() and int(text) <= highest + days:  # a seventh day is Sunday again
        return int(text)
    try:
        if days:
            return (read_day(text) + 1) % 7
    except ScheduleError:
        pass
    names = "SUN to SAT or " if days else ""
    raise _refusal(line, f"{text!r} is out of range", f"{names}a number from 0 to {highest + days}")


def _refusal(line: str, why: str, instead: str) -> ScheduleError:
    return ScheduleError(f"the cron line {line!r} has no equivalent window: {why}", f"Write {instead}.")
