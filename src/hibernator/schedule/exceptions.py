"""How exceptions change a plan's schedule, and whether two of them want the same time.

Replace sets the schedule aside, extend adds sleep, suspend takes it away.

Exceptions conflict where their windows overlap within both validities, and nowhere else. Between two changes
of the clock every week is like the one before it, so the first week of each such stretch tells about all of
it: the cost does not grow with the validity. Near a change of the clock the windows are laid out exactly.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import NamedTuple

from whenever import Instant

from hibernator.api.scheduleexception import ExceptionType, ScheduleExceptionSpec
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.spans import Span, Spans, Steps, clip, intersect, overlay, union
from hibernator.schedule.ticks import FIRST, WEEK, from_datetime, to_instant
from hibernator.schedule.timeline import Reason, State, Verdict
from hibernator.schedule.windows import Weekly, Window, off_hours
from hibernator.schedule.words import read_duration
from hibernator.schedule.zones import Zone, zone_of

PlanSteps = Steps[Verdict[State]]
NamedException = tuple[str, ScheduleExceptionSpec]


class Override(NamedTuple):
    """An exception, read: when it governs, what its windows are, and the verdicts that it may give."""

    name: str
    type: ExceptionType
    governs: Spans
    windows: tuple[Window, ...]
    lead: int
    asleep: Verdict[State]
    awake: Verdict[State]
    waiting: Verdict[State]

    def applied(self, lo: int, hi: int) -> Spans:
        """Where in [lo, hi) its windows are while it governs."""
        return intersect(
            union(*(window.spans(lo, hi) for window in self.windows)), clip(self.governs, lo, hi)
        )

    def governs_at(self, ticks: int) -> bool:
        return any(start <= ticks < end for start, end in self.governs)


_Near = tuple[Override, Spans]  # an exception, and where its windows are in what is laid out


def compose(steps: PlanSteps, overrides: Sequence[Override]) -> PlanSteps:
    """The steps as they are under all these exceptions: replaced first, then extended, then suspended.

    Of several that replace, the windows of all count: none of them replaces another.
    """
    lo, hi = steps.starts[0], steps.end
    near = [(override, override.applied(lo, hi)) for override in overrides if clip(override.governs, lo, hi)]
    for override, _ in _of(near, "replace"):
        steps = overlay(steps, override.governs, partial(_always, override.awake))
    for override, windows in _of(near, "replace"):
        steps = overlay(steps, windows, partial(_always, override.asleep))
    for override, windows in _of(near, "extend"):
        steps = overlay(steps, windows, partial(_unless, State.ASLEEP, override.asleep))
    suspensions = _of(near, "suspend")
    for override, windows in suspensions:
        steps = overlay(steps, windows, partial(_unless, State.AWAKE, override.awake))
    for nap, override in _naps(steps, suspensions):
        steps = overlay(steps, (nap,), partial(_always, override.waiting))
    return steps


def _of(near: Sequence[_Near], type_: ExceptionType) -> list[_Near]:
    return [(override, windows) for override, windows in near if override.type == type_]


def _always(verdict: Verdict[State], _below: Verdict[State]) -> Verdict[State]:
    return verdict


def _unless(state: State, verdict: Verdict[State], below: Verdict[State]) -> Verdict[State]:
    """What lies beneath stays where it is in that state anyway, and keeps its reason."""
    return below if below.value is state else verdict


def _naps(steps: PlanSteps, suspensions: Sequence[_Near]) -> Iterator[tuple[Span, Override]]:
    """The sleeps that do not begin, because they would so soon before a suspension, and whose (ruling 9)."""
    leading = [
        (override, [start for start, _ in windows]) for override, windows in suspensions if override.lead
    ]
    if not leading:
        return
    for start, end in _sleep(steps):
        for override, begins in leading:
            following = bisect_right(begins, start)
            soon = following < len(begins) and begins[following] - start <= override.lead
            if soon and override.governs_at(start):
                yield (start, end), override
                break


def read_exceptions(exceptions: Sequence[NamedException], zone: Zone) -> tuple[Override, ...]:
    """Exceptions in the order in which they begin to govern.

    Several govern at a time. Of those that conflict, the one that was passed first does, and the other
    takes over when that is over (ruling 11).
    """
    spans = governed([reach_of(spec, zone) for _, spec in exceptions])
    overrides = [
        _override(name, spec, () if span is None else union([span]), zone)
        for (name, spec), span in zip(exceptions, spans, strict=True)
    ]
    return tuple(sorted(overrides, key=lambda override: override.governs))


def _override(name: str, spec: ScheduleExceptionSpec, governs: Spans, zone: Zone) -> Override:
    reason = Reason(f"Exception{spec.type.capitalize()}")
    lead = read_duration(spec.lead_time or "") if spec.type == "suspend" else 0
    return Override(
        name=name,
        type=spec.type,
        governs=governs,
        windows=tuple(off_hours(window, zone) for window in spec.windows),
        lead=min(lead, governs[-1][1] - governs[0][0]) if governs else 0,  # it acts only while it governs
        asleep=Verdict(State.ASLEEP, reason, name),
        awake=Verdict(State.AWAKE, reason, name),
        waiting=Verdict(State.AWAKE, Reason.EXCEPTION_LEAD_TIME, name),
    )


def _sleep(steps: PlanSteps) -> Spans:
    """All instants at which the plan is asleep."""
    ends = [*steps.starts[1:], steps.end]
    return union(
        (start, end)
        for start, end, verdict in zip(steps.starts, ends, steps.values, strict=True)
        if verdict.value is State.ASLEEP
    )


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
