"""What suspends, resumes or retries a plan, as a merge patch: for commands and for pages."""

from collections.abc import Mapping
from typing import Any, Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.decisions.hibernateplan_case import RETRY

RESUMED: Final[Mapping[str, Any]] = {"spec": {"suspend": False, "suspendUntil": None, "suspendReason": None}}


def suspended(until: Instant | None, reason: str) -> dict[str, Any]:
    at = until.format_iso() if until else None
    return {"spec": {"suspend": True, "suspendUntil": at, "suspendReason": reason or None}}


def retried(at: Instant) -> dict[str, Any]:
    """The moment makes it another retry than the last one."""
    return {"metadata": {"annotations": {RETRY: at.format_iso(unit="millisecond")}}}


def failed_for_good(plan: HibernatePlan) -> tuple[str, ...]:
    """The targets that a retry would try again; none while the plan is at work."""
    if plan.status.current_operation:
        return ()
    return tuple(target.name for target in plan.status.targets if target.state in {"Failed", "Aborted"})
