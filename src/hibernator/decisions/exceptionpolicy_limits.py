"""What an ExceptionPolicy allows, even with all approvals: durations, numbers, notice, types, freezes.

One long exception may be written as ten short ones. So neighbours count as one, and a week counts them all,
with those that were deleted: the plan remembers what had an effect on it.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Final

from whenever import Instant

from hibernator.api.exceptionpolicy import Freeze, Limits
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException, ScheduleExceptionSpec
from hibernator.api.windows import OffHourWindow
from hibernator.decisions.scheduleexception_line import is_held, place
from hibernator.schedule.spans import Spans, subtract, union
from hibernator.schedule.ticks import DAY, HOUR, WEEK, day_of, from_datetime
from hibernator.schedule.windows import off_hours
from hibernator.schedule.words import duration_text, read_duration
from hibernator.schedule.zones import Zone, first_at, zone_of

_FAR: Final = 2 * DAY  # there is a look each day anyway
NEXT_TO: Final = HOUR - 1  # with less than an hour between them, two exceptions count as one
_SPENT: Final = frozenset({"Approved", "Active"})
_OVER: Final = frozenset({"Rejected", "Cancelled", "Draft", "Expired"})


@dataclass(frozen=True, slots=True)
class Use:
    """Another exception of the plan, which counts for limits: from when to when, in ticks."""

    uid: str
    begins: int
    ends: int


def uses(
    mine: ScheduleException, others: Iterable[ScheduleException], plan: HibernatePlan | None
) -> tuple[Use, ...]:
    """What counts besides an exception: what was let through, what is older, and what the plan remembers."""
    found = {
        one.metadata.uid: _use(one)
        for one in others
        if one.metadata.uid != mine.metadata.uid and _counts(one, mine)
    }
    for past in plan.status.recent_exceptions if plan else ():
        if past.uid != mine.metadata.uid:
            use = Use(past.uid, from_datetime(past.began_at), from_datetime(past.valid_until))
            found.setdefault(past.uid, use)
    return tuple(sorted(found.values(), key=lambda use: (use.begins, use.uid)))


def _use(one: ScheduleException) -> Use:
    """Nothing begins before it is asked for and let through, whatever `validFrom` says."""
    status = one.status
    since = status.applied_at or status.requested_at or one.metadata.creation_timestamp or one.spec.valid_from
    begins = max(from_datetime(one.spec.valid_from), from_datetime(since))
    return Use(one.metadata.uid, begins, from_datetime(one.spec.valid_until))


def _counts(one: ScheduleException, mine: ScheduleException) -> bool:
    status = one.status
    if status.state in _SPENT:
        return True
    if one.spec.draft or one.spec.cancelled or status.state in _OVER:
        return False
    is_older = not mine.metadata.uid or place(one) < place(mine)  # what is being created comes last
    return is_older and not is_held(one)


def joined(spec: ScheduleExceptionSpec, others: Iterable[Use]) -> int:
    """How long it lasts together with those next to it."""
    lo, hi = from_datetime(spec.valid_from), from_datetime(spec.valid_until)
    chains = union(
        [(lo, hi + NEXT_TO)], ((use.begins, use.ends + NEXT_TO) for use in others if use.begins < use.ends)
    )
    return next((end - NEXT_TO - start for start, end in chains if start <= lo < end), 0)


def in_a_week(begins: int, others: Iterable[Use]) -> int:
    """The most exceptions, this one included, that begin in any seven days in which this one begins."""
    starts = [begins, *(use.begins for use in others)]
    return max(
        sum(first <= start < first + WEEK for start in starts)
        for first in starts
        if begins - WEEK < first <= begins
    )


def broken_limits(
    limits: Limits, spec: ScheduleExceptionSpec, others: Iterable[Use], asked_at: Instant, now: Instant
) -> Iterator[str]:
    """What of it is more than the limits allow, each as a sentence with the way out."""
    others = tuple(others)
    if limits.types and spec.type not in limits.types:
        yield f"spec.type is {spec.type}: only {', '.join(sorted(limits.types))} is allowed."
    if limits.max_duration is not None:
        longest, long = read_duration(limits.max_duration), joined(spec, others)
        alone = from_datetime(spec.valid_until) - from_datetime(spec.valid_from)
        if alone > longest:
            yield (
                f"It lasts {duration_text(alone)}, and the limit is {limits.max_duration}: bring validUntil"
                " closer to validFrom."
            )
        elif long > longest:
            yield (
                f"Together with the exceptions of this plan right before or after it, it lasts"
                f" {duration_text(long)}, and the limit is {limits.max_duration}: leave an hour between them,"
                " or ask for less."
            )
    if limits.max_active_per_week is not None:
        number = in_a_week(max(from_datetime(spec.valid_from), _ticks(now)), others)
        if number > limits.max_active_per_week:
            yield (
                f"It would be exception {number} of this plan within seven days, and the limit is"
                f" {limits.max_active_per_week}. Deleted exceptions count. Choose a later validFrom."
            )
    if limits.min_notice is not None:
        notice = from_datetime(spec.valid_from) - _ticks(asked_at)
        if notice < read_duration(limits.min_notice):
            yield (
                f"validFrom must be at least {limits.min_notice} after it is submitted, which was at"
                f" {asked_at.round('second', mode='floor').format_iso()}: choose a later validFrom."
            )


def freezes(
    rules: Iterable[Freeze], spec: ScheduleExceptionSpec, timezone: str, now: Instant
) -> Iterator[tuple[int, Freeze, str]]:
    """The freezes in which it, or one of its windows, would begin: number, freeze, and when in words."""
    zone, rules = zone_of(timezone), tuple(rules)
    starts = sorted({*_starts(spec, zone, now)}) if rules else []
    for index, freeze, spans in _frozen_spans(rules, spec, zone, now, from_datetime(spec.valid_until)):
        found = _first_in(starts, spans)
        if found is None:
            continue
        at, end = found
        is_now = at == _ticks(now)  # `at` is the end, which does not move
        yield index, freeze, f"before {_iso(end)}" if is_now else f"at {_iso(at)}"


def next_freeze(
    rules: Iterable[Freeze], spec: ScheduleExceptionSpec, timezone: str, now: Instant
) -> Instant | None:
    """When a freeze begins or ends, after which it could begin now or no longer could."""
    until = _ticks(now) + _FAR
    spans = (s for _, _, each in _frozen_spans(rules, spec, zone_of(timezone), now, until) for s in each)
    ahead = [edge for span in spans for edge in span if edge > _ticks(now)]
    return Instant.from_timestamp(min(ahead), unit="microsecond") if ahead else None


def next_week(limits: Limits | None, others: Iterable[Use], now: Instant) -> Instant | None:
    """When the first exception that counts is a week ago."""
    if limits is None or limits.max_active_per_week is None:
        return None
    ahead = [use.begins + WEEK for use in others if use.begins + WEEK > _ticks(now)]
    return Instant.from_timestamp(min(ahead), unit="microsecond") if ahead else None


def within(windows: Iterable[OffHourWindow], spec: ScheduleExceptionSpec, timezone: str) -> bool:
    """Whether it is valid in these hours only."""
    zone = zone_of(timezone)
    lo, hi = from_datetime(spec.valid_from), from_datetime(spec.valid_until)
    return lo < hi and not subtract(((lo, hi),), _spans(windows, zone, lo, hi))


def _starts(spec: ScheduleExceptionSpec, zone: Zone, now: Instant) -> Iterator[int]:
    """When it begins, and when each of its windows does, from now on: nothing begins once it is over."""
    lo, hi = from_datetime(spec.valid_from), from_datetime(spec.valid_until)
    first = max(lo, _ticks(now))
    if first < hi:
        yield first
    for window in spec.windows:
        yield from (start for start, _ in off_hours(window, zone).occurrences(lo, hi) if first <= start < hi)


def _frozen_spans(
    rules: Iterable[Freeze], spec: ScheduleExceptionSpec, zone: Zone, now: Instant, until: int
) -> Iterator[tuple[int, Freeze, Spans]]:
    """Each freeze of its type with what of it is ahead, and a week beyond."""
    lo = max(from_datetime(spec.valid_from), _ticks(now))
    hi = max(until, lo) + WEEK
    for index, freeze in enumerate(rules):
        if not freeze.types or spec.type in freeze.types:
            yield index, freeze, _frozen(freeze, zone, lo, hi)


def _first_in(starts: Sequence[int], spans: Spans) -> tuple[int, int] | None:
    """The first of these that lies in a span, with the end of that span. Both are in order."""
    for start, end in spans:
        index = bisect_left(starts, start)
        if index < len(starts) and starts[index] < end:
            return starts[index], end
    return None


def _frozen(freeze: Freeze, zone: Zone, lo: int, hi: int) -> Spans:
    if freeze.first_day is None or freeze.last_day is None:
        return _spans(freeze.windows, zone, lo, hi)
    first, last = date.fromisoformat(freeze.first_day), date.fromisoformat(freeze.last_day)
    start, end = _midnight(first, zone), _midnight(last, zone, after=1)
    return ((start, end),) if start < hi and lo < end else ()


def _midnight(day: date, zone: Zone, after: int = 0) -> int:
    reading = (day_of(day) + after) * DAY
    return first_at(reading, zone.stretches(reading - 2 * DAY, reading + 2 * DAY))


def _spans(windows: Iterable[OffHourWindow], zone: Zone, lo: int, hi: int) -> Spans:
    return union(chain.from_iterable(off_hours(window, zone).spans(lo, hi) for window in windows))


def _iso(at: int) -> str:
    return Instant.from_timestamp(at, unit="microsecond").format_iso()


def _ticks(moment: Instant) -> int:
    return moment.timestamp(unit="microsecond")
