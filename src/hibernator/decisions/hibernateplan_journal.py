"""What became of a plan between two statuses, for its journal and from there for the audit trail."""

from collections.abc import Iterator, Mapping
from typing import Final

from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.planstatus import HibernatePlanStatus, OperationResult, TargetStatus
from hibernator.decisions.hibernateplan_case import RETRY, direction
from hibernator.decisions.hibernateplan_status import saves_now, states
from hibernator.decisions.hibernateplan_words import DEGRADED
from hibernator.decisions.journal import (
    RETRIED_BY,
    News,
    author,
    by_author,
    by_user,
    degraded_news,
    spec_news,
)

_MOST: Final = 2.0**53  # more is no whole number for JSON's readers
_ENDED: Final[Mapping[str, str]] = {
    "Succeeded": "completed",
    "Aborted": "interrupted",
    "Failed": "failed",
    "PartlyFailed": "failed",
}


def news_of(plan: HibernatePlan, status: HibernatePlanStatus) -> Iterator[News]:
    """The journal entries of a new status."""
    before = plan.status
    yield from spec_news(before.observed_generation, plan.metadata)
    yield from _suspension(plan, before, status)
    yield from _retry(plan, before, status)
    yield from _exceptions(before, status)
    yield from _targets(plan, before, status)
    yield from _operations(before, status)
    yield from degraded_news(before.conditions, status.conditions, DEGRADED)


def _suspension(
    plan: HibernatePlan, before: HibernatePlanStatus, after: HibernatePlanStatus
) -> Iterator[News]:
    if after.phase == "Suspended" != before.phase:
        by = by_author(before.observed_generation, plan.metadata)
        yield News("suspended", plan.spec.suspend_reason or "", by)
    elif before.phase == "Suspended" != after.phase:
        # Suspended still, by what the spec says: then it was until a moment, which has come.
        by = by_author(before.observed_generation, plan.metadata)
        yield News("resumed", data={"by": "suspendUntil"} if plan.spec.suspend else by)


def _retry(plan: HibernatePlan, before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[News]:
    if before.retried != after.retried:
        asked = plan.metadata.annotations.get(RETRY, "")
        by = by_user(author(plan.metadata, asked, RETRIED_BY))
        yield News("retried", data={"request": after.retried, **by})


def _exceptions(before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[News]:
    was = {one.name: one for one in before.active_exceptions if one.state == "Active"}
    now = {one.name: one for one in after.active_exceptions if one.state == "Active"}
    for name in sorted(was.keys() - now.keys()):
        yield News("exception.ended", data={"exception": name})
    for name in sorted(now.keys() - was.keys()):
        yield News("exception.applied", data={"exception": name, "type": now[name].type})


def _targets(plan: HibernatePlan, before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[News]:
    known = states(before)
    for target in after.targets:
        old = known.get(target.name)
        operation = direction(plan, after, target.name)
        named = _became(target, operation)
        if named and target.finished_at and (old is None or old.state != target.state):
            data: dict[str, int | str] = {
                "target": target.name,
                "operation": operation.lower(),
                "attempts": target.attempts or 0,
                "cycle": after.cycle or 0,
                **(_saving(plan, target) if named == "slept" else {}),
            }
            yield News(f"target.{named}", target.message, data, Instant(target.finished_at))
        elif old and old.state == target.state == "Completed" and operation == "Sleep":
            yield from _woken_by_others(plan, old, target, after.cycle or 0)


def _woken_by_others(
    plan: HibernatePlan, old: TargetStatus, target: TargetStatus, cycle: int
) -> Iterator[News]:
    """What a target saves from here on, because others woke something of it, or it sleeps again."""
    was, now = old.woken_by_others, target.woken_by_others
    if was == now:
        return
    awake, before = now.items if now else 0, was.items if was else 0
    data: dict[str, int | str] = {
        "target": target.name,
        "awake": awake,
        "cycle": cycle,
        **_saving(plan, target),
    }
    yield News(
        "target.wokenbyothers" if awake >= before else "target.sleptagain",
        data=data,
        at=Instant(now.since) if now and awake > before else None,
    )


def _saving(plan: HibernatePlan, target: TargetStatus) -> dict[str, int | str]:
    """What its sleep saves in an hour, in whole numbers, and in which zone that hour is."""
    saving = saves_now(target)
    awake = target.woken_by_others.items if target.woken_by_others else 0
    type_ = next((one.type for one in plan.spec.targets if one.name == target.name), "")
    return {
        "type": type_,
        "items": max(0, ((target.items.done if target.items else None) or 0) - awake),
        "cpuMillicores": _whole(saving.cpu_cores, 1000),
        "memoryMiB": _whole(saving.memory_gib, 1024),
        "nodes": _whole(saving.nodes),
        **({"machines": _machines(saving.machines)} if saving.machines else {}),
        "timezone": plan.spec.schedule.timezone,
    }


def _machines(machines: Mapping[str, float]) -> str:
    """How many of which machines: `eu-central-1/m5.large=3 eu-central-1/m5.xlarge=1`."""
    return " ".join(f"{name}={_whole(number)}" for name, number in sorted(machines.items()))


def _whole(amount: float | None, times: int = 1) -> int:
    """A whole number that the API server takes for one, however much a workload asks for."""
    return round(min((amount or 0.0) * times, _MOST))


def _became(target: TargetStatus, operation: str) -> str:
    match target.state:
        case "Completed":
            return "slept" if operation == "Sleep" else "woken"
        case "Failed":
            return "failed"
        case "Pending":
            return "failed" if target.attempts else ""
        case "Aborted":
            return "aborted"
        case _:
            return ""


def _operations(before: HibernatePlanStatus, after: HibernatePlanStatus) -> Iterator[News]:
    """How the last operation ended comes before how the next one began, as it was."""
    known = {cycle.cycle: cycle for cycle in before.history}
    for cycle in after.history:
        old = known.get(cycle.cycle)
        yield from _operation("sleep", cycle.cycle, old.sleep if old else None, cycle.sleep)
        yield from _operation("wake", cycle.cycle, old.wake if old else None, cycle.wake)


def _operation(
    name: str, cycle: int, old: OperationResult | None, new: OperationResult | None
) -> Iterator[News]:
    if new is None or new == old:
        return
    if old is None or old.started_at != new.started_at:
        yield News(f"{name}.started", data={"cycle": cycle}, at=Instant(new.started_at))
    if new.result and new.finished_at and (old is None or old.finished_at != new.finished_at):
        data = {
            "cycle": cycle,
            "completed": new.completed or 0,
            "failed": new.failed or 0,
            "seconds": round(new.duration_seconds or 0.0),
        }
        yield News(f"{name}.{_ENDED[new.result]}", new.message, data, Instant(new.finished_at))
