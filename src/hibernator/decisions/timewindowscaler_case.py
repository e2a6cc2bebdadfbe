"""Where a scaler stands: what shall hold now and why, and how far its target is from that."""

from dataclasses import dataclass
from typing import Final

from whenever import Instant

from hibernator.decisions.conditions import find
from hibernator.decisions.scaling import Patch, Workload, is_reached, level, reachable, steps
from hibernator.decisions.timewindowscaler_terms import HIBERNATED, READY, REFUSED, Seen
from hibernator.schedule.grace import apply_grace
from hibernator.schedule.labels import OFF_HOURS
from hibernator.schedule.verdicts import Reason

# While Ready says this, nothing is set, so that a number that differs afterwards is nobody's meddling.
_LETS_BE: Final = frozenset({HIBERNATED, REFUSED, "TargetNotFound", "TargetClaimed", "InvalidConfiguration"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """What shall hold now, and why."""

    effective: int
    expiry: Instant | None
    window: str
    reason: Reason
    message: str
    began: Instant | None
    boundary: Instant | None


def hold_at(seen: Seen, now: Instant) -> Hold:
    status, spec = seen.scaler.status, seen.scaler.spec
    answer = seen.timeline.at(now) if seen.timeline else None
    wanted = answer.value if answer else seen.default_replicas
    running_out = Instant(status.grace_period_expiry) if status.grace_period_expiry else None
    effective, expiry = apply_grace(wanted, last_wanted(seen), running_out, spec.grace_period_seconds, now)
    if answer is None:
        message = f"{wanted} replicas, the default, because the zone {spec.timezone} is unknown."
    elif expiry:
        message = f"{effective} replicas are kept until {expiry.format_iso(unit='second')}, then {wanted}."
    else:
        message = answer.message
    return Hold(
        effective=effective,
        expiry=expiry,
        window=answer.window if answer else OFF_HOURS,
        reason=answer.reason if answer else Reason.INVALID_TIMEZONE,
        message=message,
        began=answer.since if answer else None,
        boundary=answer.until if answer else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A target that is there, and how far it is from what shall hold."""

    seen: Seen
    workload: Workload
    hold: Hold
    old: int
    new: int
    writes: tuple[Patch, ...]
    reached: bool


def case_of(seen: Seen, workload: Workload, hold: Hold) -> Case:
    writes = steps(workload, seen.autoscaler, hold.effective)
    return Case(
        seen=seen,
        workload=workload,
        hold=hold,
        old=level(workload, seen.autoscaler),
        new=reachable(workload, seen.autoscaler, hold.effective),
        writes=writes,
        reached=not writes and is_reached(workload, seen.autoscaler, hold.effective),
    )


def last_wanted(seen: Seen) -> int | None:
    """What was wanted when the target was last written, or looked at."""
    return seen.mark.wanted if seen.mark else seen.scaler.status.effective_replicas


def drifted(case: Case) -> bool:
    """Whether somebody else has changed the number: what is wanted has not changed since it was set."""
    status = case.seen.scaler.status
    known = case.seen.mark is not None or case.seen.wrote_at is None
    ready = find(status.conditions, READY)
    let_be = bool(status.paused) or (ready is not None and ready.reason in _LETS_BE)
    return known and not let_be and last_wanted(case.seen) == case.hold.effective


def is_unrecorded(case: Case) -> bool:
    """Whether a target that can bear no mark went to a new number of which nobody has told.

    Somebody may have set the very number by hand just before the boundary; then this tells of one scaling
    too many, which is better than one too few.
    """
    seen, effective = case.seen, case.seen.scaler.status.effective_replicas
    bears_none = bool(case.workload.place.subresource) and seen.autoscaler is None
    known = effective in {None, case.hold.effective}
    return bears_none and seen.wrote_at is None and not known and not seen.scaler.spec.pause
