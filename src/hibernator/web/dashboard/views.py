"""What pages show and `/api/v1` answers, computed from objects. Pure.

One value for both, so that a script never sees what a page hides, or the other way round.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import Condition, Model, says
from hibernator.api.planstatus import Cycle, HourlySaving, TargetStatus
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.decisions.hibernateplan_words import DEGRADED, READY
from hibernator.schedule.timeline import Interval, State

PHASES: Final = {  # and how people say them
    "Active": "Awake",
    "Hibernated": "Asleep",
    "Hibernating": "Falling asleep",
    "WakingUp": "Waking up",
    "Suspended": "Suspended",
    "Error": "Failed",
    "Pending": "Starting",
}
KEPT_STATES: Final = {
    "Asleep": "Asleep",
    "WakingUp": "Waking up",
    "Awake": "Awake",
    "LeftAlone": "Left alone",
}
MOST_ROWS: Final = 50


class View(Model, omit_defaults=False):
    """An answer; every field is written out, so that scripts need not know defaults."""


class Change(View):
    at: Annotated[datetime, says("When the schedule changes.")]
    to: Annotated[str, says("`Asleep` or `Awake`.")]
    why: Annotated[str, says("Why, in words.")] = ""


class PlanRow(View):
    """A HibernatePlan in a list."""

    namespace: str
    name: str
    uid: str
    phase: Annotated[str, says("Where the plan is, as in its status.")]
    state: Annotated[str, says("The same in words, such as `Asleep` or `Waking up`.")]
    timezone: str
    progress: Annotated[str, says("How many targets are done in the current operation, as `3/5`.")] = ""
    next: Annotated[Change | None, says("The next change, where there is one.")] = None
    exceptions: Annotated[tuple[str, ...], says("The exceptions that are active now.")] = ()
    message: Annotated[str, says("How it is going, as the operator words it.")] = ""
    failed: Annotated[bool, says("Whether something failed.")] = False
    dry_run: Annotated[bool, says("Whether it only reports what it would do.")] = False
    labels: Annotated[dict[str, str], says("The labels of the plan.")] = msgspec.field(default_factory=dict)


class TargetView(View):
    name: str
    type: str
    state: str
    attempts: int = 0
    total: Annotated[int | None, says("How many items it has.")] = None
    done: Annotated[int | None, says("How many are done.")] = None
    failed: Annotated[int | None, says("How many failed.")] = None
    skipped: Annotated[int | None, says("How many were left alone.")] = None
    message: str = ""
    started_at: datetime | None = None
    finished_at: datetime | None = None
    saving: Annotated[str, says("What each hour of its sleep saves, in words.")] = ""


class RunView(View):
    started_at: datetime
    result: Annotated[str, says("How it ended; empty while it runs.")] = ""
    seconds: Annotated[float | None, says("How long it took.")] = None
    message: str = ""


class CycleView(View):
    number: int
    sleep: RunView | None = None
    wake: RunView | None = None


class ConditionView(View):
    type: str
    status: str
    reason: str
    since: datetime
    message: str = ""


class SavedView(View):
    core_hours: float = 0.0
    gib_hours: float = 0.0
    node_hours: float = 0.0
    since: datetime | None = None


class ExceptionRow(View):
    """A ScheduleException in a list."""

    namespace: str
    name: str
    uid: str
    plan: str
    type: Annotated[str, says("`extend`, `suspend` or `replace`.")]
    state: str
    valid_from: datetime
    valid_until: datetime
    requested_by: str = ""
    reason: str = ""
    progress: Annotated[str, says("How many of the needed approvals are there, as `1/2`.")] = ""
    deadline: Annotated[datetime | None, says("By when it must be approved.")] = None
    message: str = ""
    page: Annotated[str, says("The path of its page.")] = ""


class PlanView(View):
    """A HibernatePlan with all that is known of it."""

    plan: PlanRow
    why: Annotated[str, says("Why it should be asleep or awake now, in words.")] = ""
    since: Annotated[datetime | None, says("Since when that holds.")] = None
    suspended_until: datetime | None = None
    suspend_reason: str = ""
    strategy: str = ""
    targets: tuple[TargetView, ...] = ()
    cycles: Annotated[tuple[CycleView, ...], says("The last five cycles, the newest first.")] = ()
    conditions: tuple[ConditionView, ...] = ()
    exceptions: tuple[ExceptionRow, ...] = ()
    saved: SavedView | None = None


class Page(View):
    """Where in a list one is."""

    total: Annotated[int, says("How many there are in all.")]
    page: Annotated[int, says("Which page this is, from 1 on.")] = 1
    pages: Annotated[int, says("How many pages there are.")] = 1


class PlanList(Page):
    items: tuple[PlanRow, ...] = ()


def state_words(plan: HibernatePlan) -> str:
    return PHASES.get(plan.status.phase or "Pending", "Starting")


def is_failed(plan: HibernatePlan) -> bool:
    return plan.status.phase == "Error" or any(
        one.state in {"Failed", "Aborted"} for one in plan.status.targets
    )


def plan_row(plan: HibernatePlan) -> PlanRow:
    status, metadata = plan.status, plan.metadata
    return PlanRow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        phase=status.phase or "Pending",
        state=state_words(plan),
        timezone=plan.spec.schedule.timezone,
        progress=status.progress,
        next=next_change(plan),
        exceptions=tuple(one.name for one in status.active_exceptions if one.state == "Active"),
        message=_message(plan),
        failed=is_failed(plan),
        dry_run=plan.spec.dry_run,
        labels=dict(metadata.labels),
    )


def _message(plan: HibernatePlan) -> str:
    """How it is going; where something failed, what that was."""
    conditions = plan.status.conditions
    degraded, ready = find(conditions, DEGRADED), find(conditions, READY)
    if degraded and degraded.status == "True" and degraded.message:
        return degraded.message
    return ready.message if ready else ""


def next_change(plan: HibernatePlan) -> Change | None:
    """What happens next; nothing, where it is suspended without an end."""
    if plan.status.phase == "Suspended":
        until = plan.spec.suspend_until
        return Change(at=until, to="Resumed", why="The suspension ends.") if until else None
    found = plan.status.next_transition
    return Change(at=found.at, to=found.to, why=found.reason) if found else None


def plan_view(
    plan: HibernatePlan,
    exceptions: Iterable[ScheduleException],
    day: Sequence[Interval[State]],
    now: Instant,
) -> PlanView:
    status = plan.status
    types = {one.name: one.type for one in plan.spec.targets}
    states = {one.name: one for one in status.targets}
    saved = saved_by(status, now)
    held = next((one for one in day if one.start <= now < one.end), None)
    return PlanView(
        plan=plan_row(plan),
        why=held.message if held else "",
        suspended_until=plan.spec.suspend_until,
        suspend_reason=plan.spec.suspend_reason or "",
        strategy=plan.spec.execution.strategy.type,
        targets=tuple(_target(name, type_, states.get(name)) for name, type_ in types.items()),
        cycles=tuple(_cycle(one) for one in reversed(status.history)),
        conditions=condition_views(status.conditions),
        exceptions=exception_rows(exceptions),
        saved=SavedView(
            core_hours=saved.cpu_core_hours or 0.0,
            gib_hours=saved.memory_gib_hours or 0.0,
            node_hours=saved.node_hours or 0.0,
            since=saved.since,
        )
        if saved
        else None,
    )


def condition_views(found: Iterable[Condition]) -> tuple[ConditionView, ...]:
    return tuple(
        ConditionView(
            type=one.type,
            status=one.status,
            reason=one.reason,
            message=one.message,
            since=one.last_transition_time,
        )
        for one in found
    )


def _target(name: str, type_: str, status: TargetStatus | None) -> TargetView:
    if status is None:
        return TargetView(name=name, type=type_, state="Pending")
    items = status.items
    return TargetView(
        name=name,
        type=type_,
        state=status.state,
        attempts=status.attempts or 0,
        total=items.total if items else None,
        done=items.done if items else None,
        failed=items.failed if items else None,
        skipped=items.skipped if items else None,
        message=status.message,
        started_at=status.started_at,
        finished_at=status.finished_at,
        saving=_saving(status.saving),
    )


def _saving(saving: HourlySaving | None) -> str:
    if saving is None:
        return ""
    parts = (
        (saving.cpu_cores, "core", "cores"),
        (saving.memory_gib, "GiB", "GiB"),
        (saving.nodes, "node", "nodes"),
    )
    return ", ".join(f"{value:g} {one if value == 1 else more}" for value, one, more in parts if value)


def _cycle(one: Cycle) -> CycleView:
    return CycleView(number=one.cycle, sleep=_run(one.sleep), wake=_run(one.wake))


def _run(run: Any) -> RunView | None:
    if run is None:
        return None
    return RunView(
        started_at=run.started_at, result=run.result or "", seconds=run.duration_seconds, message=run.message
    )


def state_of(one: ScheduleException) -> str:
    return one.status.state or ("Draft" if one.spec.draft else "Pending")


def exception_row(one: ScheduleException) -> ExceptionRow:
    spec, status, metadata = one.spec, one.status, one.metadata
    return ExceptionRow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        plan=spec.plan_ref.name,
        type=spec.type,
        state=state_of(one),
        valid_from=spec.valid_from,
        valid_until=spec.valid_until,
        requested_by=status.requested_by,
        reason=spec.reason or "",
        progress=status.approval_progress,
        deadline=status.approval_deadline if status.state == "Pending" else None,
        message=status.message,
        page=f"/approve/{metadata.uid}",
    )


def exception_rows(found: Iterable[ScheduleException]) -> tuple[ExceptionRow, ...]:
    """The newest first."""
    rows = [exception_row(one) for one in found]
    return tuple(sorted(rows, key=lambda row: (row.valid_from, row.name), reverse=True))
