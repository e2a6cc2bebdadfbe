"""What a TimeWindowScaler does now: the twelve steps of its design as one pure function.

The target is written first and the status trails it by a moment, so that a boundary which thousands of
scalers cross together is over as soon as the last target is patched, and so that one status write tells the
end of a transition instead of each of its steps. Nothing is lost by a crash in between: the target bears a
mark of the scaling that the status does not tell of yet, and the next pass tells it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from whenever import Instant, TimeDelta

from hibernator.api.timewindowscaler import TimeWindowScalerStatus
from hibernator.decisions.conditions import Verdict, find, lay_over, whole_second
from hibernator.decisions.journal import News
from hibernator.decisions.scaler_mark import Mark
from hibernator.decisions.scaling import (
    ASLEEP_MARK,
    Horizontal,
    Keda,
    Patch,
    Workload,
    is_reached,
    level,
    reachable,
    steps,
)
from hibernator.decisions.timewindowscaler_journal import DEGRADED, journaled, scaling, told_of
from hibernator.decisions.timewindowscaler_terms import LONGEST_SECONDS, Decision, Pace, Seen, Tell
from hibernator.schedule.grace import apply_grace
from hibernator.schedule.labels import OFF_HOURS
from hibernator.schedule.verdicts import Reason

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
AUTOSCALED: Final = "Autoscaled"
HIBERNATED: Final = "TargetHibernated"  # reasons of Ready
UNREADABLE: Final = "TargetUnreadable"
REFUSED: Final = "TargetRefused"

# While Ready says this, nothing is set, so that a number that differs afterwards is nobody's meddling.
_LETS_BE: Final = frozenset({HIBERNATED, REFUSED, "TargetNotFound", "TargetClaimed", "InvalidConfiguration"})

SETTLE_SECONDS: Final = 2.0  # how long a status may trail its target
SETTLED_A_SECOND: Final = 20.0  # and longer where many wait: even a busy cluster follows as fast as this
LONGEST_TRAIL_SECONDS: Final = 120.0
MISSING_TARGET_SECONDS: Final = 30.0
MISTAKE_SECONDS: Final = 300.0
EXTERNAL_SECONDS: Final = 30.0  # how often a number from outside is read again


def decide(seen: Seen, now: Instant) -> Decision:
    """Take the first answer that applies; each policy may rely on those before it having passed."""
    if seen.problems:
        return _refuse_mistakes(seen, now)
    if seen.elder:
        return _yield_to_elder(seen, now)
    hold = _hold(seen, now)
    if seen.workload is None:
        return _wait_for_target(seen, hold, now)
    case = _case(seen, seen.workload, hold)
    if seen.asleep_by and case.old == 0:
        return _let_sleep(case, now)
    if case.writes and not seen.scaler.spec.pause:
        return _scale(case, now)
    if not case.reached and (left := _settling(seen, now)) > 0:
        return Decision(after=left)
    return _report(case, now)


def _refuse_mistakes(seen: Seen, now: Instant) -> Decision:
    message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in seen.problems)
    verdicts = [
        Verdict(READY, False, "InvalidConfiguration", "Nothing is scaled until the spec is mended."),
        Verdict(RECONCILING, False, "Stable"),
        Verdict(DEGRADED, True, "InvalidConfiguration", message),
    ]
    status = journaled(seen.scaler, _with_conditions(seen, verdicts, now), seen.recorded, now)
    return Decision(status=status, after=MISTAKE_SECONDS)


def _yield_to_elder(seen: Seen, now: Instant) -> Decision:
    message = (
        f"{seen.target} is already scaled by the older TimeWindowScaler {seen.elder}. "
        "Delete one of the two or give this one another target."
    )
    verdicts = [
        Verdict(READY, False, "TargetClaimed", message),
        Verdict(RECONCILING, False, "Stable"),
        Verdict(DEGRADED, True, "TargetClaimed", message),
    ]
    return Decision(status=journaled(seen.scaler, _with_conditions(seen, verdicts, now), seen.recorded, now))


def _wait_for_target(seen: Seen, hold: "_Hold", now: Instant) -> Decision:
    missing = f"{seen.target} does not exist. Create it or correct targetRef."
    unreadable = next((one.message for one in seen.troubles if one.reason == UNREADABLE), "")
    verdicts = [
        Verdict(READY, False, UNREADABLE if unreadable else "TargetNotFound", unreadable or missing),
        Verdict(RECONCILING, False, "Stable"),
        _degraded(seen),
    ]
    status = journaled(seen.scaler, _holding(_with_conditions(seen, verdicts, now), hold), seen.recorded, now)
    return Decision(status=status, after=min(MISSING_TARGET_SECONDS, _look_again(seen, hold, now)))


def _let_sleep(case: "_Case", now: Instant) -> Decision:
    """A plan's night is not drift. The write that wakes the target brings the next look."""
    seen = case.seen
    message = (
        f"{seen.target} is asleep by HibernatePlan {seen.asleep_by} until that wakes it. "
        f"To scale it before, remove its annotation {ASLEEP_MARK}."
    )
    verdicts = [
        Verdict(READY, False, HIBERNATED, message),
        Verdict(RECONCILING, False, "Stable"),
        _degraded(seen),
    ]
    status = msgspec.structs.replace(
        _holding(_with_conditions(seen, verdicts, now), case.hold),
        target_observed_replicas=case.workload.running,
    )
    return Decision(
        status=journaled(seen.scaler, status, seen.recorded, now), after=_look_again(seen, case.hold, now)
    )


