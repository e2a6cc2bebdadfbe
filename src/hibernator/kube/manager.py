"""Runs everything of one replica together, and stops it in an order in which nothing is lost.

Caches, servers and whatever else was added run on every replica, so that one that stands by is warm.
Controllers run only where the caches are filled and the lease is held.

On the way out, within ten seconds: take no more work, let what is under way finish, write what waits to be
written, give the lease back, and only then stop the rest. The lease is given back only if nothing had to be
cut short: a write that was must be over before another replica leads, and the lease's own end sees to that.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import structlog

from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller
from hibernator.kube.election import Elector
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.metrics import LEADER
from hibernator.kube.watchdog import Watchdog

log = structlog.get_logger(__name__)

# Seconds for each step of the way out: ten, together with the two for the release of the lease.
_DRAIN: Final = 4.5
_CUT_SHORT: Final = 0.5
_FLUSH: Final = 1.0
_REST: Final = 1.5

_LEASE: Final = "lease"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

Run = Callable[[], Awaitable[Any]]
Flush = Callable[[float], Awaitable[Any]]


class EndedError(Exception):
    """Something that should run for as long as the replica does came to an end by itself."""


class Manager:
    def __init__(
        self,
        health: Health,
        *,
        elector: Elector | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._elector = elector
        self._recorder = recorder
        self._watchdog = Watchdog(lambda: elector.over_at) if elector else None
        self._caches: dict[Cache[Any], str] = {}
        self._controllers: list[Controller] = []
        self._everywhere: dict[str, Run] = {"heartbeat": health.beat}
        self._followed: dict[Cache[Any], asyncio.Task[None]] = {}
        self._at_lead: list[Callable[[], object]] = []
        self._flushes: list[Flush] = [recorder.flush] if recorder else []
        self._asked_to_stop = asyncio.Event()
        self.leading = asyncio.Event()
        health.metrics.follow(LEADER, self.leading.is_set)
        health.ready_if("caches", self._unfilled)
        health.ready_if("running", lambda: "about to stop" if self._asked_to_stop.is_set() else "")

    @property
    def caches(self) -> Collection[Cache[Any]]:
        return (*self._caches, *self._followed)

    @property
    def controllers(self) -> Collection[Controller]:
        return tuple(self._controllers)

    def add_cache(self, cache: Cache[Any]) -> None:
        """Keep this cache filled; those that controllers name as sources are added with them."""
        self._caches[cache] = cache.kind.resource

    def follow(self, cache: Cache[Any]) -> None:
        """Keep this cache filled from now on, for a kind of which a running controller first hears.

        Whether the replica is ready does not depend on it: the kind may not even exist.
        """
        task = asyncio.create_task(_for_ever(f"cache of {cache.kind.resource}", cache.run))
        task.add_done_callback(lambda _: self.stop())
        self._followed[cache] = task

    def add_controller(self, controller: Controller) -> None:
        self._controllers.append(controller)
        for source in controller.sources:
            self.add_cache(source.cache)

    def add(self, name: str, run: Run) -> None:
        """Run this on every replica until it is cancelled at the end."""
        self._everywhere[name] = run

    def on_lead(self, callback: Callable[[], object]) -> None:
        """Call this when the replica begins to lead."""
        self._at_lead.append(callback)

    def look_at_all(self) -> None:
        """Have every controller look at everything once more."""
        for controller in self._controllers:
            controller.look_at_all()

    def flush_with(self, flush: Flush) -> None:
        """Call this when no reconcile runs any more and the lease is still held, with the seconds it has."""
        self._flushes.append(flush)

    def stop(self) -> None:
        self._asked_to_stop.set()

    async def run(self) -> None:
        """Run until asked to stop; or until something ends that must not, and then raise why."""
        asked = asyncio.create_task(self._asked_to_stop.wait())
        everywhere = [asyncio.create_task(_for_ever(name, run), name=name) for name, run in self._jobs()]
        candidate = asyncio.create_task(self._become_leader(), name="candidate")
        leading: list[asyncio.Task[None]] = []
        try:
            ended = await _first_of(asked, candidate, *everywhere)
            if ended == {candidate} and not candidate.exception():
                leading = self._begin_to_lead()
                ended = await _first_of(asked, *leading, *everywhere)
        finally:
            self._asked_to_stop.set()
            await _end([candidate], _CUT_SHORT)
            await self._stop_leading(leading)
            await _end([asked, *everywhere, *self._followed.values()], _REST)
        for task in {*ended, *self._followed.values()} - {asked}:
            if task.done() and not task.cancelled():
                task.result()

    def _jobs(self) -> Iterator[tuple[str, Run]]:
        for cache, resource in self._caches.items():
            yield f"cache of {resource}", cache.run
        if self._recorder:
            yield "events", self._recorder.run
        yield from self._everywhere.items()

    def _unfilled(self) -> str:
        missing = sorted(resource for cache, resource in self._caches.items() if not cache.synced.is_set())
        return f"waiting for the first list of {', '.join(missing)}" if missing else ""

    async def _become_leader(self) -> None:
        for cache in self._caches:
            await cache.wait_synced()
        if self._elector:
            await self._elector.acquire()

    def _begin_to_lead(self) -> list[asyncio.Task[None]]:
        self.leading.set()
        for callback in self._at_lead:
            callback()
        jobs: list[tuple[str, Run]] = [(one.name, one.run) for one in self._controllers]
        if self._elector and self._watchdog:
            self._watchdog.start()
            jobs.append((_LEASE, self._elector.hold))
        return [asyncio.create_task(_for_ever(name, run), name=name) for name, run in jobs]

    async def _stop_leading(self, leading: Sequence[asyncio.Task[None]]) -> None:
        """Also for one that has only just got the lease, or never did: then there is little to do."""
        finished = await self._drain([task for task in leading if task.get_name() != _LEASE])
        await asyncio.gather(*(flush(_FLUSH) for flush in self._flushes))
        if self._watchdog:
            self._watchdog.stop()
        await _end(leading, _CUT_SHORT)
        if self._elector and finished:
            await self._elector.release()
        self.leading.clear()

    async def _drain(self, working: Sequence[asyncio.Task[None]]) -> bool:
        """Let reconciles finish; whether all of them did."""
        for controller in self._controllers:
            controller.stop()
        if not working:
            return True
        _, late = await asyncio.wait(working, timeout=_DRAIN)
        if late:
            log.warning("reconciles were cut short", seconds=_DRAIN)
        await _end(late, _CUT_SHORT)
        return not late


@contextmanager
def stopped_by_signals(manager: Manager) -> Iterator[None]:
    """Stop the manager on the first SIGTERM or Ctrl-C, and the process on the second."""
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        log.info("stopping", signal=number.name)
        manager.stop()
        for either in _SIGNALS:
            loop.remove_signal_handler(either)
            signal.signal(either, signal.SIG_DFL)

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def _for_ever(name: str, run: Run) -> None:
    await run()
    raise EndedError(f"{name} ended although nobody asked it to")


async def _first_of(*tasks: asyncio.Task[Any]) -> set[asyncio.Task[Any]]:
    return (await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED))[0]


async def _end(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Cancel what still runs, and give it a moment to clean up."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, stuck = await asyncio.wait(tasks, timeout=seconds)
        for task in stuck:
            log.warning("does not end", task=task.get_name())
