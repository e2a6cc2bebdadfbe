"""What the audit trail is told about a plan: all that its status remembers, again on each change.

Ids come from cycles and attempts, so that the trail keeps each transition once, also one whose process died
between the status and the trail.
"""

from collections.abc import Iterator
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.planstatus import OperationResult, TargetStatus
from hibernator.audit.event import AuditEvent, Resource, event
from hibernator.audit.trail import Trail
from hibernator.decisions.hibernateplan import direction

_ENDED: Final = {
    "Succeeded": "completed",
    "Aborted": "interrupted",
    "Failed": "failed",
    "PartlyFailed": "failed",
}


def record(trail: Trail, plan: HibernatePlan) -> bool:
    """Tell everything; False when something did not fit in and must be told again."""
    told = [trail.has(one.id) or trail.record(one) for one in events(plan)]
    return all(told)


def events(plan: HibernatePlan) -> Iterator[AuditEvent]:
    about = Resource.of(PLANS, plan)
    for cycle in plan.status.history:
        for name, ran in (("sleep", cycle.sleep), ("wake", cycle.wake)):
            if ran:
                yield from _operation(about, name, cycle.cycle, ran)
    for target in plan.status.targets:
        yield from _target(about, plan, target)
    if plan.status.retried and (ran := _last(plan)):
        at = Instant(ran.started_at)
        yield event("hibernateplan.retried", about, at=at, identity=(plan.status.retried,))


def _operation(about: Resource, name: str, cycle: int, ran: OperationResult) -> Iterator[AuditEvent]:
    correlation = f"{about.uid}/{cycle}"
    started = Instant(ran.started_at)
    yield event(
        f"hibernateplan.{name}.started",
        about,
        at=started,
        identity=(cycle, started.format_iso()),
        correlation_id=correlation,
    )
    if ran.result and ran.finished_at:
        at = Instant(ran.finished_at)
        failed = _ENDED[ran.result] == "failed"
        yield event(
            f"hibernateplan.{name}.{_ENDED[ran.result]}",
            about,
            at=at,
            identity=(cycle, at.format_iso()),
            correlation_id=correlation,
            data={"completed": ran.completed or 0, "failed": ran.failed or 0},
            duration_ms=round((ran.duration_seconds or 0.0) * 1000),
            error=ran.message if failed else "",
        )


def _target(about: Resource, plan: HibernatePlan, target: TargetStatus) -> Iterator[AuditEvent]:
    operation = direction(plan, plan.status, target.name)
    named = {
        "Completed": "slept" if operation == "Sleep" else "woken",
        "Failed": "failed",
        "Aborted": "aborted",
        "Pending": "failed" if target.attempts else "",
    }.get(target.state)
    if not named or target.finished_at is None:
        return
    at, cycle = Instant(target.finished_at), plan.status.cycle or 0
    yield event(
        f"hibernateplan.target.{named}",
        about,
        at=at,
        identity=(cycle, operation, target.name, at.format_iso()),
        correlation_id=f"{about.uid}/{cycle}",
        data={"target": target.name, "attempts": target.attempts or 0},
        error=target.message if named in {"failed", "aborted"} else "",
    )


def _last(plan: HibernatePlan) -> OperationResult | None:
    history = plan.status.history
    return (history[-1].wake or history[-1].sleep) if history else None
