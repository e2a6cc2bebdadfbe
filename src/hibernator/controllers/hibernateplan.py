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
from hibernator.api.meta import Object
from hibernator.api.plan_checks import check_plan
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleException
from hibernator.controllers import shared
from hibernator.controllers.hibernateplan_keeping import Held, Keeping, due, due_at, job_of, slept_at
from hibernator.controllers.hibernateplan_progress import (
    SLICE,
    Attempt,
    Progress,
    SliceResult,
    attempt_of,
    current,
)
from hibernator.controllers.hibernateplan_restore import RestoreData
from hibernator.controllers.hibernateplan_runs import FAILURES, Runner
from hibernator.controllers.hibernateplan_sources import (
    ConnectorUse,
    PlanExceptions,
    exception_entries,
    in_force,
    lay_out,
    schedule_state,
)
from hibernator.controllers.journal_audit import record_deletion
from hibernator.controllers.means import Means
from hibernator.controllers.metrics import TARGET_FAILURES, count
from hibernator.controllers.strays import Strays
from hibernator.decisions.hibernateplan import decide
from hibernator.decisions.hibernateplan_case import (
    FINALIZER,
    LEAVE_ASLEEP,
    Decision,
    Run,
    ScheduleState,
    Seen,
    is_deleted,
    is_dry_run,
)
from hibernator.decisions.hibernateplan_restore import PLAN_LABEL
from hibernator.decisions.hibernateplan_status import TargetOutcome, standing
from hibernator.executors.registry import Registry
from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.patch import encode
from hibernator.kube.reconciler import Pass, Reconciler
from hibernator.kube.together import together
from hibernator.schedule.plan import PlanTimeline
from hibernator.schedule.problems import check_schedule

log = structlog.get_logger(__name__)
_Problems = tuple[Problem, ...]
_DECIDED_WITHIN: Final = 30.0  # seconds; one that cannot be decided about does not stop a plan


@dataclass(slots=True)
class _Memory:
    """What this process knows about one plan."""

    uid: str
    held: Held = field(default_factory=Held)
    outcomes: dict[str, tuple[Attempt, TargetOutcome]] = field(default_factory=dict)
    looked: tuple[int, str] | None = None  # the generation and state that a dry run looked at
    laid_out: tuple[object, PlanTimeline, tuple[str, ...]] | None = None
    problems: tuple[int, _Problems, _Problems] | None = None
    kept_asleep: Instant | None = None
    decided_by: Instant | None = None  # until when to wait for what is decided about exceptions
    later: float = float("inf")  # seconds until more of what is kept can go


