"""What a process holds of the restore data of a plan: read when it must be, kept true, and dropped last.

It is read again when the watch shows that others have written to it. What was deleted by hand is written
again from the marks of the sleepers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan, Target
from hibernator.api.meta import Object, ObjectMeta
from hibernator.api.problem import Problem
from hibernator.controllers import shared
from hibernator.controllers.hibernateplan_progress import Progress
from hibernator.controllers.hibernateplan_restore import RestoreData, Stored, Unreadable
from hibernator.controllers.hibernateplan_runs import Runner
from hibernator.decisions.hibernateplan_case import Run
from hibernator.decisions.hibernateplan_keeping import is_woken, missing, removed
from hibernator.decisions.hibernateplan_status import last_operation, last_result, standing, states
from hibernator.executors.protocol import ExecutorError, Job, Permanent
from hibernator.kube.cache import Cache
from hibernator.kube.store import order

CONFIRM_SECONDS: Final = 60.0  # until the next try to make sure that something is awake

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Held:
    """What must be read again after an outcome that is not known."""

    stored: dict[str, Stored] | None = None
    unreadable: dict[str, Unreadable] = field(default_factory=dict)  # of what is held as `stored`, or not
    progress: dict[str, Progress] = field(default_factory=dict)
    woken: dict[str, int] = field(default_factory=dict)  # targets that this process has woken, in which cycle
    mine: dict[str, frozenset[str]] = field(default_factory=dict)  # their items that may be woken once more
    unconfirmed: dict[str, str] = field(default_factory=dict)  # targets, and why they may be asleep still
    dropped: set[str] = field(default_factory=set)  # uids of ConfigMaps that the watch may still show

    @property
    def items(self) -> frozenset[str]:
        """The keys of everything that sleeps by what is kept."""
        return frozenset(key for one in (self.stored or {}).values() for key in one.kept.sleeping)

    def forget(self) -> None:
        self.stored = None
        self.unreadable.clear()
        self.progress.clear()
        self.woken.clear()
        self.mine.clear()
        self.unconfirmed.clear()
        self.dropped.clear()


class Keeping:
    def __init__(self, restore: RestoreData, runner: Runner, maps: Cache[Object]) -> None:
        self._restore = restore
        self._runner = runner
        self._maps = maps

    async def stored(
        self, plan: HibernatePlan, held: Held, now: Instant
    ) -> tuple[Mapping[str, Stored], tuple[Problem, ...]]:
        namespace, name = plan.metadata.namespace, plan.metadata.name
        known = {
            one.metadata.name: one.metadata for one in self._maps.find(shared.BY_PLAN, f"{namespace}/{name}")
        }
        held.dropped &= {one.uid for one in known.values()}
        left = {name: one for name, one in known.items() if one.uid not in held.dropped}
        if held.stored is not None and _was_changed(held, left, self._maps.seen):
            held.forget()
        if held.stored is None:
            quiet = plan.status.current_operation is None and standing(plan.status, ()) == "Awake"
            if quiet and not known:
                held.stored = {}
                return {}, ()
            stored, held.unreadable = await self._restore.load(namespace, name)
            for run in missing(plan, stored.keys() | held.unreadable.keys()):
                await self._recover(plan, run, stored, now)
            held.stored = stored
        return held.stored, tuple(map(_problem, held.unreadable.items()))

    async def _recover(self, plan: HibernatePlan, run: Run, stored: dict[str, Stored], now: Instant) -> None:
        """Restore data was deleted by hand: the sleepers themselves say what they were."""
        try:
            await self._runner.recover(job_of(plan, run, stored, now), stored)
        except ExecutorError as error:
            log.warning("restore data is missing and could not be recovered", target=run.name, why=str(error))
        else:
            log.warning("restore data was missing", target=run.name, recovered=run.name in stored)

    async def woken(self, plan: HibernatePlan, held: Held, now: Instant) -> list[str]:
        """The targets that are awake by what the status says, and of which something is kept."""
        if last_operation(plan.status) != "Wake" and not removed(plan):
            return []
        stored, _ = await self.stored(plan, held, now)
        return [name for name, one in stored.items() if is_woken(plan, name, one.kept)]

    async def drop(self, plan: HibernatePlan, held: Held, name: str, now: Instant) -> float:
        """Drop what is kept of a target, once all of it is known to be awake; otherwise, when to try again.

        Every item is read for that, unless this process had the answer to the write that woke it. If writes
        have no preconditions, one that was sent before may come late: there it waits, and looks after that.
        """
        stored = held.stored or {}
        kept = stored[name].kept
        job = job_of(plan, Run(name=name, operation="Wake"), stored, now)
        try:
            lingers = self._runner.lingers(kept.target.type)
            if lingers is not None:
                left = lingers - (now - _finished(plan, name, now)).total("seconds")
                if 0 < left <= lingers:
                    if not all(entry.woken for entry in kept.sleeping.values()):
                        stored[name] = await self._runner.note_woken(job, stored[name])
                    return left
            failed: Mapping[str, ExecutorError] = {}
            woke_it = held.woken.get(name) == job.cycle
            if lingers is not None or not woke_it:
                failed = await self._runner.confirm(job, kept, held.mine.get(name, ()) if woke_it else ())
            if not failed:
                await self._restore.drop(stored[name])
        except ExecutorError as error:
            failed = {name: error}
        held.unconfirmed.pop(name, None)
        if failed:
            item, why = next(iter(failed.items()))
            log.warning("restore data is kept: not everything is known to be awake", item=item, why=str(why))
            if isinstance(why, Permanent):
                held.unconfirmed[name] = str(why)
            return CONFIRM_SECONDS
        held.dropped |= {part.found.metadata.uid for part in stored[name].parts.values()}
        del stored[name]
        return float("inf")


def job_of(plan: HibernatePlan, run: Run, stored: Mapping[str, Stored], now: Instant) -> Job:
    """The target as the spec has it; on waking, as it was when it went to sleep."""
    known = states(plan.status).get(run.name)
    wanted = next((one for one in plan.spec.targets if one.name == run.name), None)
    target = wanted
    if run.operation == "Wake" and run.name in stored:
        target = stored[run.name].kept.target
    return Job(
        namespace=plan.metadata.namespace,
        plan=plan.metadata.name,
        uid=plan.metadata.uid,
        cycle=plan.status.cycle or 0,
        target=target or Target(name=run.name, type="noop"),
        wanted=wanted,
        attempt=(known.attempts if known else None) or 1,
        began=Instant(known.started_at) if known and known.started_at else now,
        now=now,
        behavior=plan.spec.behavior,
    )


def _problem(found: tuple[str, Unreadable]) -> Problem:
    target, one = found
    fix = "Correct what was changed by hand in the ConfigMaps hibernator-restore-*."
    return Problem("restore data", target, f"that of the target {target} cannot be read: {one.why}", fix)


def _was_changed(held: Held, known: Mapping[str, ObjectMeta], seen: int) -> bool:
    """Whether someone else has written to what we hold, as far as the watch has come."""
    stored = (part.found.metadata for one in (held.stored or {}).values() for part in one.parts.values())
    unreadable = (metadata for one in held.unreadable.values() for metadata in one.parts)
    mine = {metadata.name: metadata for metadata in (*stored, *unreadable)}
    for name, metadata in mine.items():
        if name not in known and order(metadata.resource_version) <= seen:
            return True
    return any(
        name not in mine or order(theirs.resource_version) > order(mine[name].resource_version)
        for name, theirs in known.items()
    )


def due(stored: Mapping[str, Stored], now: Instant) -> frozenset[str]:
    """The targets with items that have stayed awake for long enough."""
    return frozenset(name for name, one in stored.items() if (at := one.kept.next_check) and at <= now)


def due_at(stored: Mapping[str, Stored], now: Instant) -> Instant | None:
    """When the next of those that stay awake for now may sleep."""
    checks = (one.kept.next_check for one in stored.values())
    return min((at for at in checks if at and at > now), default=None)


def _finished(plan: HibernatePlan, name: str, now: Instant) -> Instant:
    known = states(plan.status).get(name)
    return Instant(known.finished_at) if known and known.finished_at else now


def slept_at(plan: HibernatePlan) -> Instant | None:
    """When everything was asleep: for a process that has not looked since."""
    result = last_result(plan.status)
    return Instant(result.finished_at) if result and result.finished_at else None
