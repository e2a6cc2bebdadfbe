"""What a plan reports: its phase, its conditions, and an Event for each transition."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Condition
from hibernator.api.planstatus import HibernatePlanStatus, Phase, TargetStatus
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import ConditionState, Notice, find, lay_over
from hibernator.decisions.hibernateplan_status import Woken, last_operation, last_result
from hibernator.decisions.journal import News

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
UNCONFIRMED: Final = "WakingUnconfirmed"
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
class Summary:
    """All that is needed to word a plan's state."""

    plan: HibernatePlan
    status: HibernatePlanStatus
    suspended: bool
    asleep: bool
    message: str  # of the schedule
    problems: tuple[Problem, ...]
    troubles: tuple[str, ...]
    unconfirmed: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    woken: tuple[Woken, ...] | None = ()  # None if it is not known yet


def phase(summary: Summary) -> Phase:
    """Where the plan is, in one word."""
    if summary.problems:
        return "Error"
    if summary.suspended:
        return "Suspended"
    match summary.status.current_operation:
        case "Sleep":
            return "Hibernating"
        case "Wake":
            return "WakingUp"
    if summary.plan.spec.dry_run and not summary.status.history:
        return "Pending"
    if _is_broken(summary):
        return "Error"
    return "Hibernated" if summary.asleep else "Active"


def conditions(summary: Summary, now: Instant) -> tuple[Condition, ...]:
    verdicts = (_ready(summary), _degraded(summary), *_woken_by_others(summary))
    generation = summary.plan.metadata.generation
    return lay_over(summary.status.conditions, verdicts, now=now, generation=generation)


_EVENTS: Final[Mapping[str, tuple[Literal["Normal", "Warning"], EventReason, str]]] = {
    "sleep.started": ("Normal", "SleepStarted", "Going to sleep"),
    "sleep.completed": ("Normal", "SleepCompleted", "Going to sleep"),
    "sleep.interrupted": ("Normal", "SleepInterrupted", "Going to sleep"),
    "sleep.failed": ("Warning", "SleepFailed", "Going to sleep"),
    "wake.started": ("Normal", "WakeStarted", "Waking up"),
    "wake.completed": ("Normal", "WakeCompleted", "Waking up"),
    "wake.interrupted": ("Normal", "WakeInterrupted", "Waking up"),
    "wake.failed": ("Warning", "WakeFailed", "Waking up"),
    "suspended": ("Normal", "Suspended", "Everything stays as it is until it is resumed."),
    "resumed": ("Normal", "Resumed", "The plan follows its schedule again."),
}


def notices(
    before: HibernatePlanStatus, after: HibernatePlanStatus, news: Iterable[News]
) -> Iterator[Notice[EventReason]]:
    """What of the news is an event too; the end of an operation names the targets of its last pass."""
    goes_on = after.current_operation is not None and before.current_operation == after.current_operation
    pending = {target.name for target in after.targets if target.state == "Pending"}
    for one in news:
        if one.type == "target.failed" and goes_on:
            name = str(one.data["target"])
            reason: EventReason = "TargetRetried" if name in pending else "TargetFailed"
            yield Notice("Warning", reason, f"{name}: {one.message}")
        elif found := _EVENTS.get(one.type):
            type_, reason, what = found
            yield Notice(type_, reason, _with_counts(what, one) if "cycle" in one.data else what)


def _with_counts(what: str, one: News) -> str:
    """The message of an operation that began or ended."""
    data = one.data
    if "seconds" not in data:
        return f"{what} (cycle {data['cycle']})."
    done = "1 target" if data["completed"] == 1 else f"{data['completed']} targets"
    counts = f"{done} done, {data['failed']} failed, after {data['seconds']} s"
    return f"{what} (cycle {data['cycle']}): {counts}. {one.message}".strip()