def _scale(case: "_Case", now: Instant) -> Decision:
    """Write the target; its watch brings the next look, which reports."""
    seen = case.seen
    before = seen.scaler.status
    status = told_of(seen.scaler, seen.mark, seen.recorded, now) if seen.mark else before
    if before.baseline_replicas is None:
        status = msgspec.structs.replace(status, baseline_replicas=case.workload.replicas)
    return Decision(
        first=status if status != before else None,
        writes=case.writes,
        mark=_mark(case, (status.scalings or 0) + 1, now),
        tells=(*_untold(case), *_override(case), _scaled(case)),
        after=_patience(seen),
        due=case.hold.began,
    )


def refused(seen: Seen, why: str, now: Instant) -> TimeWindowScalerStatus:
    """What to say when the API server does not take the write that a decision asked for.

    Once is enough: whoever refuses may word it differently each time, and each new word would bring a look.
    """
    before = find(seen.scaler.status.conditions, READY)
    generation = seen.scaler.metadata.generation
    if before and before.reason == REFUSED and before.observed_generation == generation:
        return seen.scaler.status
    message = f"The API server does not let {seen.target} be scaled: {why}. It is tried again within minutes."
    verdicts = [
        Verdict(READY, False, REFUSED, message),
        Verdict(RECONCILING, True, "WindowTransition"),
        Verdict(DEGRADED, True, REFUSED, message),
    ]
    return journaled(seen.scaler, _with_conditions(seen, verdicts, now), seen.recorded, now)


