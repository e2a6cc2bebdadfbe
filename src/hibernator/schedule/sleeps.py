"""The sleeps of a week, in minutes since its Monday, written as the windows of plans and scalers.

Whatever says when to sleep in other words than ours (cron lines, annotations of other programs) comes down to
these minutes first.
"""

import re
from collections.abc import Callable, Iterable

from hibernator.api.windows import OffHourWindow
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.spans import Span, Spans, subtract
from hibernator.schedule.ticks import MINUTE
from hibernator.schedule.words import DAYS, clock, days_text, read_day

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


WHOLE_WEEK: Spans = ((0, MINUTES_A_WEEK),)

_MOST_WINDOWS = 64  # as many as a plan may have
_LAST_MINUTE = MINUTES_A_DAY - 1
_NOON = MINUTES_A_DAY // 2


def awake(sleeps: Spans) -> Spans:
    """The rest of the week."""
    return subtract(WHOLE_WEEK, sleeps)


def around_the_week(spans: Spans) -> Spans:
    """What ends with the week and goes on at its beginning is one sleep, and may end in the next week."""
    if len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == MINUTES_A_WEEK:
        return (*spans[1:-1], (spans[-1][0], MINUTES_A_WEEK + spans[0][1]))
    return spans


def off_hours_of(sleeps: Iterable[Span]) -> tuple[OffHourWindow, ...]:
    """The windows of a plan that sleeps then."""
    pieces = [piece for sleep in sleeps for piece in _by_day(*sleep)]
    if early := [end for _, end in pieces if end % MINUTES_A_DAY == _LAST_MINUTE]:
        raise ScheduleError(
            f"it wakes up on {minute_text(early[0])}, and windows read 23:59 as the end of the day",
            "Wake up at 23:58 or at 00:00.",
        )
    windows = tuple(
        OffHourWindow(start=start, end=end, days_of_week=tuple(day.upper() for day in days))
        for start, end, days in _kinds(pieces, _end_of_off_hours)
    )
    if len(windows) > _MOST_WINDOWS:
        raise ScheduleError(
            f"it makes {len(windows)} windows, and a plan may have {_MOST_WINDOWS}", "Sleep less often."
        )
    return windows


def scaler_windows_of(spans: Iterable[Span]) -> list[tuple[str, str, list[str]]]:
    """Start, end and days of the windows of a scaler, in which a whole day takes two."""
    pieces = [half for span in spans for piece in _by_day(*span) for half in _by_noon(*piece)]
    return _kinds(pieces, lambda _start, end: clock(end % MINUTES_A_DAY * MINUTE))


def minute_text(minute: int) -> str:
    day = minute // MINUTES_A_DAY % 7
    return f"{days_text((day,))} {clock(minute % MINUTES_A_DAY * MINUTE)}"


def _kinds(pieces: Iterable[Span], end_text: Callable[[int, int], str]) -> list[tuple[str, str, list[str]]]:
    """Pieces at the same time of different days are one window."""
    kinds: dict[tuple[str, str], set[int]] = {}
    for start, end in pieces:
        times = clock(start % MINUTES_A_DAY * MINUTE), end_text(start, end)
        kinds.setdefault(times, set()).add(start // MINUTES_A_DAY % 7)
    return [(start, end, [DAYS[day] for day in sorted(days)]) for (start, end), days in kinds.items()]


def _by_day(start: int, end: int) -> Iterable[Span]:
    """A window is shorter than a day; a longer sleep is cut at each midnight."""
    if end - start < MINUTES_A_DAY:
        yield start, end
        return
    while start < end:
        midnight = (start // MINUTES_A_DAY + 1) * MINUTES_A_DAY
        yield start, min(midnight, end)
        start = midnight


def _by_noon(start: int, end: int) -> Iterable[Span]:
    if end - start < MINUTES_A_DAY:
        yield start, end
    else:
        yield start, start + _NOON
        yield start + _NOON, end


def _end_of_off_hours(start: int, end: int) -> str:
    whole_rest_of_day = end % MINUTES_A_DAY == 0 and end // MINUTES_A_DAY == start // MINUTES_A_DAY + 1
    return "23:59" if whole_rest_of_day else clock(end % MINUTES_A_DAY * MINUTE)
