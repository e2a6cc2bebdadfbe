"""What a scaler says about where it stands: its conditions, and the events for people."""

from collections.abc import Iterator

from hibernator.decisions.conditions import ConditionState, Notice, find, whole_second
from hibernator.decisions.scaling import Horizontal, Keda
from hibernator.decisions.timewindowscaler_case import (
    AUTOSCALED,
    DEGRADED,
    LIMITED,
    READY,
    RECONCILING,
    Case,
    EventReason,
    Seen,
    drifted,
    is_unrecorded,
)
from hibernator.schedule.timeline import Reason


def scaled(case: Case) -> Notice[EventReason]:
    message = (
        f"Corrected manual drift from {case.old} to {case.new} replicas"
        if drifted(case)
        else _from_to(case, case.old, case.new)
    )
    return Notice("Normal", reason="ScaledUp" if case.new > case.old else "ScaledDown", message=message)


def unreported(case: Case) -> Iterator[Notice[EventReason]]:
    """A transition whose process ended between the write of it and the notice."""
    mark, before = case.seen.mark, case.seen.scaler.status.effective_replicas
    old, new = (mark.old, mark.new) if mark else (before, case.hold.effective)
    if old is not None and case.seen.wrote_at is None and (mark or (case.reached and is_unrecorded(case))):
        yield Notice(
            "Normal", reason="ScaledUp" if new > old else "ScaledDown", message=_from_to(case, old, new)
        )


def _from_to(case: Case, old: int, new: int) -> str:
    return f"Scaled {case.seen.target} from {old} to {new}. {case.hold.message}"


def skipped(case: Case) -> Iterator[Notice[EventReason]]:
    """Said once for each pair of numbers: the condition remembers the last one."""
    before = find(case.seen.scaler.status.conditions, READY)
    if case.writes and (before is None or before.message != _paused(case)):
        yield Notice("Normal", reason="ScalingSkipped", message=_paused(case))


def _paused(case: Case) -> str:
    return (
        f"Paused: would scale {case.seen.target} from {case.old} to {case.new} replicas. "
        "Set spec.pause to false to let it."
    )


def override(case: Case) -> Iterator[Notice[EventReason]]:
    if overrides(case) and case.seen.wrote_at is None:
        yield Notice("Normal", reason="WindowOverride", message=case.hold.message)


def overrides(case: Case) -> bool:
    """Once a holiday: the status still announces another boundary then, or none."""
    status, boundary = case.seen.scaler.status, case.hold.boundary
    announced = boundary is not None and status.next_boundary == whole_second(boundary)
    is_repeated = announced and status.observed_generation == case.seen.scaler.metadata.generation
    return case.hold.reason in {Reason.HOLIDAY_CLOSED, Reason.HOLIDAY_OPEN} and not is_repeated


def ready(case: Case) -> ConditionState:
    if case.reached and (limit := _limited(case)):
        return ConditionState(READY, False, LIMITED, limit)
    if case.reached:
        return ConditionState(READY, True, "Reconciled", case.hold.message)
    if case.writes:
        return ConditionState(READY, False, "TargetMismatch", _paused(case))
    message = f"{case.seen.target} is set to {case.new} replicas and has {case.workload.running}."
    return ConditionState(READY, False, "TargetMismatch", message)


def _limited(case: Case) -> str:
    """Why fewer run than the schedule asks for, although all that can be done is done."""
    match case.seen.autoscaler:
        case Horizontal(place=place, maximum=maximum) if case.new < case.hold.effective:
            return (
                f"{case.seen.target} runs with {case.new} of the {case.hold.effective} replicas that the "
                f"schedule asks for: maxReplicas of HorizontalPodAutoscaler {place.name} is {maximum}. Raise "
                "it, or lower the number of the window."
            )
    return ""


def reconciling(case: Case) -> ConditionState:
    scaler = case.seen.scaler
    if case.hold.expiry:
        return ConditionState(RECONCILING, True, "WindowTransition", case.hold.message)
    if case.reached or scaler.spec.pause:
        return ConditionState(RECONCILING, False, "Stable")
    before = find(scaler.status.conditions, RECONCILING)
    still = before is not None and before.status == "True" and before.reason == "ConfigurationChange"
    changed = scaler.status.observed_generation != scaler.metadata.generation
    return ConditionState(
        RECONCILING, True, "ConfigurationChange" if changed or still else "WindowTransition"
    )


def degraded(seen: Seen) -> ConditionState:
    if not seen.troubles:
        return ConditionState(DEGRADED, False, "OperationalNormal")
    return ConditionState(DEGRADED, True, seen.troubles[0].reason, " ".join(t.message for t in seen.troubles))


def autoscaled(case: Case) -> Iterator[ConditionState]:
    """Say where the number goes when it does not go to the target itself."""
    match case.seen.autoscaler:
        case Horizontal(place=place) if case.new == 0:
            message = (
                f"The number is 0, which is set as spec.replicas of {case.seen.target}: "
                f"HorizontalPodAutoscaler {place.name} does nothing until it is more."
            )
            yield ConditionState(AUTOSCALED, True, "HorizontalPodAutoscaler", message)
        case Horizontal(place=place):
            message = f"The number is set as minReplicas of HorizontalPodAutoscaler {place.name}."
            if case.new < case.hold.effective:
                message += f" Its maxReplicas is {case.new}; raise it to get {case.hold.effective}."
            yield ConditionState(AUTOSCALED, True, "HorizontalPodAutoscaler", message)
        case Keda(place=place):
            message = f"The KEDA ScaledObject {place.name} is paused at the number."
            yield ConditionState(AUTOSCALED, True, "ScaledObject", message)
        case None:
            if find(case.seen.scaler.status.conditions, AUTOSCALED):
                yield ConditionState(
                    AUTOSCALED, False, "NoAutoscaler", "The number is set on the target itself."
                )
