"""What is allowed and yet hardly meant: a plan that wakes at midnight, an exception that has no effect.

Nothing is refused for it. It is said where somebody is about to apply a file: by `validate`, and as a warning
of the API server.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from hibernator.api.hibernateplan import Schedule
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.schedule.spans import Span, clip, subtract, union
from hibernator.schedule.ticks import DAY, HOUR, WEEK, from_datetime
from hibernator.schedule.windows import Window, off_hours
from hibernator.schedule.words import clock, days_text
from hibernator.schedule.zones import local_text, zone_of

_SHORT: Final = 2 * HOUR  # awake for less, nothing gets going


def schedule_hints(schedule: Schedule, path: str = "spec.schedule") -> Iterator[str]:
    """Islands: the plan wakes between two windows where it was hardly meant to. For a readable schedule."""
    zone = zone_of(schedule.timezone)
    windows = [off_hours(window, zone) for window in schedule.off_hours]
    for start, end in _awake(windows):
        if end - start < _SHORT:
            yield (
                f"{path}.offHours: it wakes on {_text(start)} and sleeps again at {_text(end)}. "
                "Let the windows touch, if it shall sleep through."
            )
        elif night := _night_left_out(windows, start):
            before = days_text(((start // DAY - 1) % 7,))
            yield (
                f"{path}.offHours: it wakes on {_text(start)}, because no night begins on {before}. Add "
                f"{before.upper()} to the days of {clock(night.start)}-{clock(night.end)}, if it shall sleep "
                f"until {clock(night.end)}."
            )


def exception_hints(spec: ScheduleExceptionSpec, zone_name: str | None, path: str = "spec") -> Iterator[str]:
    """What of an exception has no effect. For a readable one; the zone is that of its plan, where known."""
    if spec.type != "suspend" and spec.lead_time:
        yield f"{path}.leadTime: it has no effect with type {spec.type}. Remove it, or write type: suspend."
    zone = zone_of(zone_name or "UTC")
    lo, hi = from_datetime(spec.valid_from), from_datetime(spec.valid_until)
    slack = 0 if zone_name else DAY  # without the plan nobody knows the zone
    for index, window in enumerate(off_hours(window, zone) for window in spec.windows):
        if lo < hi and not clip(union(window.spans(lo - slack, hi + slack)), lo - slack, hi + slack):
            first, last = local_text(zone, lo), local_text(zone, hi)
            yield (
                f"{path}.windows[{index}]: {window} never falls between validFrom ({first}) and validUntil "
                f"({last}), so that it has no effect. Correct its days, or the two times."
            )


def _awake(windows: Sequence[Window]) -> Iterator[Span]:
    """When nothing sleeps, in a week from Monday 00:00; the last may end in the next week."""
    sleeps = clip(union(*(window.week() for window in windows)), 0, WEEK)
    spans = subtract(((0, WEEK),), sleeps)
    if len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == WEEK:
        spans = (*spans[1:-1], (spans[-1][0], WEEK + spans[0][1]))
    return iter(spans if sleeps else ())


def _night_left_out(windows: Sequence[Window], wakes: int) -> Window | None:
    """The window by which most nights go on after midnight, where it wakes at a midnight all the same."""
    if wakes % DAY:
        return None
    today = wakes // DAY % 7
    return next(
        (
            window
            for window in windows
            if window.end > DAY and today in window.days and (today - 1) % 7 not in window.days
        ),
        None,
    )


def _text(ticks: int) -> str:
    return f"{days_text((ticks // DAY % 7,))} {clock(ticks % DAY)}"
