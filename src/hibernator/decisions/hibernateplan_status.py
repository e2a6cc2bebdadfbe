"""The steps of a plan's status: an operation begins, goes on, is interrupted, ends, is opened again.

The status is also the plan's memory. The last entry of `history` tells where the plan stands, `targets` how
far the operation is, and both change in one write. So anyone who reads it after a crash goes on from there.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.planstatus import (
    Cycle,
    HibernatePlanStatus,
    HourlySaving,
    ItemCount,
    Operation,
    OperationResult,
    Rest,
    Result,
    Savings,
    TargetState,
    TargetStatus,
    WokenByOthers,
)
from hibernator.decisions.conditions import shortened, whole_second
from hibernator.decisions.hibernateplan_order import pause
from hibernator.decisions.hibernateplan_restore import NOTHING, Saving

REMEMBERED: Final = 5
_MOST_MACHINES: Final = 32  # kinds of machines that a status names
_replace = msgspec.structs.replace


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutcome:
    """How far the work on one target has come since the last look."""

    state: Literal["working", "done", "failed", "hopeless"]
    items: ItemCount
    message: str = ""
    saving: Saving = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """An item that others woke while its plan sleeps."""

    item: str
    by: str = ""  # the field manager that did it, if it is known
    at: Instant | None = None  # when it did, if that is known
    target: str = ""
    saving: Saving = NOTHING  # of an hour, if it slept


def standing(status: HibernatePlanStatus, kept: Collection[str]) -> Rest:
    """Where the plan stands, or is going to."""
    if not status.history:
        return "Asleep" if kept else "Awake"  # a plan of this name was deleted and has left its sleepers
    return "Awake" if status.history[-1].wake else "Asleep"


def states(status: HibernatePlanStatus) -> dict[str, TargetStatus]:
    return {target.name: target for target in status.targets}


def fold(
    status: HibernatePlanStatus, outcomes: Mapping[str, TargetOutcome], retries: int, now: Instant
) -> HibernatePlanStatus:
    """Lay what was done over what was said before."""
    if not outcomes or status.current_operation is None:
        return status
    targets = tuple(
        _folded(target, outcomes[target.name], retries, now)
        if target.name in outcomes and target.state == "Running"
        else target
        for target in status.targets
    )
    slept = [
        outcomes[new.name].saving
        for old, new in zip(status.targets, targets, strict=True)
        if status.current_operation == "Sleep" and old.state == "Running" and new.state == "Completed"
    ]
    return _with_saving(_replace(status, targets=targets), slept)


def begin(
    status: HibernatePlanStatus,
    operation: Operation,
    names: Iterable[str],
    skipped: Iterable[str],
    now: Instant,
) -> HibernatePlanStatus:
    """Start an operation; what another was doing is over, however far it came."""
    status = _interrupted(status, now)
    history, cycle = status.history, status.cycle or 0
    started = OperationResult(started_at=whole_second(now))
    if operation == "Sleep":
        cycle += 1
        history = (*history, Cycle(cycle=cycle, sleep=started))[-REMEMBERED:]
    else:
        last = history[-1] if history else Cycle(cycle=cycle)
        history = (*history[:-1], _replace(last, wake=started))
    targets = (
        *(TargetStatus(name=name, state="Pending") for name in names),
        *(TargetStatus(name=name, state="Skipped", message="Nothing of it was asleep.") for name in skipped),
    )
    savings = status.savings if operation == "Sleep" else _saved(status, now)
    return _replace(
        status,
        current_operation=operation,
        cycle=cycle,
        history=history,
        targets=targets,
        savings=savings,
    )


def reopen(status: HibernatePlanStatus, names: Collection[str], now: Instant) -> HibernatePlanStatus:
    """Go on with the last operation for these targets, which failed, are new or were changed.

    What they saved up to now is counted; from then on they save what comes of the new work.
    """
    operation = last_operation(status)
    known = states(status)
    targets = tuple(
        TargetStatus(name=name, state="Pending") if name in names else known[name]
        for name in (*known, *(name for name in names if name not in known))
    )
    last = status.history[-1]
    ran = last.wake or last.sleep
    if ran is None or operation is None:
        return status
    again = OperationResult(started_at=ran.started_at)
    savings = status.savings
    if operation == "Sleep":
        savings = _saved(status, now)
        others = [_saving_of(saves_now(target)) for target in targets if target.saving]
        last = _replace(last, saving=hourly(sum(others, NOTHING)) if last.saving else None)
    return _replace(
        status,
        current_operation=operation,
        targets=targets,
        savings=savings,
        history=(*status.history[:-1], _ran(last, operation, again)),
    )


def finish(status: HibernatePlanStatus, now: Instant) -> HibernatePlanStatus:
    """End the operation, when no target has anything left to do."""
    operation = status.current_operation
    if operation is None:
        return status
    counts = {state: sum(t.state == state for t in status.targets) for state in ("Completed", "Failed")}
    bad = sum(target.state in {"Failed", "Aborted"} for target in status.targets)
    good = len(status.targets) - bad
    result: Result = "Succeeded" if not bad else "PartlyFailed" if good else "Failed"
    failed = [target.name for target in status.targets if target.state == "Failed"]
    message = f"Failed: {', '.join(failed)}." if failed else ""
    last = status.history[-1]
    ran = last.wake if operation == "Wake" else last.sleep
    ended = _ended(ran, result, now, completed=counts["Completed"], failed=counts["Failed"], message=message)
    return _replace(
        status, current_operation=None, history=(*status.history[:-1], _ran(last, operation, ended))
    )


def with_state(target: TargetStatus, state: TargetState, message: str, now: Instant) -> TargetStatus:
    return _replace(target, state=state, message=message, finished_at=whole_second(now))


def started(target: TargetStatus, now: Instant) -> TargetStatus:
    return _replace(
        target,
        state="Running",
        attempts=(target.attempts or 0) + 1,
        started_at=whole_second(now),
        finished_at=None,
        message="",
        items=None,
    )


def last_operation(status: HibernatePlanStatus) -> Operation | None:
    if not status.history:
        return None
    return "Wake" if status.history[-1].wake else "Sleep"


def last_result(status: HibernatePlanStatus) -> OperationResult | None:
    return (status.history[-1].wake or status.history[-1].sleep) if status.history else None


def _folded(target: TargetStatus, outcome: TargetOutcome, retries: int, now: Instant) -> TargetStatus:
    target, message = _replace(target, items=outcome.items), shortened(outcome.message)
    match outcome.state:
        case "working":
            return _replace(target, message=message)
        case "done":
            saving = hourly(outcome.saving) if outcome.saving != NOTHING else None
            return with_state(_replace(target, saving=saving), "Completed", message, now)
        case "failed" if (target.attempts or 1) <= retries:
            minutes = pause(target.attempts or 1) / 60
            again = f"{message} Tried again after {minutes:g} min."
            return with_state(target, "Pending", again, now)
        case _:
            return with_state(target, "Failed", message, now)


def _interrupted(status: HibernatePlanStatus, now: Instant) -> HibernatePlanStatus:
    operation = status.current_operation
    if operation is None or not status.history:
        return status
    last = status.history[-1]
    ran = last.wake if operation == "Wake" else last.sleep
    completed = sum(target.state == "Completed" for target in status.targets)
    message = "Interrupted: the schedule asked for the opposite."
    ended = _ended(ran, "Aborted", now, completed=completed, failed=0, message=message)
    return _replace(status, history=(*status.history[:-1], _ran(last, operation, ended)))


def _ended(
    ran: OperationResult | None, result: Result, now: Instant, *, completed: int, failed: int, message: str
) -> OperationResult:
    end = whole_second(now)
    start = ran.started_at if ran else end
    return OperationResult(
        started_at=start,
        finished_at=end,
        duration_seconds=max((end - start).total_seconds(), 0.0),
        result=result,
        completed=completed,
        failed=failed,
        message=message,
    )


def _ran(cycle: Cycle, operation: Operation, result: OperationResult) -> Cycle:
    return _replace(cycle, wake=result) if operation == "Wake" else _replace(cycle, sleep=result)


def _with_saving(status: HibernatePlanStatus, slept: list[Saving]) -> HibernatePlanStatus:
    if not slept:
        return status
    last = status.history[-1]
    saving = hourly(sum(slept, _saving_of(last.saving)))
    return _replace(status, history=(*status.history[:-1], _replace(last, saving=saving)))


def with_woken(status: HibernatePlanStatus, woken: Iterable[Woken], now: Instant) -> HibernatePlanStatus:
    """Count what others woke as saving nothing from when they did, and what sleeps again from now on."""
    if status.current_operation is not None or not status.history or status.history[-1].wake:
        return status
    by_target: dict[str, list[Woken]] = {}
    for one in woken:
        by_target.setdefault(one.target, []).append(one)
    for target in status.targets:
        status = _with_woken_of(status, target, by_target.get(target.name, ()), now)
    return status


def _with_woken_of(
    status: HibernatePlanStatus, target: TargetStatus, woken: Collection[Woken], now: Instant
) -> HibernatePlanStatus:
    before = target.woken_by_others or WokenByOthers(items=0, since=whole_second(now))
    lost = sum((one.saving for one in woken), NOTHING)
    if (before.items, before.saving or hourly(NOTHING)) == (len(woken), hourly(lost)):
        return status
    more = lost - _saving_of(before.saving)
    last, savings = status.history[-1], _saved(status, now)
    since = _woken_at(woken, last, now) if len(woken) > before.items else now
    if savings:
        savings = _more(savings, more * -(now - since).total("hours"), counted_until=now)
    after = WokenByOthers(items=len(woken), since=whole_second(since), saving=hourly(lost)) if woken else None
    last = _replace(last, saving=hourly(_saving_of(last.saving) - more))
    return _replace(
        status,
        savings=savings,
        history=(*status.history[:-1], last),
        targets=tuple(
            _replace(one, woken_by_others=after) if one is target else one for one in status.targets
        ),
    )


def _woken_at(woken: Iterable[Woken], cycle: Cycle, now: Instant) -> Instant:
    """When the last of them was woken; now, if that is not known or cannot be."""
    last = max((one.at or now for one in woken), default=now)
    asleep = cycle.sleep.finished_at if cycle.sleep else None
    return last if asleep and Instant(asleep) <= last <= now else now


def saves_now(target: TargetStatus) -> HourlySaving:
    """What an hour of a target's sleep saves, without what others woke of it."""
    awake = target.woken_by_others
    return hourly(_saving_of(target.saving) - _saving_of(awake.saving if awake else None))


