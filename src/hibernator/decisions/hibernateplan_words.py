"""What a plan tells of itself: its phase, its conditions, and an event for each thing that became of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Condition
from hibernator.api.planstatus import HibernatePlanStatus, OperationResult, Phase, TargetStatus
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import Verdict, find, lay_over
from hibernator.decisions.hibernateplan_status import Woken, last_operation, last_result, states
from hibernator.decisions.notice import Notice

READY: Final = "Ready"
DEGRADED: Final = "Degraded"
WOKEN_BY_OTHERS: Final = "WokenByOthers"  # only once it has happened

# Reasons of conditions.
ASLEEP: Final = "Asleep"
AWAKE: Final = "Awake"
FALLING_ASLEEP: Final = "FallingAsleep"
WAKING_UP: Final = "WakingUp"
SUSPENDED: Final = "Suspended"
DRY_RUN: Final = "DryRun"
INVALID: Final = "InvalidConfiguration"
TARGETS_FAILED: Final = "TargetsFailed"
NORMAL: Final = "OperationalNormal"
SOURCE_TROUBLE: Final = "SourceUnavailable"
STRAYS_FOUND: Final = "StraysFound"
ITEMS_AWAKE: Final = "ItemsAwake"

_NAMED: Final = 3  # strays that the message names

EventReason = Literal[
    "SleepStarted",
    "SleepInterrupted",
    "SleepCompleted",
    "SleepFailed",
    "WakeStarted",
    "WakeInterrupted",
    "WakeCompleted",
    "WakeFailed",
    "TargetFailed",
    "TargetRetried",
    "Suspended",
    "Resumed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """All that is needed to word a plan's state."""

    plan: HibernatePlan
    status: HibernatePlanStatus
    suspended: bool
    asleep: bool
    message: str  # of the schedule
    problems: tuple[Problem, ...]
    troubles: tuple[str, ...]
    strays: tuple[str, ...] = ()
    woken: tuple[Woken, ...] | None = ()  # None if it is not known yet


def phase(told: Told) -> Phase:
    """Where the plan is, in one word."""
    if told.problems:
        return "Error"
    if told.suspended:
        return "Suspended"
    match told.status.current_operation:
        case "Sleep":
            return "Hibernating"
        case "Wake":
            return "WakingUp"
    if told.plan.spec.dry_run and not told.status.history:
        return "Pending"
    if _is_broken(told):
        return "Error"
    return "Hibernated" if told.asleep else "Active"


def conditions(told: Told, now: Instant) -> tuple[Condition, ...]:
    verdicts = (_ready(told), _degraded(told), *_woken_by_others(told))
    generation = told.plan.metadata.generation
    return lay_over(told.status.conditions, verdicts, now=now, generation=generation)


