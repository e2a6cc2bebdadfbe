"""Windows of the week, read once from what users write, laid out as spans of instants on demand.

Far from a change of the clock every week is like every other, so one model week is painted when the schedule
is read and then merely shifted. Near a change of the clock, and where windows live in different zones, each
window is laid out exactly. Both must say the same; the tests hold one against the other.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.timewindowscaler import ScalerWindow
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.spans import Span, Steps, join, paint
from hibernator.schedule.ticks import DAY, MINUTE, WEEK, weekday_of
from hibernator.schedule.words import clock, days_text, read_day, read_time
from hibernator.schedule.zones import Zone, first_at, last_at

START_IS_END = "Invalid window: start must not equal end"
_END_OF_DAY = DAY - MINUTE


class Window(NamedTuple):
    """From `start` on each of the days until `end`, both counted from midnight on the local clock."""

    zone: Zone
    days: tuple[int, ...]  # in the order of the week
    start: int
    end: int  # beyond DAY where the window ends on the next day

    def occurrences(self, lo: int, hi: int) -> Iterator[Span]:
        """Each time that it touches [lo, hi), whole and in order."""
        first, last = lo // DAY - 3, hi // DAY + 2
        stretches = self.zone.stretches((first - 1) * DAY, (last + 3) * DAY)
        for day in range(first, last):
            if weekday_of(day) in self.days:
                midnight = day * DAY
                start, end = (
                    first_at(midnight + self.start, stretches),
                    last_at(midnight + self.end, stretches),
                )
                if start < hi and end > lo and start < end:
                    yield start, end

    def spans(self, lo: int, hi: int) -> list[Span]:
        """The same as a set: joined where one day's window reaches the next day's."""
        return _joined(self.occurrences(lo, hi))

    def week(self) -> list[Span]:
        """The same for a week without a change of the clock, counted from its Monday 00:00 on the wall."""
        days = (self.days[-1] - 7, *self.days)
        return _joined([(day * DAY + self.start, day * DAY + self.end) for day in days])

    def covering(self, ticks: int) -> Span | None:
        """The occurrence that holds this instant, if any."""
        return next(self.occurrences(ticks, ticks + 1), None)

    def following(self, ticks: int) -> Span:
        """The next occurrence that begins later. Two weeks hold one, even if a whole day is skipped."""
        return next(span for span in self.occurrences(ticks, ticks + 2 * WEEK + DAY) if span[0] > ticks)

    def __str__(self) -> str:
        return f"{clock(self.start)}-{clock(self.end)} {days_text(self.days)}"


def _joined(ordered: Iterable[Span]) -> list[Span]:
    found: list[Span] = []
    for start, end in ordered:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def off_hours(window: OffHourWindow, zone: Zone) -> Window:
    """A window of a plan or an exception, in which 23:59 is the end of the day (ruling 2)."""
    start, end = read_time(window.start), read_time(window.end)
    return _window(zone, window.days_of_week, start, DAY if end == _END_OF_DAY != start else end)


def scaler_window(window: ScalerWindow | v1beta1.ScalerWindow, zone: Zone) -> Window:
    return _window(
        zone, window.days, read_time(window.start, strict=True), read_time(window.end, strict=True)
    )


def _window(zone: Zone, days: tuple[str, ...], start: int, end: int) -> Window:
    if start == end:
        raise ScheduleError(START_IS_END, "Write two different times; 00:00 to 23:59 is a whole day.")
    if not days:
        raise ScheduleError("no day is listed", "List at least one day, for example MON.")
    return Window(zone, tuple(sorted(set(map(read_day, days)))), start, end if end > start else end + DAY)


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
