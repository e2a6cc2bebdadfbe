"""How an exception bends a plan: extend adds sleep, suspend takes it away, replace decides alone."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from hibernator.api.scheduleexception import ExceptionType, ScheduleExceptionSpec
from hibernator.schedule.spans import Span, Spans, clip, intersect, subtract, union
from hibernator.schedule.steps import Steps, overlay
from hibernator.schedule.ticks import from_datetime
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

    def over(self, steps: PlanSteps) -> PlanSteps:
        """The steps as they are with this exception."""
        lo, hi = steps.starts[0], steps.end
        if not clip(self.governs, lo, hi):
            return steps
        windows = self.applied(lo, hi)
        if self.type == "extend":
            return overlay(steps, windows, lambda below: below if _sleeps(below) else self.asleep)
        if self.type == "replace":
            alone = overlay(steps, self.governs, lambda _: self.awake)
            return overlay(alone, windows, lambda _: self.asleep)
        steps = overlay(steps, windows, lambda below: self.awake if _sleeps(below) else below)
        return overlay(steps, self._naps(steps, windows), lambda _: self.waiting) if self.lead else steps

    def applied(self, lo: int, hi: int) -> Spans:
        """Where in [lo, hi) its windows are while it governs."""
        return intersect(
            union(*(window.spans(lo, hi) for window in self.windows)), clip(self.governs, lo, hi)
        )

    def governs_at(self, ticks: int) -> bool:
        return any(start <= ticks < end for start, end in self.governs)

    def _naps(self, steps: PlanSteps, suspensions: Spans) -> list[Span]:
        """The sleeps that do not begin, because they would so soon before a suspension (ruling 9)."""
        begins = [start for start, _ in suspensions]
        naps: list[Span] = []
        for start, end in _sleep(steps):
            following = bisect_right(begins, start)
            soon = following < len(begins) and begins[following] - start <= self.lead
            if soon and self.governs_at(start):
                naps.append((start, end))
        return naps


def read_exceptions(exceptions: Sequence[NamedException], zone: Zone) -> tuple[Bend, ...]:
    """Exceptions in the order in which they begin to govern.

    Only one governs at a time (ruling 11). Where validities overlap, the one that was passed first does.
    """
    taken: Spans = ()
    bends: list[Bend] = []
    for name, spec in exceptions:
        validity = union([(from_datetime(spec.valid_from), from_datetime(spec.valid_until))])
        governs = subtract(validity, taken)
        taken = union(taken, validity)
        bends.append(_bend(name, spec, governs, zone))
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
        if _sleeps(verdict)
    )


def _sleeps(verdict: Verdict[State]) -> bool:
    return verdict.value is State.ASLEEP
