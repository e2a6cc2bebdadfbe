"""When restore data may go, and when it is missing: pure questions about a plan and what is kept for it."""

from collections.abc import Collection, Iterator

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.decisions.hibernateplan import Run, direction
from hibernator.decisions.hibernateplan_restore import Kept
from hibernator.decisions.hibernateplan_status import last_operation, standing, states

_UNDERWAY = frozenset({"Pending", "Running", "Failed"})


def strangers(plan: HibernatePlan) -> frozenset[str]:
    """Targets that the status knows and the spec does not name any more: they are woken at any time."""
    return frozenset(states(plan.status)) - {target.name for target in plan.spec.targets}


def is_woken(plan: HibernatePlan, name: str, kept: Kept) -> bool:
    """Whether the status says that the target was woken in the cycle that its entries are of, or later."""
    known = states(plan.status).get(name)
    if known is None or known.state != "Completed" or direction(plan, plan.status, name) != "Wake":
        return False
    return all(entry.cycle <= (plan.status.cycle or 0) for entry in kept.entries.values())


def missing(plan: HibernatePlan, kept: Collection[str]) -> Iterator[Run]:
    """Targets of which something sleeps, by what the status says, and nothing is kept."""
    wakes = last_operation(plan.status) == "Wake"
    spec = {target.name for target in plan.spec.targets}
    for name, target in states(plan.status).items():
        if name in kept or name not in spec:
            continue
        slept = target.items is not None and bool(target.items.done)
        underway = plan.status.current_operation is not None and target.state in _UNDERWAY
        if (slept and not wakes) or (wakes and (underway or target.state == "Failed")):
            yield Run(name=name, operation="Wake")


def is_stray(plan: HibernatePlan, kept: Collection[str] | None, item: str) -> bool:
    """Whether an item with the mark of the plan sleeps although the plan is awake, or does not know it.

    While the plan works, it deals with its sleepers itself. `kept` has the keys of what it knows, or is None
    if that was not read yet.
    """
    if plan.status.current_operation is not None or (kept is None and not plan.status.history):
        return False
    return standing(plan.status, kept or ()) == "Awake" or (kept is not None and item not in kept)


def wakes_strays(plan: HibernatePlan, kept: Collection[str], *, suspended: bool) -> bool:
    """Whether the plan says awake, and may act."""
    if suspended or plan.spec.dry_run or plan.metadata.deletion_timestamp is not None:
        return False
    return plan.status.current_operation is None and standing(plan.status, kept) == "Awake"