def _report(case: "_Case", now: Instant) -> Decision:
    seen = case.seen
    verdicts = [_ready(case), _reconciling(case), _degraded(seen), *_autoscaled(case)]
    before = seen.scaler.status
    mark = _scaling(case, now)
    status = msgspec.structs.replace(
        _holding(_with_conditions(seen, verdicts, now), case.hold),
        target_observed_replicas=case.workload.running,
        baseline_replicas=(
            case.workload.replicas if before.baseline_replicas is None else before.baseline_replicas
        ),
        last_scale_time=mark.at if mark else before.last_scale_time,
        scalings=mark.number if mark else before.scalings,
    )
    news = [scaling(mark)] if mark else []
    if _overrides(case):
        news.append(News("window.overridden", case.hold.message))
    skipped = tuple(_skipped(case))
    news += [News("scaling.skipped", tell.message) for tell in skipped]
    return Decision(
        status=journaled(seen.scaler, status, seen.recorded, now, *news),
        tells=(*_override(case), *skipped, *_untold(case)),
        after=_look_again(seen, case.hold, now),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """What shall hold now, and why."""

    effective: int
    expiry: Instant | None
    window: str
    reason: Reason
    message: str
    began: Instant | None
    boundary: Instant | None


def _hold(seen: Seen, now: Instant) -> _Hold:
    status, spec = seen.scaler.status, seen.scaler.spec
    answer = seen.timeline.at(now) if seen.timeline else None
    wanted = answer.value if answer else seen.default_replicas
    running_out = Instant(status.grace_period_expiry) if status.grace_period_expiry else None
    effective, expiry = apply_grace(wanted, _last_wanted(seen), running_out, spec.grace_period_seconds, now)
    if answer is None:
        message = f"{wanted} replicas, the default, because the zone {spec.timezone} is unknown."
    elif expiry:
        message = f"{effective} replicas are kept until {expiry.format_iso(unit='second')}, then {wanted}."
    else:
        message = answer.message
    return _Hold(
        effective=effective,
        expiry=expiry,
        window=answer.window if answer else OFF_HOURS,
        reason=answer.reason if answer else Reason.INVALID_TIMEZONE,
        message=message,
        began=answer.since if answer else None,
        boundary=answer.until if answer else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A target that is there, and how far it is from what shall hold."""

    seen: Seen
    workload: Workload
    hold: _Hold
    old: int
    new: int
    writes: tuple[Patch, ...]
    reached: bool


def _case(seen: Seen, workload: Workload, hold: _Hold) -> _Case:
    writes = steps(workload, seen.autoscaler, hold.effective)
    return _Case(
        seen=seen,
        workload=workload,
        hold=hold,
        old=level(workload, seen.autoscaler),
        new=reachable(workload, seen.autoscaler, hold.effective),
        writes=writes,
        reached=not writes and is_reached(workload, seen.autoscaler, hold.effective),
    )


def _settling(seen: Seen, now: Instant) -> float:
    """How much longer the status may wait for the target to follow what was written."""
    if seen.wrote_at is None or now < seen.wrote_at:  # somebody has set the clock back
        return 0.0
    return _patience(seen) - (now - seen.wrote_at).total("seconds")


def _patience(seen: Seen) -> float:
    """How long the status may trail. At a boundary that thousands cross, each would be told twice."""
    return min(SETTLE_SECONDS + seen.settling / SETTLED_A_SECOND, LONGEST_TRAIL_SECONDS)


def _last_wanted(seen: Seen) -> int | None:
    """What was wanted when the target was last written, or looked at."""
    return seen.mark.wanted if seen.mark else seen.scaler.status.effective_replicas


def _drifted(case: _Case) -> bool:
    """Whether somebody else has changed the number: what is wanted has not changed since it was set."""
    status = case.seen.scaler.status
    known = case.seen.mark is not None or case.seen.wrote_at is None
    ready = find(status.conditions, READY)
    let_be = bool(status.paused) or (ready is not None and ready.reason in _LETS_BE)
    return known and not let_be and _last_wanted(case.seen) == case.hold.effective


def _mark(case: _Case, number: int, now: Instant, *, old: int | None = None) -> Mark:
    return Mark(
        scaler=case.seen.scaler.metadata.uid,
        number=number,
        at=whole_second(now),
        old=case.old if old is None else old,
        new=case.new,
        wanted=case.hold.effective,
        window=case.hold.window,
        drift=_drifted(case),
    )


def _scaling(case: _Case, now: Instant) -> Mark | None:
    """The scaling that this status is the first to tell of."""
    seen, status = case.seen, case.seen.scaler.status
    if seen.mark or not (seen.wrote_at or _is_unrecorded(case)):
        return seen.mark
    number, old = (status.scalings or 0) + 1, status.effective_replicas
    return _mark(case, number, seen.wrote_at or now, old=old)


def _scaled(case: _Case) -> Tell:
    message = (
        f"Corrected manual drift from {case.old} to {case.new} replicas"
        if _drifted(case)
        else _from_to(case, case.old, case.new)
    )
    return Tell(reason="ScaledUp" if case.new > case.old else "ScaledDown", message=message)


def _untold(case: _Case) -> Iterator[Tell]:
    """A transition that was written by a process which did not live to tell it."""
    mark, before = case.seen.mark, case.seen.scaler.status.effective_replicas
    old, new = (mark.old, mark.new) if mark else (before, case.hold.effective)
    if old is not None and case.seen.wrote_at is None and (mark or (case.reached and _is_unrecorded(case))):
        yield Tell(reason="ScaledUp" if new > old else "ScaledDown", message=_from_to(case, old, new))


def _is_unrecorded(case: _Case) -> bool:
    """Whether a target that can bear no mark went to a new number of which nobody has told.

    Somebody may have set the very number by hand just before the boundary; then this tells of one scaling
    too many, which is better than one too few.
    """
    seen, effective = case.seen, case.seen.scaler.status.effective_replicas
    bears_none = bool(case.workload.place.subresource) and seen.autoscaler is None
    known = effective in {None, case.hold.effective}
    return bears_none and seen.wrote_at is None and not known and not seen.scaler.spec.pause


def _from_to(case: _Case, old: int, new: int) -> str:
    return f"Scaled {case.seen.target} from {old} to {new}. {case.hold.message}"


def _skipped(case: _Case) -> Iterator[Tell]:
    """Told once for each pair of numbers: the condition remembers the last one."""
    before = find(case.seen.scaler.status.conditions, READY)
    if case.writes and (before is None or before.message != _paused(case)):
        yield Tell(reason="ScalingSkipped", message=_paused(case))


def _paused(case: _Case) -> str:
    return (
        f"Paused: would scale {case.seen.target} from {case.old} to {case.new} replicas. "
        "Set spec.pause to false to let it."
    )


def _override(case: _Case) -> Iterator[Tell]:
    if _overrides(case) and case.seen.wrote_at is None:
        yield Tell(reason="WindowOverride", message=case.hold.message)


def _overrides(case: _Case) -> bool:
    """Once a holiday: the status still announces another boundary then, or none."""
    status, boundary = case.seen.scaler.status, case.hold.boundary
    announced = boundary is not None and status.next_boundary == whole_second(boundary)
    told = announced and status.observed_generation == case.seen.scaler.metadata.generation
    return case.hold.reason in {Reason.HOLIDAY_CLOSED, Reason.HOLIDAY_OPEN} and not told


def _ready(case: _Case) -> Verdict:
    if case.reached:
        return Verdict(READY, True, "Reconciled", case.hold.message)
    if case.writes:
        return Verdict(READY, False, "TargetMismatch", _paused(case))
    message = f"{case.seen.target} is set to {case.new} replicas and has {case.workload.running}."
    return Verdict(READY, False, "TargetMismatch", message)


def _reconciling(case: _Case) -> Verdict:
    scaler = case.seen.scaler
    if case.hold.expiry:
        return Verdict(RECONCILING, True, "WindowTransition", case.hold.message)
    if case.reached or scaler.spec.pause:
        return Verdict(RECONCILING, False, "Stable")
    before = find(scaler.status.conditions, RECONCILING)
    still = before is not None and before.status == "True" and before.reason == "ConfigurationChange"
    changed = scaler.status.observed_generation != scaler.metadata.generation
    return Verdict(RECONCILING, True, "ConfigurationChange" if changed or still else "WindowTransition")


def _degraded(seen: Seen) -> Verdict:
    if not seen.troubles:
        return Verdict(DEGRADED, False, "OperationalNormal")
    return Verdict(DEGRADED, True, seen.troubles[0].reason, " ".join(t.message for t in seen.troubles))


def _autoscaled(case: _Case) -> Iterator[Verdict]:
    """Say where the number goes when it does not go to the target itself."""
    match case.seen.autoscaler:
        case Horizontal(place=place):
            message = f"The number is set as minReplicas of HorizontalPodAutoscaler {place.name}."
            if case.new < case.hold.effective:
                message += f" Its maxReplicas is {case.new}; raise it to get {case.hold.effective}."
            yield Verdict(AUTOSCALED, True, "HorizontalPodAutoscaler", message)
        case Keda(place=place):
            message = f"The KEDA ScaledObject {place.name} is paused at the number."
            yield Verdict(AUTOSCALED, True, "ScaledObject", message)
        case None:
            if find(case.seen.scaler.status.conditions, AUTOSCALED):
                yield Verdict(AUTOSCALED, False, "NoAutoscaler", "The number is set on the target itself.")


def _with_conditions(seen: Seen, verdicts: list[Verdict], now: Instant) -> TimeWindowScalerStatus:
    status, generation = seen.scaler.status, seen.scaler.metadata.generation
    conditions = lay_over(status.conditions, verdicts, now=now, generation=generation)
    return msgspec.structs.replace(
        status,
        observed_generation=generation,
        conditions=conditions,
        paused=seen.scaler.spec.pause or None,
    )


def _holding(status: TimeWindowScalerStatus, hold: _Hold) -> TimeWindowScalerStatus:
    return msgspec.structs.replace(
        status,
        current_window=hold.window,
        effective_replicas=hold.effective,
        grace_period_expiry=whole_second(hold.expiry) if hold.expiry else None,
        next_boundary=whole_second(hold.boundary) if hold.boundary else None,
    )


def _look_again(seen: Seen, hold: _Hold, now: Instant) -> float:
    """When to look by ourselves; a change of anything that was gathered comes earlier."""
    times = [LONGEST_SECONDS]
    if hold.boundary:
        times.append(spread(hold.boundary - now, seen.pace, seen.jitter))
    if hold.expiry:
        times.append((hold.expiry - now).total("seconds"))
    if seen.is_measured:
        times.append(EXTERNAL_SECONDS)
    if seen.troubles:
        times.append(MISTAKE_SECONDS)
    return min(times)


def spread(until: TimeDelta, pace: Pace, jitter: float) -> float:
    """The design's requeue formula, but never a look before the boundary itself (ruling 18)."""
    base = until.total("seconds")
    delay = base + pace.jitter_from + jitter * (pace.jitter_to - pace.jitter_from)
    quantised = math.floor(delay / 10) * 10.0
    return min(LONGEST_SECONDS, max(pace.minimum, quantised, base))
