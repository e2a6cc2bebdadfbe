"""Instants as integers, so that comparing, adding and bisecting them costs next to nothing.

A tick is a microsecond since the Unix epoch: as fine as any time that Kubernetes or a person writes down.
Inside `schedule` an integer is either an instant in ticks or a *local* reading: what the clock on the wall
shows, counted as if that wall stood in Greenwich. Names say which: `reading`, `start_reading`.
"""

from datetime import UTC, date, datetime, timedelta

from whenever import Instant

from hibernator.schedule.errors import ScheduleError

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
WEEK = 7 * DAY

FIRST = Instant.MIN.timestamp(unit="microsecond")
LAST = Instant.MAX.timestamp(unit="microsecond")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_TICK = timedelta(microseconds=1)


def from_instant(instant: Instant) -> int:
    return instant.timestamp(unit="microsecond")


def to_instant(ticks: int) -> Instant:
    return Instant.from_timestamp(ticks, unit="microsecond")


def from_datetime(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise ScheduleError(
            f"{moment.isoformat()} does not say in which zone it is",
            "Add an offset or Z for UTC, for example 2026-01-29T00:00:00Z.",
        )
    return (moment - _EPOCH) // _TICK


def day_of(day: date) -> int:
    """The number of a calendar day; day zero is 1970-01-01, a Thursday."""
    return day.toordinal() - _EPOCH_DAY


def date_of(day: int) -> date:
    return date.fromordinal(day + _EPOCH_DAY)


def weekday_of(day: int) -> int:
    """Monday is 0."""
    return (day + 3) % 7
