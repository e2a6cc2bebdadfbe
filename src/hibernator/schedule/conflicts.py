"""Whether two exceptions want the same time, and which of several hold their places.

Exceptions conflict where their windows overlap within both validities, and nowhere else. Between two changes
of the clock every week is like the one before it, so the first week of each such stretch tells about all of
it: the cost does not grow with the validity. Near a change of the clock the windows are laid out exactly.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

from whenever import Instant

from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.spans import Span, Spans, intersect
from hibernator.schedule.ticks import FIRST, WEEK, from_datetime, to_instant
from hibernator.schedule.weekly import Weekly
from hibernator.schedule.windows import off_hours
from hibernator.schedule.zones import Zone, zone_of


class Reach:
    """When an exception wants something of its plan. Equal ones are the same object (`reach_of`)."""

    __slots__ = ("_weekly", "end", "start", "zone")

    def __init__(self, windows: tuple[OffHourWindow, ...], start: int, end: int, zone: Zone) -> None:
        self.start, self.end, self.zone = start, end, zone
        self._weekly = Weekly(False, [(off_hours(window, zone), True) for window in windows])

    def covered(self, lo: int, hi: int) -> Spans:
        """Where in [lo, hi) its windows are, whether or not it is valid then."""
        steps = self._weekly.steps(lo, hi)
        ends = [*steps.starts[1:], steps.end]
        return tuple(
            (start, end) for start, end, holds in zip(steps.starts, ends, steps.values, strict=True) if holds
        )


def overlap(one: ScheduleExceptionSpec, other: ScheduleExceptionSpec, timezone: str) -> Instant | None:
    """The first instant that both want, in a plan of that zone; None if there is none.

    Both must be free of mistakes (`check_exception`).
    """
    zone = zone_of(timezone)
    first = _first_overlap(reach_of(one, zone), reach_of(other, zone))
    return None if first is None else to_instant(first)


def reach_of(spec: ScheduleExceptionSpec, zone: Zone) -> Reach:
    return _reach(spec.windows, spec.valid_from, spec.valid_until, zone)


def governed(line: Sequence[Reach]) -> list[Span | None]:
    """When each of these governs, if all were filed in this order.

    One that conflicts with an earlier one waits until that is over. None if its own time ends before that.
    """
    since: dict[int, int] = {}
    for now in sorted({FIRST, *(one.end for one in line)}):
        for i, one in enumerate(line):
            holding = (line[j] for j in since if line[j].end > now)
            if i not in since and one.end > now and all(_first_overlap(one, two) is None for two in holding):
                since[i] = max(now, one.start)
    return [(since[i], one.end) if i in since else None for i, one in enumerate(line)]


@lru_cache(maxsize=256)
def _reach(windows: tuple[OffHourWindow, ...], start: datetime, end: datetime, zone: Zone) -> Reach:
    return Reach(windows, from_datetime(start), from_datetime(end), zone)


@lru_cache(maxsize=512)
def _first_overlap(one: Reach, other: Reach) -> int | None:
    lo, hi = max(one.start, other.start), min(one.end, other.end)
    if lo >= hi:
        return None
    for start, end, offset in one.zone.steady(lo, hi):
        until = end if offset is None else min(end, start + WEEK)
        common = intersect(one.covered(start, until), other.covered(start, until))
        if common:
            return common[0][0]
    return None
