"""What windows say week after week.

Far from a change of the clock every week is like every other, so one model week is painted when the schedule
is read and then merely shifted. Near a change of the clock, and where windows live in different zones, each
window is laid out exactly. Both must say the same; the tests hold one against the other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Generic, TypeVar

from hibernator.schedule.spans import Steps, join, paint
from hibernator.schedule.ticks import DAY, WEEK
from hibernator.schedule.windows import Window

V = TypeVar("V")

_MONDAY = 4 * DAY  # 1970-01-05


class Weekly(Generic[V]):
    """Windows with a value each, the last one winning, over a ground that holds where there is none."""

    __slots__ = ("_changes", "_ground", "_layers", "_values", "_zone")

    def __init__(self, ground: V, layers: Sequence[tuple[Window, V]]) -> None:
        self._ground = ground
        self._layers = tuple(layers)
        zones = {window.zone for window, _ in layers}
        self._zone = zones.pop() if len(zones) == 1 else None
        if self._zone is not None:
            self._changes, self._values = self._model_week()

    def steps(self, lo: int, hi: int) -> Steps[V]:
        if self._zone is None:
            return self._exactly(lo, hi)
        return join(
            [
                self._exactly(start, end) if offset is None else self._shifted(start, end, offset)
                for start, end, offset in self._zone.steady(lo, hi)
            ]
        )

    def around(self, ticks: int) -> tuple[V, int, int] | None:
        """What holds at an instant, since when and until when; None if the model week cannot tell."""
        if self._zone is None or not self._changes:
            return None
        calm_from, calm_to, offset = self._zone.calm(ticks)
        into = (ticks + offset - _MONDAY) % WEEK
        monday, i = ticks - into, bisect_right(self._changes, into)
        since = monday + (self._changes[i - 1] if i else self._changes[-1] - WEEK)
        until = monday + (self._changes[i] if i < len(self._changes) else self._changes[0] + WEEK)
        return (self._values[i - 1], since, until) if calm_from <= since and until <= calm_to else None

    def _exactly(self, lo: int, hi: int) -> Steps[V]:
        return paint(lo, hi, self._ground, [(window.spans(lo, hi), value) for window, value in self._layers])

    def _shifted(self, lo: int, hi: int, offset: int) -> Steps[V]:
        if not self._changes:
            return Steps([lo], [self._values[0]], hi)
        shift = _MONDAY - offset
        first, last = (lo - shift) // WEEK - 1, (hi - shift) // WEEK + 1
        weeks = range(shift + first * WEEK, shift + last * WEEK, WEEK)
        starts = [week + change for week in weeks for change in self._changes]
        i, j = bisect_right(starts, lo) - 1, bisect_left(starts, hi)
        starts[i] = lo
        return Steps(starts[i:j], (self._values * len(weeks))[i:j], hi)

    def _model_week(self) -> tuple[tuple[int, ...], tuple[V, ...]]:
        """Where in the week the value changes, and to what; for a week without change just its one value."""
        week = paint(0, WEEK, self._ground, [(window.week(), value) for window, value in self._layers])
        seam = week.values[0] is week.values[-1]
        return tuple(week.starts[seam:]), tuple(week.values[seam:] or week.values)