def notices(before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[Notice[EventReason]]:
    """What became of the plan between two statuses."""
    known = {cycle.cycle: cycle for cycle in before.history}
    for cycle in after.history:
        old = known.get(cycle.cycle)
        yield from _operation("Sleep", cycle.cycle, old.sleep if old else None, cycle.sleep)
        yield from _operation("Wake", cycle.cycle, old.wake if old else None, cycle.wake)
    if after.current_operation and before.current_operation == after.current_operation:
        yield from _targets(before, after)
    if after.phase == "Suspended" and before.phase != "Suspended":
        yield Notice(
            type="Normal", reason="Suspended", message="Everything stays as it is until it is resumed."
        )
    if before.phase == "Suspended" and after.phase != "Suspended":
        yield Notice(type="Normal", reason="Resumed", message="The plan follows its schedule again.")


def _operation(
    name: Literal["Sleep", "Wake"], cycle: int, old: OperationResult | None, new: OperationResult | None
) -> Iterator[Notice[EventReason]]:
    if new is None:
        return
    what = "Going to sleep" if name == "Sleep" else "Waking up"
    if old is None or old.started_at != new.started_at:
        started: EventReason = "SleepStarted" if name == "Sleep" else "WakeStarted"
        yield Notice(type="Normal", reason=started, message=f"{what} (cycle {cycle}).")
    if new.result is None or (old and old.result == new.result and old.finished_at == new.finished_at):
        return
    counts = f"{new.completed or 0} targets done, {new.failed or 0} failed, after {new.duration_seconds:g} s"
    message = f"{what} (cycle {cycle}): {counts}. {new.message}".strip()
    match name, new.result:
        case "Sleep", "Succeeded":
            yield Notice(type="Normal", reason="SleepCompleted", message=message)
        case "Wake", "Succeeded":
            yield Notice(type="Normal", reason="WakeCompleted", message=message)
        case "Sleep", "Aborted":
            yield Notice(type="Normal", reason="SleepInterrupted", message=message)
        case "Wake", "Aborted":
            yield Notice(type="Normal", reason="WakeInterrupted", message=message)
        case "Sleep", _:
            yield Notice(type="Warning", reason="SleepFailed", message=message)
        case _:
            yield Notice(type="Warning", reason="WakeFailed", message=message)


def _targets(before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[Notice[EventReason]]:
    known = states(before)
    for target in after.targets:
        old = known.get(target.name)
        if old is None or old.state == target.state:
            continue
        if target.state == "Failed":
            yield Notice(type="Warning", reason="TargetFailed", message=f"{target.name}: {target.message}")
        elif target.state == "Pending" and target.attempts:
            yield Notice(type="Warning", reason="TargetRetried", message=f"{target.name}: {target.message}")


def _ready(told: Told) -> Verdict:
    if told.problems:
        return Verdict(READY, False, INVALID, "Nothing goes to sleep until the spec is mended.")
    if told.suspended:
        why = f" {told.plan.spec.suspend_reason}" if told.plan.spec.suspend_reason else ""
        until = told.plan.spec.suspend_until
        end = f"until {until:%Y-%m-%dT%H:%M:%SZ}" if until else "until spec.suspend is false"
        return Verdict(READY, False, SUSPENDED, f"Everything stays as it is {end}.{why}")
    match told.status.current_operation:
        case "Sleep":
            return Verdict(READY, False, FALLING_ASLEEP, _doing(told))
        case "Wake":
            return Verdict(READY, False, WAKING_UP, _doing(told))
    if told.plan.spec.dry_run:
        return Verdict(READY, True, DRY_RUN, "A dry run: status.targets says what would happen.")
    if _is_broken(told):
        return Verdict(READY, False, TARGETS_FAILED, _failures(told))
    return Verdict(READY, True, ASLEEP if told.asleep else AWAKE, told.message)


def _degraded(told: Told) -> Verdict:
    if told.problems:
        message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in told.problems)
        return Verdict(DEGRADED, True, INVALID, message)
    if _failed(told):
        return Verdict(DEGRADED, True, TARGETS_FAILED, _failures(told))
    if told.strays:
        return Verdict(DEGRADED, True, STRAYS_FOUND, _strays(told))
    if told.troubles:
        return Verdict(DEGRADED, True, SOURCE_TROUBLE, " ".join(told.troubles))
    return Verdict(DEGRADED, False, NORMAL)


def _woken_by_others(told: Told) -> Iterator[Verdict]:
    if told.woken is None:
        return
    if told.woken:
        named = [f"{one.item} by {one.by or 'an unknown manager'}" for one in told.woken[:_NAMED]]
        more = len(told.woken) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        then = "Left awake until the next sleep; spec.behavior.onWokenByOthers: SleepAgain changes that."
        if told.plan.spec.behavior.on_woken_by_others == "SleepAgain":
            then = "Put to sleep again."
        message = f"Woken while the plan sleeps: {', '.join(named)}{rest}. {then}"
        yield Verdict(WOKEN_BY_OTHERS, True, ITEMS_AWAKE, message)
    elif find(told.status.conditions, WOKEN_BY_OTHERS):
        yield Verdict(WOKEN_BY_OTHERS, False, NORMAL)


def _strays(told: Told) -> str:
    named, more = told.strays[:_NAMED], len(told.strays) - _NAMED
    items = "1 item bears" if len(told.strays) == 1 else f"{len(told.strays)} items bear"
    why = "does not know what it was" if told.asleep else "is awake"
    rest = f" and {more} more" if more > 0 else ""
    return (
        f"{items} the mark of this plan, which {why}: {', '.join(named)}{rest}. "
        f"See `hibernator plan strays -n {told.plan.metadata.namespace}`."
    )


def _is_broken(told: Told) -> bool:
    """Whether the last operation ended in a way that somebody must look at.

    A sleep that went as far as it could is a sleep all the same; who is not woken is missed.
    """
    result = last_result(told.status)
    if result is None or result.result not in {"Failed", "PartlyFailed"}:
        return False
    tolerates = told.plan.spec.behavior.mode == "BestEffort" and result.result == "PartlyFailed"
    return not (tolerates and last_operation(told.status) == "Sleep")


def _failed(told: Told) -> list[TargetStatus]:
    return [target for target in told.status.targets if target.state == "Failed"]


def _failures(told: Told) -> str:
    failures = " ".join(f"{target.name}: {target.message}" for target in _failed(told))
    wait = " or wait half an hour" if last_operation(told.status) == "Wake" else ""
    return f"{failures} Mend it, then run `hibernator plan retry {told.plan.metadata.name}`{wait}."[:4096]


def _doing(told: Told) -> str:
    working = [target.name for target in told.status.targets if target.state == "Running"]
    return f"Working on {', '.join(working)}." if working else "Waiting before the next attempt."
