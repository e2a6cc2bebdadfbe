"""Off-hours as pairs of cron lines, and back, for those who come from cron or go to it.

Why a pair wakes on the day after an overnight window begins, and what becomes of pairs that were written
before that, is explained in docs/decisions/0006-cron-conversion.md.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hibernator.api.hibernateplan import Schedule
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.sleeps import MINUTES_A_DAY, MINUTES_A_WEEK, firings, minute_text, off_hours_of
from hibernator.schedule.spans import Span, Spans, union
from hibernator.schedule.ticks import MINUTE
from hibernator.schedule.windows import off_hours
from hibernator.schedule.zones import zone_of


class CronPair(NamedTuple):
    """When to go to sleep and when to wake up, as cron lines in the plan's zone."""

    hibernate: str
    wake_up: str


class Migrated(NamedTuple):
    """The windows that stand for a pair of cron lines, and what a person should know about them."""

    windows: tuple[OffHourWindow, ...]
    notes: tuple[str, ...] = ()


def convert_schedule_to_cron(schedule: Schedule) -> tuple[CronPair, ...]:
    """The off-hours of a schedule, unless there is more to it than cron can know."""
    if schedule.holidays is not None and schedule.holidays.mode != "ignore":
        raise ScheduleError(
            f"cron knows no holidays, and this schedule does ({schedule.holidays.mode})",
            "Set holidays.mode to ignore to convert the windows alone.",
        )
    return convert_off_hours_to_cron(schedule.off_hours)


def convert_off_hours_to_cron(windows: Sequence[OffHourWindow]) -> tuple[CronPair, ...]:
    """One pair for each kind of sleep.

    Windows that touch are one sleep, because a line that wakes in the middle of it would be wrong. Each pair
    is right on its own, and all of them are right side by side.
    """
    kinds: dict[tuple[int, int], list[Span]] = {}
    for start, end in _week_of(windows):
        kinds.setdefault((start % MINUTES_A_DAY, end % MINUTES_A_DAY), []).append((start, end))
    return tuple(
        CronPair(_line(start for start, _ in sleeps), _line(end for _, end in sleeps))
        for sleeps in kinds.values()
    )


def cron_to_off_hours(hibernate: str, wake_up: str) -> Migrated:
    """The windows that a pair of an old plan stands for."""
    begins, ends = firings(hibernate), firings(wake_up)
    if nights := _written_before_overnight_windows(begins, ends):
        return Migrated(off_hours_of(nights), _notes(_sleeps(begins, ends)))
    return Migrated(lines_to_off_hours(hibernate, wake_up))


def lines_to_off_hours(hibernate: str, wake_up: str) -> tuple[OffHourWindow, ...]:
    """The windows that sleep from each `hibernate` until the next `wakeUp`, as the lines run."""
    begins, ends = firings(hibernate), firings(wake_up)
    if both := begins & ends:
        raise ScheduleError(
            f"hibernate {hibernate!r} and wakeUp {wake_up!r} both fire on {minute_text(min(both))}",
            "Let them fire at different times.",
        )
    return off_hours_of(_sleeps(begins, ends))


def _week_of(windows: Sequence[OffHourWindow]) -> Spans:
    """The sleeps that begin within a week, in minutes since its Monday; a whole sleep is one span."""
    greenwich = zone_of("UTC")
    read = [off_hours(window, greenwich) for window in windows]
    spans = union(
        (
            (week * 7 + day) * MINUTES_A_DAY + window.start // MINUTE,
            (week * 7 + day) * MINUTES_A_DAY + window.end // MINUTE,
        )
        for window in read
        for day in window.days
        for week in (-1, 0, 1, 2)
    )
    if len(spans) == 1:
        raise ScheduleError(
            "the windows together never end, so that no line can say when to wake up",
            "Leave a gap between the windows.",
        )
    return tuple(span for span in spans if 0 <= span[0] < MINUTES_A_WEEK)


def _line(minutes: Iterable[int]) -> str:
    times = [minute % MINUTES_A_WEEK for minute in minutes]
    days = sorted((minute // MINUTES_A_DAY + 1) % 7 for minute in times)
    hour, minute = divmod(times[0] % MINUTES_A_DAY, 60)
    return f"{minute} {hour} * * {','.join(map(str, days))}"


def _sleeps(begins: frozenset[int], ends: frozenset[int]) -> list[Span]:
    """From each beginning to the next end; a beginning in a sleep that has begun already changes nothing."""
    rolled = sorted(end + week * MINUTES_A_WEEK for end in ends for week in (0, 1))
    spans = union((begin, rolled[bisect_right(rolled, begin)]) for begin in begins)
    # A sleep that reaches into this week from the last one swallows what begins within it.
    swallowed = max(0, spans[-1][1] - MINUTES_A_WEEK)
    return [span for span in spans if span[0] >= swallowed]


def _written_before_overnight_windows(begins: frozenset[int], ends: frozenset[int]) -> list[Span]:
    """Nights of pairs like `0 20 * * 1-5` and `0 6 * * 1-5`, whose days are those on which nights begin."""
    times = {begin % MINUTES_A_DAY for begin in begins}, {end % MINUTES_A_DAY for end in ends}
    days = {begin // MINUTES_A_DAY for begin in begins}, {end // MINUTES_A_DAY for end in ends}
    if len(times[0]) != 1 or len(times[1]) != 1 or days[0] != days[1] or min(times[1]) >= min(times[0]):
        return []
    if {(day + 1) % 7 for day in days[0]} == days[0]:
        return []
    until = MINUTES_A_DAY + min(times[1]) - min(times[0])
    return [(begin, begin + until) for begin in sorted(begins)]


def _notes(literally: list[Span]) -> tuple[str, ...]:
    longest = max(literally, key=lambda span: span[1] - span[0])
    slept = f"{minute_text(longest[0])} until {minute_text(longest[1])}"
    meaning = "The days are read as those on which a night begins."
    return (f"{meaning} As plain cron lines, the pair slept from {slept}: add windows if it shall stay so.",)