class PlanReconciler(Reconciler[HibernatePlan, Seen, Decision]):
    def __init__(
        self,
        means: Means,
        *,
        exceptions: PlanExceptions,
        restore_maps: Cache[Object],
        registry: Registry,
        strays: Strays,
        connectors: ConnectorUse,
    ) -> None:
        super().__init__(means.parts(shared.plans(means.caches)), decide)
        self._exceptions = exceptions
        self._days_off = means.days_off
        self._restore = RestoreData(means.client)
        self._runner = Runner(registry, self._restore)
        self._keeping = Keeping(self._restore, self._runner, restore_maps)
        self._metrics = means.metrics
        self._spool = means.spool
        self._strays = strays
        self._connectors = connectors
        self._memories: dict[Key, _Memory] = {}

    async def reconcile(self, key: Key) -> Result:
        try:
            return await super().reconcile(key)
        except BaseException:
            # What was written is not known, also where a time-out or the end of the lease cut the pass short.
            if memory := self._memories.get(key):
                memory.held.forget()
            raise

    async def forget(self, key: Key) -> None:
        self._memories.pop(key, None)

    async def perform(self, one: Pass[HibernatePlan, Seen, Decision]) -> HibernatePlan | None:
        found = one.found
        if one.decision.release:
            await self.objects.read_again(found)
            await self._release(found, self._memories[one.key])
            return None
        if FINALIZER in found.metadata.finalizers:
            return found
        return await self.objects.write_metadata(
            found, {"finalizers": [*found.metadata.finalizers, FINALIZER]}
        )

    async def follow(self, one: Pass[HibernatePlan, Seen, Decision]) -> float:
        plan, decision, now, memory = one.found, one.decision, one.now, self._memories[one.key]
        if one.wrote:
            count(self._metrics, one.seen.plan.status, plan.status)
        elif decision.runs:
            await self.objects.read_again(plan)
        if not is_dry_run(plan):
            memory.outcomes.clear()
        later = min(
            memory.later,
            await self._forget_woken(plan, memory.held, now),
            await self._strays.settle(plan, memory.held, self._runner, self.objects.read_again, now),
        )
        after = await self._work(plan, memory, decision, now)
        return min(after, later, await self._keep_asleep(plan, memory, now))

    async def _forget_woken(self, plan: HibernatePlan, held: Held, now: Instant) -> float:
        """Drop what is kept of targets that are awake; the seconds until more of it can go."""
        names = await self._keeping.woken(plan, held, now)
        if names:
            await self.objects.read_again(plan)
        return min([await self._keeping.drop(plan, held, name, now) for name in names], default=float("inf"))

    def kept(self, key: Key) -> Collection[str] | None:
        """What a plan knows of; None before it has been read."""
        memory = self._memories.get(key)
        return memory.held.items if memory and memory.held.stored is not None else None

    async def gather(self, key: Key, plan: HibernatePlan, now: Instant) -> Seen | Result:
        if is_deleted(plan):
            if FINALIZER not in plan.metadata.finalizers:
                return Result()
        elif self._days_off.awaits(key.namespace, plan.spec.schedule.holidays):
            return Result()  # what is read of them brings the next look
        memory = self._memories.get(key)
        if memory is None or memory.uid != plan.metadata.uid:
            memory = self._memories[key] = _Memory(plan.metadata.uid)
        if not is_deleted(plan) and (wait := self._wait(f"{key.namespace}/{key.name}", memory, now)):
            return Result(wait)
        # The last process may have died before it could do this.
        memory.later = await self._forget_woken(plan, memory.held, now)
        stored, broken = await self._keeping.stored(plan, memory.held, now)
        about_time, others = self._problems(plan, memory)
        problems = (*about_time, *others, *self._connectors.problems(plan), *broken)
        name = f"{plan.metadata.namespace}/{plan.metadata.name}"
        active = self._exceptions.active(name)
        clock: ScheduleState | None = None
        troubles: tuple[str, ...] = ()
        if not is_dry_run(plan) and memory.looked:
            memory.looked = None
            memory.outcomes.clear()
        if not about_time:
            timeline, troubles = self._timeline(plan, memory, active)
            clock = schedule_state(timeline, now)
            if is_dry_run(plan) and memory.looked != (plan.metadata.generation, clock.wanted):
                memory.looked = plan.metadata.generation, clock.wanted
                memory.outcomes.clear()
        by_name = {target.name: target for target in plan.spec.targets}
        out_of_place = self._strays.of(plan, memory.held.items)
        return Seen(
            plan=plan,
            clock=clock,
            kept=frozenset(stored) | memory.held.unreadable.keys(),
            due=self._strays.due(plan, stored, now) | due(stored, now),
            due_at=due_at(stored, now),
            changed=frozenset(
                name for name, one in stored.items() if name in by_name and one.kept.target != by_name[name]
            ),
            outcomes=current(plan, memory.outcomes),
            exceptions=exception_entries((*active, *self._exceptions.last(name))),
            in_force=in_force(active),
            strays=tuple(one.key for one in out_of_place if one.woken_by is None),
            woken=self._strays.woken(plan, memory.held),
            problems=problems,
            unreadable=bool(broken),
            troubles=troubles,
            unconfirmed=tuple(f"{name}: {why}" for name, why in sorted(memory.held.unconfirmed.items())),
            recorded=self.journals.recorded(plan),
        )

    def _wait(self, name: str, memory: _Memory, now: Instant) -> float:
        """Seconds for which to leave the plan alone, until its changed exceptions are decided about."""
        if not self._exceptions.awaits(name):
            memory.decided_by = None
            return 0.0
        memory.decided_by = memory.decided_by or now.add(seconds=_DECIDED_WITHIN)
        return max((memory.decided_by - now).total("seconds"), 0.0)

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
            if step.outcome.state == "done" and run.operation == "Wake":
                memory.held.woken[run.name] = plan.status.cycle or 0
                if progress := memory.held.progress.get(run.name):
                    memory.held.mine[run.name] = frozenset(progress.mine)
            if step.outcome.state != "working":
                memory.held.progress.pop(run.name, None)
        return min(decision.after, *(step.after for step in steps))

    async def _run(
        self, plan: HibernatePlan, memory: _Memory, run: Run, now: Instant, share: int
    ) -> SliceResult:
        stored = memory.held.stored if memory.held.stored is not None else {}
        job = job_of(plan, run, stored, now)
        if run.operation == "Look":
            return SliceResult(await self._runner.look(job))
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
        """Put to sleep again what has woken by itself, while no operation is running."""
        asleep = plan.status.current_operation is None and standing(plan.status, ()) == "Asleep"
        resting = asleep and plan.status.phase in {"Hibernated", "Error"} and not plan.spec.dry_run
        watched = {
            name: pause
            for name, one in (memory.held.stored or {}).items()
            if resting and (pause := self._runner.check_every(one.kept.target.type))
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

    async def _release(self, plan: HibernatePlan, memory: _Memory) -> None:
        if LEAVE_ASLEEP in plan.metadata.annotations:
            for stored in (memory.held.stored or {}).values():
                await self._restore.leave(stored)
        await record_deletion(self._spool, PLANS, plan)
        others = [one for one in plan.metadata.finalizers if one != FINALIZER]
        await self.objects.write_metadata(plan, {"finalizers": others})


def plan_controller(means: Means, *, registry: Registry, strays: Strays) -> Controller:
    """The controller with its watches."""
    plans = shared.plans(means.caches)
    exceptions = shared.exceptions(means.caches)
    connectors = ConnectorUse(means.caches, plans)
    restore_maps = shared.restore_maps(means.caches)
    restore_maps.index(shared.BY_PLAN, lambda one: map("/".join, _of_restore_data(one)))
    reconciler = PlanReconciler(
        means,
        exceptions=PlanExceptions(exceptions),
        restore_maps=restore_maps,
        registry=registry,
        strays=strays,
        connectors=connectors,
    )

    def holidays_changed(of: Key) -> None:
        for plan in plans.find(shared.BY_HOLIDAYS, f"{of.namespace}/{of.name}"):
            controller.queue.add(Key(plan.metadata.namespace, plan.metadata.name))

    means.days_off.on_change(holidays_changed)
    controller = means.controller(
        "hibernateplan",
        reconciler.reconcile,
        [
            For(plans),
            Watches(exceptions, lambda one: (Key(one.metadata.namespace, one.spec.plan_ref.name),)),
            Watches(restore_maps, _of_restore_data),
            *connectors.sources,
        ],
    )
    strays.kept = reconciler.kept
    strays.on_found(controller.queue.add)
    return controller


def _of_restore_data(found: Object) -> Iterable[Key]:
    yield Key(found.metadata.namespace, found.metadata.labels.get(PLAN_LABEL, ""))
