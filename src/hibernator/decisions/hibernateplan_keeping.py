"""When restore data may go, and when it is missing: pure questions about a plan and what is kept for it."""

from collections.abc import Collection, Iterator

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.decisions.hibernateplan_case import Run, direction
from hibernator.decisions.hibernateplan_restore import Kept
from hibernator.decisions.hibernateplan_status import last_operation, standing, states

_UNDERWAY = frozenset({"Pending", "Running", "Failed"})


def removed(plan: HibernatePlan) -> frozenset[str]:
    """Targets that the status knows and the spec does not name any more: they are woken at any time."""
    return frozenset(states(plan.status)) - {target.name for target in plan.spec.targets}


def is_woken(plan: HibernatePlan, name: str, kept: Kept) -> bool:
    """Whether the status says that the target was woken in the cycle that its entries are of, or later."""
    known = states(plan.status).get(name)
    if known is None or known.state != "Completed" or direction(plan, plan.status, name) != "Wake":
        return False
    return all(entry.cycle <= (plan.status.cycle or 0) for entry in kept.entries.values())


def missing(plan: HibernatePlan, kept: Collection[str]) -> Iterator[Run]:
    """Targets of which something sleeps, or may be about to, by what the status says, and nothing is kept."""
    wakes = last_operation(plan.status) == "Wake"
    spec = {target.name for target in plan.spec.targets}
    for name, target in states(plan.status).items():
        if name in kept or name not in spec:
            continue
        slept = target.items is not None and bool(target.items.done)
        underway = plan.status.current_operation is not None and target.state in _UNDERWAY
        begun = underway and target.state != "Pending"
        if (slept and not wakes) or begun or (wakes and (underway or target.state == "Failed")):
            yield Run(name=name, operation="Wake")


def is_stray(plan: HibernatePlan, kept: Collection[str] | None, item: str, *, excluded: bool = False) -> bool:
    """Whether an item with the mark of the plan sleeps although the plan is awake, or does not know it.

    One that was excluded in the night is a stray, too. While the plan works, it deals with its sleepers
    itself. `kept` has the keys of what it knows, or is None if that was not read yet.
    """
    if plan.status.current_operation is not None or (kept is None and not plan.status.history):
        return False
    return excluded or standing(plan.status, kept or ()) == "Awake" or (kept is not None and item not in kept)


def is_woken_by_others(plan: HibernatePlan, kept: Collection[str] | None, item: str, *, asleep: bool) -> bool:
    """Whether an item that still bears the mark of a sleeping plan does not sleep any more."""
    if asleep or plan.status.current_operation is not None or not kept:
        return False
    return item in kept and standing(plan.status, kept) == "Asleep"


def may_act(plan: HibernatePlan, *, suspended: bool) -> bool:
    """Whether the plan may touch anything outside of its operations."""
    free = plan.status.current_operation is None and plan.metadata.deletion_timestamp is None
    return free and not suspended and not plan.spec.dry_run
