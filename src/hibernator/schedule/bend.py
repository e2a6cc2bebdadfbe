"""How exceptions bend a plan: replace sets the schedule aside, extend adds sleep, suspend takes it away."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hibernator.api.scheduleexception import ExceptionType, ScheduleExceptionSpec
from hibernator.schedule.conflicts import governed, reach_of
from hibernator.schedule.spans import Span, Spans, Steps, clip, intersect, overlay, union
from hibernator.schedule.verdicts import Reason, State, Verdict
from hibernator.schedule.windows import Window, off_hours
from hibernator.schedule.words import read_duration
from hibernator.schedule.zones import Zone

PlanSteps = Steps[Verdict[State]]
NamedException = tuple[str, ScheduleExceptionSpec]


class Bend(NamedTuple):
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


_Near = tuple[Bend, Spans]  # an exception, and where its windows are in what is laid out


def compose(steps: PlanSteps, bends: Sequence[Bend]) -> PlanSteps:
    """The steps as they are under all these exceptions: replaced first, then extended, then suspended.

    Of several that replace, the windows of all count: none of them replaces another.
    """
    lo, hi = steps.starts[0], steps.end
    near = [(bend, bend.applied(lo, hi)) for bend in bends if clip(bend.governs, lo, hi)]
    for bend, _ in _of(near, "replace"):
        steps = overlay(steps, bend.governs, partial(_always, bend.awake))
    for bend, windows in _of(near, "replace"):
        steps = overlay(steps, windows, partial(_always, bend.asleep))
    for bend, windows in _of(near, "extend"):
        steps = overlay(steps, windows, partial(_unless, State.ASLEEP, bend.asleep))
    suspensions = _of(near, "suspend")
    for bend, windows in suspensions:
        steps = overlay(steps, windows, partial(_unless, State.AWAKE, bend.awake))
    for nap, bend in _naps(steps, suspensions):
        steps = overlay(steps, (nap,), partial(_always, bend.waiting))
    return steps


def _of(near: Sequence[_Near], type_: ExceptionType) -> list[_Near]:
    return [(bend, windows) for bend, windows in near if bend.type == type_]


def _always(verdict: Verdict[State], _below: Verdict[State]) -> Verdict[State]:
    return verdict


def _unless(state: State, verdict: Verdict[State], below: Verdict[State]) -> Verdict[State]:
    """What lies beneath stays where it is in that state anyway, and keeps its reason."""
    return below if below.value is state else verdict


def _naps(steps: PlanSteps, suspensions: Sequence[_Near]) -> Iterator[tuple[Span, Bend]]:
    """The sleeps that do not begin, because they would so soon before a suspension, and whose (ruling 9)."""
    leading = [(bend, [start for start, _ in windows]) for bend, windows in suspensions if bend.lead]
    if not leading:
        return
    for start, end in _sleep(steps):
        for bend, begins in leading:
            following = bisect_right(begins, start)
            soon = following < len(begins) and begins[following] - start <= bend.lead
            if soon and bend.governs_at(start):
                yield (start, end), bend
                break


def read_exceptions(exceptions: Sequence[NamedException], zone: Zone) -> tuple[Bend, ...]:
    """Exceptions in the order in which they begin to govern.

    Several govern at a time. Of those that conflict, the one that was passed first does, and the other
    takes over when that is over (ruling 11).
    """
    spans = governed([reach_of(spec, zone) for _, spec in exceptions])
    bends = [
        _bend(name, spec, () if span is None else union([span]), zone)
        for (name, spec), span in zip(exceptions, spans, strict=True)
    ]
    return tuple(sorted(bends, key=lambda bend: bend.governs))


def _bend(name: str, spec: ScheduleExceptionSpec, governs: Spans, zone: Zone) -> Bend:
    reason = Reason(f"Exception{spec.type.capitalize()}")
    lead = read_duration(spec.lead_time or "") if spec.type == "suspend" else 0
    return Bend(
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
