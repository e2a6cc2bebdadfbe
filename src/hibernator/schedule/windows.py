"""Windows of the week, read once from what users write, laid out as spans of instants on demand."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.timewindowscaler import ScalerWindow
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.spans import Span
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