def _ready(summary: Summary) -> ConditionState:
    if summary.problems:
        return ConditionState(READY, False, INVALID, "Nothing goes to sleep until the spec is corrected.")
    if summary.suspended:
        why = f" {summary.plan.spec.suspend_reason}" if summary.plan.spec.suspend_reason else ""
        until = summary.plan.spec.suspend_until
        end = f"until {until:%Y-%m-%dT%H:%M:%SZ}" if until else "until spec.suspend is false"
        return ConditionState(READY, False, SUSPENDED, f"Everything stays as it is {end}.{why}")
    match summary.status.current_operation:
        case "Sleep":
            return ConditionState(READY, False, FALLING_ASLEEP, _doing(summary))
        case "Wake":
            return ConditionState(READY, False, WAKING_UP, _doing(summary))
    if summary.plan.spec.dry_run and summary.asleep:
        message = "A dry run: what sleeps stays asleep until spec.dryRun is false."
        return ConditionState(READY, False, DRY_RUN, message)
    if summary.plan.spec.dry_run:
        return ConditionState(READY, True, DRY_RUN, "A dry run: status.targets says what would happen.")
    if _is_broken(summary):
        return ConditionState(READY, False, TARGETS_FAILED, _failures(summary))
    return ConditionState(READY, True, ASLEEP if summary.asleep else AWAKE, summary.message)


def _degraded(summary: Summary) -> ConditionState:
    if summary.problems:
        message = " ".join(f"{p.path}: {p.message}. {p.fix}" for p in summary.problems)
        return ConditionState(DEGRADED, True, INVALID, message)
    if _failed(summary):
        return ConditionState(DEGRADED, True, TARGETS_FAILED, _failures(summary))
    if summary.strays:
        return ConditionState(DEGRADED, True, STRAYS_FOUND, _strays(summary))
    if summary.unconfirmed:
        return ConditionState(DEGRADED, True, UNCONFIRMED, _unconfirmed(summary))
    if summary.troubles:
        return ConditionState(DEGRADED, True, SOURCE_TROUBLE, " ".join(summary.troubles))
    return ConditionState(DEGRADED, False, NORMAL)


def _woken_by_others(summary: Summary) -> Iterator[ConditionState]:
    if summary.woken is None:
        return
    if summary.woken:
        named = [f"{one.item} by {one.by or 'an unknown manager'}" for one in summary.woken[:_NAMED]]
        more = len(summary.woken) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        then = "Left awake until the next sleep; spec.behavior.onWokenByOthers: SleepAgain changes that."
        if summary.plan.spec.behavior.on_woken_by_others == "SleepAgain":
            then = "Put to sleep again."
        message = f"Woken while the plan sleeps: {', '.join(named)}{rest}. {then}"
        yield ConditionState(WOKEN_BY_OTHERS, True, ITEMS_AWAKE, message)
    elif find(summary.status.conditions, WOKEN_BY_OTHERS):
        yield ConditionState(WOKEN_BY_OTHERS, False, NORMAL)


def _unconfirmed(summary: Summary) -> str:
    metadata = summary.plan.metadata
    return (
        "Something may still be asleep, and its restore data is kept. "
        f"{' '.join(summary.unconfirmed[:_NAMED])} "
        f"See `hibernator plan restore-data {metadata.name} -n {metadata.namespace}`."
    )


def _strays(summary: Summary) -> str:
    named, more = summary.strays[:_NAMED], len(summary.strays) - _NAMED
    items = "1 item bears" if len(summary.strays) == 1 else f"{len(summary.strays)} items bear"
    why = "does not know what it was" if summary.asleep else "is awake"
    rest = f" and {more} more" if more > 0 else ""
    return (
        f"{items} the mark of this plan, which {why}: {', '.join(named)}{rest}. "
        f"See `hibernator plan strays -n {summary.plan.metadata.namespace}`."
    )


def _is_broken(summary: Summary) -> bool:
    """Whether the last operation ended in a way that someone must look at.

    A sleep that went as far as it could is a sleep all the same; who is not woken is missed.
    """
    result = last_result(summary.status)
    if result is None or result.result not in {"Failed", "PartlyFailed"}:
        return False
    tolerates = summary.plan.spec.behavior.mode == "BestEffort" and result.result == "PartlyFailed"
    return not (tolerates and last_operation(summary.status) == "Sleep")


def _failed(summary: Summary) -> list[TargetStatus]:
    return [target for target in summary.status.targets if target.state == "Failed"]


def _failures(summary: Summary) -> str:
    failures = " ".join(f"{target.name}: {target.message}" for target in _failed(summary))
    wait = " or wait half an hour" if last_operation(summary.status) == "Wake" else ""
    plan = summary.plan.metadata
    then = f"Correct it, then run `hibernator plan retry {plan.name} -n {plan.namespace}`{wait}."
    return f"{failures} {then}"[:4096]


def _doing(summary: Summary) -> str:
    working = [target.name for target in summary.status.targets if target.state == "Running"]
    return f"Working on {', '.join(working)}." if working else "Waiting before the next attempt."
