"""When an operation of a plan that is over begins again, and for which of its targets."""

from typing import Final

from whenever import Instant, TimeDelta

from hibernator.api.planstatus import HibernatePlanStatus
from hibernator.decisions.hibernateplan_case import REST_SECONDS, RETRY, Seen
from hibernator.decisions.hibernateplan_order import LONGEST_PAUSE
from hibernator.decisions.hibernateplan_status import last_operation, last_result, standing, states

UNDONE: Final = frozenset({"Failed", "Aborted"})


def opened_again(seen: Seen, status: HibernatePlanStatus, now: Instant) -> tuple[str, ...]:
    """The targets that the last operation is not over for.

    Because a user says so, or changed the spec, because it was long ago that they could not be woken, or
    because other items of them are to sleep by now.
    """
    plan = seen.plan
    asked = plan.metadata.annotations.get(RETRY, status.retried)[:64] != status.retried
    changed = status.observed_generation != plan.metadata.generation
    once_more = once_more_at(status)
    if not status.history:
        return ()
    if not (asked or changed or (once_more and _is_over(LONGEST_PAUSE, once_more, now))):
        return _due(seen, status, now)
    failed = [target.name for target in status.targets if target.state in UNDONE]
    if standing(status, seen.kept) == "Awake" or not changed:
        return tuple(failed)
    names = [target.name for target in plan.spec.targets]
    removed = sorted(seen.kept - set(names))
    known = states(status)
    return (
        *removed,
        *(name for name in names if name in failed or name in seen.changed or name not in known),
    )


def _due(seen: Seen, status: HibernatePlanStatus, now: Instant) -> tuple[str, ...]:
    """Of a sleeping plan, the targets of which something falls asleep later or is woken sooner than the rest.

    Not those that failed: they would fail again, at once and for ever. And not again at once: a user who
    may edit one workload could keep a plan of many namespaces busy with its annotation.
    """
    rested = rested_at(status)
    if standing(status, seen.kept) == "Awake" or (rested and not _is_over(REST_SECONDS, rested, now)):
        return ()
    known = states(status)
    names = [target.name for target in seen.plan.spec.targets if target.name in seen.due]
    return tuple(name for name in names if name in known and known[name].state == "Completed")


def rested_at(status: HibernatePlanStatus) -> Instant | None:
    result = last_result(status)
    return Instant(result.finished_at).add(seconds=REST_SECONDS) if result and result.finished_at else None


def once_more_at(status: HibernatePlanStatus) -> Instant | None:
    """When a failed waking begins again by itself: nothing stays asleep because no one retries it."""
    result = last_result(status)
    over = status.current_operation is None and last_operation(status) == "Wake" and result is not None
    undone = any(target.state in UNDONE and target.attempts for target in status.targets)
    if not over or not undone or result is None or result.finished_at is None:
        return None
    return Instant(result.finished_at) + TimeDelta(seconds=LONGEST_PAUSE)


def _is_over(pause: float, end: Instant, now: Instant) -> bool:
    """Whether a pause is over. More than all of it is left only if the clock was set back."""
    return not 0 < (end - now).total("seconds") <= pause
