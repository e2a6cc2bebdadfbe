"""Work on one target, in slices: what a process remembers between them only saves it work.

A slice ends after so many items, so that the status can show its progress and the schedule can turn it
round. A process that comes after a crash begins the attempt again; whatever was done is found done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from typing import Final
from weakref import WeakValueDictionary

import msgspec
import structlog

from hibernator.api.hibernateplan import Target
from hibernator.api.planstatus import ItemCount, Operation
from hibernator.controllers.hibernateplan_progress import (
    MOST_NAMED,
    Progress,
    SliceResult,
    failure,
    finished,
    gave_up,
    items_words,
    left_words,
    waiting,
)
from hibernator.controllers.hibernateplan_restore import RestoreData, Stored
from hibernator.decisions import staying
from hibernator.decisions.hibernateplan_restore import Entry, Kept, Saving, inherited, merge, released
from hibernator.decisions.hibernateplan_status import TargetOutcome
from hibernator.executors.protocol import (
    Executor,
    ExecutorError,
    Item,
    Job,
    Permanent,
    Retryable,
    Saved,
    Throttled,
    Underway,
)
from hibernator.executors.registry import Registry
from hibernator.executors.workloads.writes import ODD
from hibernator.kube.together import together

AT_ONCE: Final = 32  # items of all plans of a namespace, as many as the client has connections to share
SETTLE_SECONDS: Final = 5.0
FAILURES: Final = frozenset({"failed", "hopeless"})

log = structlog.get_logger(__name__)


class Runner:
    """Does the work, in turns of each namespace: slow targets of one do not hold up the others."""

    def __init__(self, registry: Registry, restore: RestoreData) -> None:
        self._registry = registry
        self._restore = restore
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def step(
        self, job: Job, operation: Operation, stored: dict[str, Stored], progress: Progress
    ) -> SliceResult:
        """Do the next slice, unless it is too early. `stored` is kept true to what the API server holds."""
        if progress.resting:
            since, outcome, seconds = progress.resting
            left = seconds - (job.now - since).total("seconds")
            if 0 < left <= seconds:  # more is left only if someone has set the clock back
                return SliceResult(outcome, left)
        step = await self._slice(job, operation, stored, progress)
        if operation == "Wake" and step.outcome.state in FAILURES:
            try:
                await self._forget_woken(job, stored, progress)
            except ExecutorError as error:  # then it is woken once more
                log.warning("restore data cannot be made smaller", target=job.target.name, why=str(error))
        progress.resting = (job.now, step.outcome, step.after) if step.after else None
        return step

    async def _slice(
        self, job: Job, operation: Operation, stored: dict[str, Stored], progress: Progress
    ) -> SliceResult:
        try:
            executor = self._registry[job.target.type]
            if not progress.prepared:
                prepare = self._prepare_sleep if operation == "Sleep" else self._prepare_wake
                await prepare(executor, job, stored, progress)
                progress.prepared = True
            act = executor.sleep if operation == "Sleep" else executor.wake
            if wait := await self._act(job, act, progress):
                return waiting(job, progress, wait)
            if progress.todo:
                return SliceResult(TargetOutcome(state="working", items=progress.items))
            if progress.failed:
                return SliceResult(failure(progress))
            return await self._end(executor, job, operation, progress)
        except Throttled as error:
            return waiting(job, progress, error)
        except ExecutorError as error:
            return SliceResult(gave_up(error, progress))
        except ODD as error:  # one target that cannot be understood keeps no other one asleep
            log.exception("unexpected error in a target", target=job.target.name)
            return SliceResult(gave_up(Retryable(f"unexpected error ({error!r})."), progress))

    async def look(self, job: Job) -> TargetOutcome:
        """What a sleep would do, for a dry run."""
        try:
            found = await self._registry[job.target.type].discover(job)
        except ExecutorError as error:
            return gave_up(error, Progress())
        awake = [item for item in found if item.restore is not None and not item.asleep]
        saving = sum((item.saving for item in awake), Saving())
        notes = staying.words(merge({}, found, job.cycle))
        message = (
            f"Dry run: {len(awake)} of {len(found)} items would sleep, which saves {saving.cpu_cores:g} CPU "
            f"cores and {saving.memory_gib:g} GiB of memory. {notes}"
        ).rstrip()
        items = ItemCount(total=len(found), skipped=len(found) - len(awake))
        return TargetOutcome(state="done", items=items, message=message, saving=saving)

    async def recover(self, job: Job, stored: dict[str, Stored]) -> None:
        """Write the restore data of a target again: from the marks of what sleeps, and of what is awake.

        A write of the sleep may still be on its way to what is awake. It is woken like the sleepers, so that
        such a write fails.
        """
        executor = self._registry[job.target.type]
        found = {item.key: item for item in await self._covers(executor, job)}
        found |= {item.key: item for item in await executor.asleep(job)}
        entries = merge({}, found.values(), job.cycle, executor.identity)
        if entries:
            kept = Kept(target=job.target, entries=entries)
            stored[job.target.name] = await self._restore.save(job.namespace, job.plan, kept, None)

    async def _covers(self, executor: Executor, job: Job) -> tuple[Item, ...]:
        try:
            return await executor.discover(job)
        except Permanent as error:  # the marks say enough of what sleeps
            log.warning("what a target covers cannot be read", target=job.target.name, why=str(error))
            return ()

    async def confirm(self, job: Job, kept: Kept, trusted: Collection[str] = ()) -> dict[str, ExecutorError]:
        """Make sure that everything kept is awake since this cycle: wake what is not. Says what failed.

        What is `trusted` bore a mark of the plan when this process woke it, which took the mark off.
        """
        executor = self._registry[job.target.type]
        failed: dict[str, ExecutorError] = {}
        todo = await self._to_wake(executor, job, kept)
        todo = [replace(item, covered=item.covered or item.key in trusted) for item in todo]
        await self._each(job, todo, lambda item: executor.wake(job, item), failed)
        return failed

    async def note_woken(self, job: Job, stored: Stored) -> Stored:
        """Keep what was woken a while longer, as something that was woken."""
        entries = {
            key: msgspec.structs.replace(entry, woken=True) for key, entry in stored.kept.sleeping.items()
        }
        return await self._restore.save(
            job.namespace, job.plan, Kept(target=stored.kept.target, entries=entries), stored
        )

    def lingers(self, type_: str) -> float | None:
        """For how long a write to such a thing may still be carried out."""
        return self._registry[type_].lingers

    async def keep_asleep(self, job: Job, kept: Kept) -> dict[str, ExecutorError]:
        """Put to sleep again what someone else has woken, for the kinds that ask for it."""
        executor = self._registry[job.target.type]
        failed: dict[str, ExecutorError] = {}
        await self._each(job, _saved(kept.sleeping), lambda item: executor.sleep(job, item), failed)
        return failed

    def check_every(self, type_: str) -> float | None:
        try:
            return self._registry[type_].check_every
        except ExecutorError:
            return None

    async def _prepare_sleep(
        self, executor: Executor, job: Job, stored: dict[str, Stored], progress: Progress
    ) -> None:
        name = job.target.name
        found = await executor.discover(job)
        before = stored.get(name)
        known: dict[str, Entry] = {}
        if before:
            gone = released(before.kept, job.target, found)
            await self._release(job, before.kept.target, gone, progress)
            known = {key: entry for key, entry in before.kept.entries.items() if key not in gone}
        # What sleeps although it is not to, and of which only its own mark knows.
        marked = [item for item in found if item.asleep and item.awake_until and item.key not in known]
        await self._release(
            job,
            job.target,
            {item.key: Entry(cycle=job.cycle, was=dict(item.restore or {})) for item in marked},
            progress,
        )
        entries = merge(known, found, job.cycle, executor.identity)
        kept = Kept(target=job.target, entries=entries)
        if entries or before:
            stored[name] = await self._restore.save(job.namespace, job.plan, kept, before)
        left = {item.key for item in found if item.woken and job.behavior.on_woken_by_others == "Leave"}
        todo = {key: entry for key, entry in kept.sleeping.items() if key not in left}
        seen = {item.key: item.seen for item in found}
        progress.todo = [replace(item, seen=seen.get(item.key)) for item in _saved(todo)]
        progress.skipped = len(entries) - len(progress.todo)
        progress.saving = sum((entry.saving for entry in kept.sleeping.values()), Saving())
        progress.notes = left_words(entries, found)

    async def _prepare_wake(
        self, executor: Executor, job: Job, stored: dict[str, Stored], progress: Progress
    ) -> None:
        name = job.target.name
        kept = stored[name].kept if name in stored else None
        if kept and (mine := inherited(kept, job.cycle)):
            stored[name] = await self._restore.save(job.namespace, job.plan, mine, stored[name])
            kept = mine
        progress.todo = await self._to_wake(executor, job, kept)
        progress.skipped = len(kept.entries) - len(kept.sleeping) if kept else 0
        progress.notes = left_words(kept.entries) if kept else ""

    async def _to_wake(self, executor: Executor, job: Job, kept: Kept | None) -> list[Saved]:
        """What is kept, and what bears the plan's mark: either alone is enough."""
        marked = {item.key: item for item in await self._marked(executor, job, kept)}
        todo = {item.key: item for item in _saved(kept.sleeping)} if kept else {}
        unmarked = todo.keys() - marked.keys()
        covered = await self._covered(executor, job, unmarked) if unmarked else ()
        for key, item in marked.items():
            known = todo.get(key)
            was = item.restore or {}
            # Of another thing by the same name its own mark knows better.
            if known is None or known.restore.get(executor.identity) != was.get(executor.identity):
                todo[key] = Saved(key=key, restore=was, seen=item.seen)
            else:
                todo[key] = replace(known, seen=item.seen)
        for key in unmarked:
            todo[key] = replace(todo[key], covered=key in covered)
        return [todo[key] for key in sorted(todo)]

    async def _marked(self, executor: Executor, job: Job, kept: Kept | None) -> tuple[Item, ...]:
        """What bears the plan's mark. Where that cannot be asked for, restore data alone is enough."""
        try:
            return await executor.asleep(job)
        except Permanent as error:
            if kept is None:
                raise
            log.warning("marks cannot be looked for", target=job.target.name, why=str(error))
            return ()

    async def _covered(self, executor: Executor, job: Job, keys: Collection[str]) -> Collection[str]:
        """Those of the keys that the target covers as the plan has it now."""
        wanted = job.wanted
        if wanted is None or (wanted.type, wanted.connector_ref) != (
            job.target.type,
            job.target.connector_ref,
        ):
            return ()
        try:
            found = await executor.discover(replace(job, target=wanted))
        except Permanent:
            # It cannot be known. Then what slept by the very same words is woken by them.
            return keys if wanted == job.target else ()
        return {item.key for item in found}

    async def _release(self, job: Job, target: Target, gone: dict[str, Entry], progress: Progress) -> None:
        """Wake what the plan does not cover any more, or is to stay awake, before it is forgotten.

        If writes have no preconditions, all of it is looked at once more when none of the sleep can come any
        more; until then it stays in the restore data.
        """
        if not gone:
            return
        executor = self._registry[target.type]
        was = replace(job, target=target, wanted=job.target)
        todo = await self._to_wake(executor, was, Kept(target=target, entries=gone))
        known = progress.released
        todo = [replace(item, covered=item.covered or item.key in known) for item in todo if item.key in gone]
        failed: dict[str, ExecutorError] = {}
        await self._each(job, todo, lambda item: executor.wake(was, item), failed)
        mine = [item.key for item in todo if item.covered and item.key not in failed]
        progress.released = {key: known.get(key, job.now) for key in mine}
        for error in failed.values():
            raise error
        if executor.lingers is None or not mine:
            return
        waited = (job.now - max(progress.released.values())).total("seconds")
        if 0 <= waited < executor.lingers:
            left = items_words(len(mine), "that is", "that are")
            message = f"{left} covered no more could be put to sleep by a late request."
            raise Underway(message, retry_after=executor.lingers - waited)

    async def _act(
        self, job: Job, act: Callable[[Job, Saved], Awaitable[str | None]], progress: Progress
    ) -> Throttled | None:
        batch, rest = progress.todo[: progress.share], progress.todo[progress.share :]
        failed: dict[str, ExecutorError] = {}

        async def noting(item: Saved) -> None:
            if note := await act(job, item):
                progress.said.append(note)

        await self._each(job, batch, noting, failed)
        throttled = {key: error for key, error in failed.items() if isinstance(error, Throttled)}
        progress.failed |= {key: error for key, error in failed.items() if key not in throttled}
        finished = [item for item in batch if item.key not in failed]
        progress.done += len(finished)
        if self.lingers(job.target.type) is not None:
            progress.mine |= {item.key for item in finished if item.covered}
        if self._registry[job.target.type].patience(job) is not None:
            progress.settling += [replace(item, seen=None) for item in finished]
        progress.todo = [item for item in batch if item.key in throttled] + rest
        return max(throttled.values(), key=lambda error: error.patience, default=None)

    async def _each(
        self,
        job: Job,
        items: Iterable[Saved],
        act: Callable[[Saved], Awaitable[object]],
        failed: dict[str, ExecutorError],
    ) -> None:
        turns = self._turns.setdefault(job.namespace, asyncio.Semaphore(AT_ONCE))

        async def one(item: Saved) -> None:
            async with turns:
                try:
                    await act(item)
                except ExecutorError as error:
                    failed[item.key] = error
                except ODD as error:
                    # Restore data, or the thing itself, as people wrote it: the other items go on.
                    log.exception("restore document unusable", item=item.key)
                    failed[item.key] = Permanent(
                        f"what is kept of it cannot be used ({error!r}). Correct the restore data."
                    )

        await together(map(one, items))

    async def _end(
        self, executor: Executor, job: Job, operation: Operation, progress: Progress
    ) -> SliceResult:
        if (patience := executor.patience(job)) is not None:
            progress.settling = await self._unsettled(executor, job, operation, progress)
            # Not since the attempt began: what came before this may have taken hours by itself.
            progress.settles_since = progress.settles_since or job.now
            waited = (job.now - progress.settles_since).total("seconds")
            if progress.settling and waited >= patience:
                names = ", ".join(item.key for item in progress.settling[:MOST_NAMED])
                late = items_words(len(progress.settling), "has", "have")
                message = f"{late} not settled within {patience:g} s: {names}."
                return SliceResult(TargetOutcome(state="failed", items=progress.items, message=message))
            if progress.settling:
                message = f"Waiting for {items_words(len(progress.settling))} to settle."
                working = TargetOutcome(state="working", items=progress.items, message=message)
                return SliceResult(working, min(SETTLE_SECONDS, patience - waited))
        return SliceResult(finished(operation, progress))

    async def _unsettled(
        self, executor: Executor, job: Job, operation: Operation, progress: Progress
    ) -> list[Saved]:
        batch, rest = progress.settling[: progress.share], progress.settling[progress.share :]
        unsettled: set[str] = set()

        async def ask(item: Saved) -> None:
            if not await executor.settled(job, item, "Asleep" if operation == "Sleep" else "Awake"):
                unsettled.add(item.key)

        failed: dict[str, ExecutorError] = {}
        await self._each(job, batch, ask, failed)
        # Those still awake go to the end of the line, so that everyone is asked in turn.
        return rest + [item for item in batch if item.key in unsettled | failed.keys()]

    async def _forget_woken(self, job: Job, stored: dict[str, Stored], progress: Progress) -> None:
        """What was woken although others failed shall be woken only once."""
        before = stored.get(job.target.name)
        if before is None or not progress.prepared:
            return
        asleep = {item.key for item in progress.todo} | progress.failed.keys()
        unsettled = set() if asleep else {item.key for item in progress.settling}
        if self.lingers(job.target.type) is not None:
            unsettled = before.kept.sleeping.keys() - asleep
        left = {
            key: msgspec.structs.replace(entry, woken=key in unsettled)
            for key, entry in before.kept.entries.items()
            if key in asleep | unsettled
        }
        kept = Kept(target=before.kept.target, entries=left)
        stored[job.target.name] = await self._restore.save(job.namespace, job.plan, kept, before)


def _saved(entries: dict[str, Entry]) -> list[Saved]:
    return [Saved(key=key, restore=entry.was or {}) for key, entry in sorted(entries.items())]