def _saving_of(said: HourlySaving | None) -> Saving:
    if said is None:
        return NOTHING
    return Saving(said.cpu_cores or 0.0, said.memory_gib or 0.0, said.nodes or 0.0, said.machines)


def hourly(saving: Saving) -> HourlySaving:
    """As the status says it, to the thousandth."""
    return HourlySaving(
        cpu_cores=round(saving.cpu_cores, 3),
        memory_gib=round(saving.memory_gib, 3),
        nodes=round(saving.nodes, 3) or None,
        machines={
            name: round(number, 3) for name, number in sorted(saving.machines.items())[:_MOST_MACHINES]
        },
    )


def saved_by(status: HibernatePlanStatus, now: Instant) -> Savings | None:
    """The savings up to now, those of a sleep that has not ended included."""
    return status.savings if not status.history or status.history[-1].wake else _saved(status, now)


def _saved(status: HibernatePlanStatus, now: Instant) -> Savings | None:
    """The savings with those of the sleep that ends now."""
    last = status.history[-1] if status.history else None
    if last is None or last.saving is None or last.sleep is None or last.sleep.finished_at is None:
        return status.savings
    before = status.savings or Savings(since=last.sleep.started_at)
    start = max(last.sleep.finished_at, before.counted_until or last.sleep.finished_at)
    # A clock that was set back has no hours to take away again.
    hours = max(0.0, (whole_second(now) - start).total_seconds() / 3600)
    return _more(before, _saving_of(last.saving) * hours)


def _more(savings: Savings, saved: Saving, counted_until: Instant | None = None) -> Savings:
    return Savings(
        cpu_core_hours=round((savings.cpu_core_hours or 0.0) + saved.cpu_cores, 3),
        memory_gib_hours=round((savings.memory_gib_hours or 0.0) + saved.memory_gib, 3),
        node_hours=round((savings.node_hours or 0.0) + saved.nodes, 3) or None,
        since=savings.since,
        counted_until=whole_second(counted_until) if counted_until else None,
    )
