"""What every picture is made from: all that holds for a resource in a range, and what would differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from whenever import Instant

from hibernator.pictures.resource import Resource, ShownException, Standing
from hibernator.schedule.ticks import DAY, HOUR, date_of, from_datetime, from_instant
from hibernator.schedule.timeline import Interval, State


class Change(NamedTuple):
    """From `start` to `end` (ticks) another value: a state, or a number of replicas."""

    start: int
    end: int
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Proposal:
    """What would change if a pending exception came into force."""

    exception: ShownException
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Strip:
    """A resource over a range."""

    resource: Resource
    start: Instant
    end: Instant
    intervals: tuple[Interval[Any], ...]
    proposals: tuple[Proposal, ...]
    holidays: dict[date, str]  # those that the resource does not ignore

    @property
    def first(self) -> int:
        return from_instant(self.start)

    @property
    def last(self) -> int:
        return from_instant(self.end)

    @property
    def exceptions(self) -> tuple[ShownException, ...]:
        """The exceptions that are in force somewhere in the range."""
        return tuple(
            exception
            for exception in self.resource.exceptions
            if exception.standing is Standing.IN_FORCE and _is_valid(exception, self.start, self.end)
        )


def strip(resource: Resource, start: Instant, end: Instant) -> Strip:
    intervals = resource.timeline.between(start, end)
    proposals = [
        Proposal(exception, tuple(changes(intervals, timeline.between(start, end))))
        for exception, timeline in resource.proposals
    ]
    return Strip(
        resource,
        start,
        end,
        intervals,
        tuple(each for each in proposals if each.changes or _is_valid(each.exception, start, end)),
        _holidays(resource, start, end),
    )


def _is_valid(exception: ShownException, start: Instant, end: Instant) -> bool:
    """Whether an exception is valid at any time of a range."""
    begins, ends = from_datetime(exception.spec.valid_from), from_datetime(exception.spec.valid_until)
    return begins < from_instant(end) and ends > from_instant(start)


def changes(before: Sequence[Interval[Any]], after: Sequence[Interval[Any]]) -> Iterator[Change]:
    """Where two timelines over the same range differ in what holds, joined where the same goes on."""
    found: Change | None = None
    i = j = 0
    while i < len(before) and j < len(after):
        old, new = before[i], after[j]
        start, end = max(old.start, new.start), min(old.end, new.end)
        if old.value != new.value:
            change = Change(from_instant(start), from_instant(end), old.value, new.value)
            if found and found.end == change.start and found[2:] == change[2:]:
                found = found._replace(end=change.end)
            else:
                if found:
                    yield found
                found = change
        i += old.end == end
        j += new.end == end
    if found:
        yield found


def hours(intervals: Sequence[Interval[Any]], value: Any) -> float:
    """For how many hours a value holds."""
    return sum(_length(each) for each in intervals if each.value == value) / HOUR


def replica_hours(intervals: Sequence[Interval[Any]]) -> float:
    return sum(_length(each) * int(each.value) for each in intervals) / HOUR


def totals(strip: Strip) -> str:
    """The range in one line: how long asleep, or how many replicas."""
    length = (strip.last - strip.first) / HOUR
    if strip.resource.is_plan:
        asleep = hours(strip.intervals, State.ASLEEP)
        return f"asleep {number(asleep)} of {number(length)} hours ({asleep / length:.0%})"
    used = replica_hours(strip.intervals)
    return f"{number(used)} replica hours in {number(length)} hours ({used / length:.1f} on average)"


def number(value: float) -> str:
    """A number of hours without a needless fraction."""
    return f"{value:.1f}".removesuffix(".0")


def _length(interval: Interval[Any]) -> int:
    return from_instant(interval.end) - from_instant(interval.start)


def _holidays(resource: Resource, start: Instant, end: Instant) -> dict[date, str]:
    if resource.holiday_mode == "ignore":
        return {}
    zone = resource.zone
    first = zone.reading(from_instant(start)) // DAY
    last = zone.reading(from_instant(end) - 1) // DAY
    return {date_of(day): name for day, name in sorted(resource.holidays.named(first, last).items())}
