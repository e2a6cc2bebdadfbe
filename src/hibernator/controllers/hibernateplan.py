"""HibernatePlan: gather what the decision needs, write the status it takes, then work on what it names.

The status is written before anything is touched, and what the work came to is folded into the next pass. What
is remembered in between (laid-out timelines, progress, what the API server holds of the restore data) only
saves work: a new process finds all of it again.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog
from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.plan_checks import check_plan
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleException
from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.controllers import journal_audit, shared
from hibernator.controllers.daysoff import DaysOffBook
from hibernator.controllers.hibernateplan_clock import clockwise, exception_entries, lay_out
from hibernator.controllers.hibernateplan_connectors import Lending
from hibernator.controllers.hibernateplan_exceptions import PlanExceptions
from hibernator.controllers.hibernateplan_keeping import Held, Keeping, due, due_at, job_of, slept_at
from hibernator.controllers.hibernateplan_metrics import TARGET_FAILURES, count
from hibernator.controllers.hibernateplan_progress import SLICE, Attempt, Progress, Step, attempt_of, current
from hibernator.controllers.hibernateplan_restore import RestoreData
from hibernator.controllers.hibernateplan_runs import FAILURES, Runner
from hibernator.controllers.means import Means
from hibernator.controllers.strays import Strays
from hibernator.decisions.hibernateplan import decide
from hibernator.decisions.hibernateplan_case import (
    FINALIZER,
    LEAVE_ASLEEP,
    Clockwise,
    Decision,
    Run,
    Seen,
    is_deleted,
    only_looks,
)
from hibernator.decisions.hibernateplan_restore import LABEL, PLAN_LABEL
from hibernator.decisions.hibernateplan_status import Outcome, standing
from hibernator.executors.registry import Registry
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import Metrics
from hibernator.kube.objects import Objects
from hibernator.kube.patch import encode
from hibernator.kube.together import together
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_schedule

RESTORE_MAPS: Final = Kind(Object, "", "v1", "ConfigMap", "configmaps")  # without the data

log = structlog.get_logger(__name__)
_Problems = tuple[Problem, ...]


@dataclass(slots=True)
class _Memory:
    """What this process knows about one plan."""

    uid: str
    held: Held = field(default_factory=Held)
    outcomes: dict[str, tuple[Attempt, Outcome]] = field(default_factory=dict)
    looked: tuple[int, str] | None = None  # the generation and state that a dry run looked at
    laid_out: tuple[object, PlanTimeline, tuple[str, ...]] | None = None
    problems: tuple[int, _Problems, _Problems] | None = None
    kept_asleep: Instant | None = None
    told: str = ""  # the version of the plan that the audit trail knows


class PlanReconciler:
    def __init__(
        self,
        client: Client,
        plans: Cache[HibernatePlan],
        exceptions: PlanExceptions,
        days_off: DaysOffBook,
        restore_maps: Cache[Object],
        *,
        registry: Registry,
        recorder: Recorder,
        clock: Clock,
        metrics: Metrics,
        trail: Trail,
        spool: AuditSpool,
        strays: Strays,
        lending: Lending,
    ) -> None:
        self._plans = plans
        self._exceptions = exceptions
        self._days_off = days_off
        self._restore = RestoreData(client)
        self._runner = Runner(registry, self._restore)
        self._keeping = Keeping(self._restore, self._runner, restore_maps)
        self._objects = Objects(client, plans, recorder)
        self._clock = clock
        self._metrics = metrics
        self._trail = trail
        self._spool = spool
        self._strays = strays
        self._lending = lending
        self._memories: dict[Key, _Memory] = {}

    async def reconcile(self, key: Key) -> Result:
        plan = self._plans.get(*key)
        if plan is None:
            self._memories.pop(key, None)
            return Result()
        if self._days_off.awaits(key.namespace, plan.spec.schedule.holidays) and not is_deleted(plan):
            return Result()  # what is read of them brings the next look
        memory = self._memories.get(key)
        if memory is None or memory.uid != plan.metadata.uid:
            memory = self._memories[key] = _Memory(plan.metadata.uid)
        try:
            return await self._pass(plan, memory)
        except BaseException:
            # What was written is not known, also where a time-out or the end of the lease cut the pass short.
            memory.held.forget()
            raise

    async def _pass(self, plan: HibernatePlan, memory: _Memory) -> Result:
        now = self._clock.now()
        if FINALIZER not in plan.metadata.finalizers:
            if is_deleted(plan):
                return Result()
            plan = await self._objects.write_metadata(
                plan, {"finalizers": [*plan.metadata.finalizers, FINALIZER]}
            )
        # The last process may have died before it could do this.
        later = await self._forget_woken(plan, memory.held, now)
        seen = await self._gather(plan, memory, now)
        decision = decide(seen, now)
        if decision.release:
            await self._objects.read_again(plan)
            return await self._release(plan, memory)
        written = await self._objects.write_status(plan, decision.status)
        if written is not plan:
            self._objects.notify(plan, decision.notices)
            count(self._metrics, plan.status, decision.status)
        if written is plan and decision.runs:
            await self._objects.read_again(plan)
        plan = written
        self._tell(plan, memory)
        if not only_looks(plan):
            memory.outcomes.clear()
        later = min(later, await self._forget_woken(plan, memory.held, now))
        later = min(
            later, await self._strays.settle(plan, memory.held, self._runner, self._objects.read_again, now)
        )
        after = await self._work(plan, memory, decision, now)
        return Result(min(after, later, await self._keep_asleep(plan, memory, now)))

    async def _forget_woken(self, plan: HibernatePlan, held: Held, now: Instant) -> float:
        """Drop what is kept of targets that are awake; the seconds until more of it can go."""
        names = await self._keeping.woken(plan, held, now)
        if names:
            await self._objects.read_again(plan)
        return min([await self._keeping.drop(plan, held, name, now) for name in names], default=float("inf"))

    def kept(self, key: Key) -> Collection[str] | None:
        """What a plan knows of; None before it has been read."""
        memory = self._memories.get(key)
        return memory.held.items if memory and memory.held.stored is not None else None

    async def _gather(self, plan: HibernatePlan, memory: _Memory, now: Instant) -> Seen:
        stored, broken = await self._keeping.stored(plan, memory.held, now)
        about_time, others = self._problems(plan, memory)
        problems = (*about_time, *others, *self._lending.problems(plan), *broken)
        name = f"{plan.metadata.namespace}/{plan.metadata.name}"
        active = self._exceptions.active(name)
        clock: Clockwise | None = None
        troubles: tuple[str, ...] = ()
        if not only_looks(plan) and memory.looked:
            memory.looked = None
            memory.outcomes.clear()
        if not about_time:
            timeline, troubles = self._timeline(plan, memory, active)
            clock = clockwise(timeline, now)
            if only_looks(plan) and memory.looked != (plan.metadata.generation, clock.wanted):
                memory.looked = plan.metadata.generation, clock.wanted
                memory.outcomes.clear()
        by_name = {target.name: target for target in plan.spec.targets}
        out_of_place = self._strays.of(plan, memory.held.items)
        return Seen(
            plan=plan,
            clock=clock,
            kept=frozenset(stored),
            due=self._strays.due(plan, stored, now) | due(stored, now),
            due_at=due_at(stored, now),
            changed=frozenset(
                name for name, one in stored.items() if name in by_name and one.kept.target != by_name[name]
            ),
            outcomes=current(plan, memory.outcomes),
            exceptions=exception_entries((*active, *self._exceptions.last(name))),
            strays=tuple(one.key for one in out_of_place if one.woken_by is None),
            woken=self._strays.woken(plan, memory.held),
            problems=problems,
            unreadable=bool(broken),
            troubles=troubles,
            recorded=journal_audit.recorded(self._trail, PLANS, plan, plan.status.journal),
        )

    def _problems(self, plan: HibernatePlan, memory: _Memory) -> tuple[_Problems, _Problems]:
        """Mistakes about time, with which nothing can be done, and others, with which things can be woken."""
        generation = plan.metadata.generation
        if memory.problems is None or memory.problems[0] != generation:
            about_time, others = check_schedule(plan.spec.schedule), check_plan(encode(plan))
            memory.problems = generation, tuple(about_time), tuple(others)
        return memory.problems[1:]

    def _timeline(
        self, plan: HibernatePlan, memory: _Memory, active: Iterable[ScheduleException]
    ) -> tuple[PlanTimeline, tuple[str, ...]]:
        holidays = plan.spec.schedule.holidays
        source = holidays.source_ref if holidays else None
        days_off = self._days_off.get(plan.metadata.namespace, source.name) if source else None
        active = sorted(active, key=lambda one: (one.spec.valid_from, one.metadata.name))
        made_of = (
            plan.metadata.generation,
            days_off and days_off.version,
            tuple((one.metadata.uid, one.metadata.generation) for one in active),
        )
        if memory.laid_out is None or memory.laid_out[0] != made_of:
            memory.laid_out = made_of, *lay_out(plan, active, days_off)
        return memory.laid_out[1:]

    async def _work(self, plan: HibernatePlan, memory: _Memory, decision: Decision, now: Instant) -> float:
        if not decision.runs:
            memory.held.progress.clear()
            return decision.after
        share = max(1, SLICE // len(decision.runs))
        steps = await together(self._run(plan, memory, run, now, share) for run in decision.runs)
        for run, step in zip(decision.runs, steps, strict=True):
            memory.outcomes[run.name] = attempt_of(plan, run.name), step.outcome
            if step.outcome.state != "working":
                memory.held.progress.pop(run.name, None)
            if step.outcome.state == "done" and run.operation == "Wake":
                memory.held.woken[run.name] = plan.status.cycle or 0
        return min(decision.after, *(step.after for step in steps))

    async def _run(self, plan: HibernatePlan, memory: _Memory, run: Run, now: Instant, share: int) -> Step:
        stored = memory.held.stored if memory.held.stored is not None else {}
        job = job_of(plan, run, stored, now)
        if run.operation == "Look":
            return Step(await self._runner.look(job))
        progress = memory.held.progress.get(run.name)
        attempt = attempt_of(plan, run.name)
        if progress is None or progress.of != attempt:
            progress = memory.held.progress[run.name] = Progress(attempt)
        progress.share = share
        step = await self._runner.step(job, run.operation, stored, progress)
        if step.outcome.state in FAILURES:
            self._metrics.count(TARGET_FAILURES, job.target.type)
        return step

    async def _keep_asleep(self, plan: HibernatePlan, memory: _Memory, now: Instant) -> float:
        """Look after what wakes by itself, while nothing else is going on."""
        asleep = plan.status.current_operation is None and standing(plan.status, ()) == "Asleep"
        resting = asleep and plan.status.phase in {"Hibernated", "Error"} and not plan.spec.dry_run
        watched = {
            name: pause
            for name, one in (memory.held.stored or {}).items()
            if resting and (pause := self._runner.looks_again(one.kept.target.type))
        }
        if not watched:
            memory.kept_asleep = None
            return float("inf")
        pause = min(watched.values())
        last = memory.kept_asleep or slept_at(plan) or now
        if (now - last).total("seconds") >= pause:
            for name in watched:
                stored = memory.held.stored or {}
                job = job_of(plan, Run(name=name, operation="Wake"), stored, now)
                for item, error in (await self._runner.keep_asleep(job, stored[name].kept)).items():
                    log.warning("an item is awake and cannot be put to sleep", item=item, why=str(error))
            last = now
        memory.kept_asleep = last
        return pause - (now - last).total("seconds")

    async def _release(self, plan: HibernatePlan, memory: _Memory) -> Result:
        if LEAVE_ASLEEP in plan.metadata.annotations:
            for stored in (memory.held.stored or {}).values():
                await self._restore.leave(stored)
        told = journal_audit.events(PLANS, plan, plan.status.journal)
        await journal_audit.farewell(self._spool, PLANS, plan, told)
        others = [one for one in plan.metadata.finalizers if one != FINALIZER]
        await self._objects.write_metadata(plan, {"finalizers": others})
        return Result()

    def _tell(self, plan: HibernatePlan, memory: _Memory) -> None:
        """Tell the audit trail of what the status knows; to tell it again costs nothing."""
        version = plan.metadata.resource_version
        if memory.told != version and journal_audit.record(self._trail, PLANS, plan, plan.status.journal):
            memory.told = version


def plan_controller(means: Means, *, registry: Registry, strays: Strays) -> Controller:
    """The controller with its watches."""
    plans = shared.plans(means.caches)
    exceptions = shared.exceptions(means.caches)
    lending = Lending(means.caches, plans)
    restore_maps = means.caches.of(RESTORE_MAPS, label_selector=f"{LABEL}=true")
    restore_maps.index(shared.BY_PLAN, lambda one: map("/".join, _of_restore_data(one)))
    reconciler = PlanReconciler(
        means.client,
        plans,
        PlanExceptions(exceptions),
        means.days_off,
        restore_maps,
        registry=registry,
        recorder=means.recorder,
        clock=means.clock,
        metrics=means.metrics,
        trail=means.trail,
        spool=means.spool,
        strays=strays,
        lending=lending,
    )

    def holidays_changed(of: Key) -> None:
        for plan in plans.find(shared.BY_HOLIDAYS, f"{of.namespace}/{of.name}"):
            controller.queue.add(Key(plan.metadata.namespace, plan.metadata.name))

    means.days_off.on_change(holidays_changed)
    controller = Controller(
        "hibernateplan",
        reconciler.reconcile,
        sources=[
            For(plans),
            Watches(exceptions, lambda one: (Key(one.metadata.namespace, one.spec.plan_ref.name),)),
            Watches(restore_maps, _of_restore_data),
            *lending.sources,
        ],
        clock=means.clock,
        metrics=means.metrics,
        workers=means.workers,
    )
    strays.kept = reconciler.kept
    strays.tell(controller.queue.add)
    return controller


def _of_restore_data(found: Object) -> Iterable[Key]:
    yield Key(found.metadata.namespace, found.metadata.labels.get(PLAN_LABEL, ""))
