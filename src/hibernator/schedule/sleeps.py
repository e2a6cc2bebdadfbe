"""The sleeps of a week, in minutes since its Monday, written as the windows of plans and scalers.

Whatever says when to sleep in other words than ours (cron lines, annotations of other programs) comes down to
these minutes first.
"""

from collections.abc import Callable, Iterable

from hibernator.api.windows import OffHourWindow
from hibernator.schedule.cron_fields import MINUTES_A_DAY, MINUTES_A_WEEK
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.spans import Span, Spans, subtract
from hibernator.schedule.ticks import MINUTE
from hibernator.schedule.words import DAYS, clock, days_text

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
