"""Runs everything of one replica together, and stops it in an order in which nothing is lost.

Caches, servers and whatever else was added run on every replica, so that one that stands by is warm.
Controllers run only where the caches are filled and the lease is held.

On the way out: take no more work, let what is under way finish for a moment, then let no write begin any
more, so that each reconcile ends at its next one; write what waits to be written, give the lease back, and
only then stop the rest. The lease is given back as soon as no reconcile runs. If one had to be cut short, it
is not: its last write must be over before another replica leads, and the lease's own end sees to that.

When the API server turns out to have been set back to an older state, every cache reads everything again. A
replica that leads ends and starts afresh, because what it has in hand rests on what never was.
"""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import structlog

from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller
from hibernator.kube.election import Elector, Watchdog
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.metrics import LEADER

log = structlog.get_logger(__name__)

# Seconds for each step of the way out: with the two for the release of the lease less than the thirty that
# Kubernetes waits (terminationGracePeriodSeconds) before it kills the process.
_DRAIN: Final = 2.0
_LAST_WRITES: Final = 18.0
_CUT_SHORT: Final = 0.5
_FLUSH: Final = 1.0
_REST: Final = 1.5

_LEASE: Final = "lease"
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)

Run = Callable[[], Awaitable[Any]]
Flush = Callable[[float], Awaitable[Any]]


class EndedError(Exception):
    """Something that should run for as long as the replica does came to an end by itself."""


class WorldWentBackError(Exception):
    """The API server was set back to an older state while this replica led."""


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
        self._followed: list[Cache[Any]] = []
        self._group: asyncio.TaskGroup | None = None
        self._running: list[asyncio.Task[None]] = []  # on every replica
        self._leading: list[asyncio.Task[None]] = []  # on the one that leads
        self._why: Exception | None = None  # it must stop although no one asked for it
        self._at_lead: list[Callable[[], object]] = []
        self._at_rewind: list[Callable[[], object]] = []
        self._flushes: list[Flush] = [recorder.flush] if recorder else []
        self._asked_to_stop = asyncio.Event()
        self.leading = asyncio.Event()
        if elector:
            elector.on_rewind(self.world_went_back)
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
        if cache not in self._caches:
            self._caches[cache] = cache.kind.resource
            cache.on_rewind(self.world_went_back)

    def follow(self, cache: Cache[Any]) -> None:
        """Keep this cache filled from now on, for a kind of which a running controller first hears.

        Whether the replica is ready does not depend on it: the kind may not even exist.
        """
        if self._group is None:
            raise RuntimeError("only a manager that runs can follow another cache")
        cache.on_rewind(self.world_went_back)
        self._followed.append(cache)
        self._running.append(self._start(self._group, f"cache of {cache.kind.resource}", cache.run))

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

    def on_rewind(self, callback: Callable[[], object]) -> None:
        """Call this when the API server turns out to have been set back while this replica leads."""
        self._at_rewind.append(callback)

    def look_at_all(self) -> None:
        """Have every controller look at everything once more."""
        for controller in self._controllers:
            controller.look_at_all()

    def flush_with(self, flush: Flush) -> None:
        """Call this when no reconcile runs any more and the lease is still held, with the seconds it has."""
        self._flushes.append(flush)

    def stop(self) -> None:
        self._asked_to_stop.set()

    def world_went_back(self) -> None:
        """The API server was set back to an older state, as by a restore of etcd from a backup."""
        leads = self.leading.is_set()
        log.error("api server was set back to an older state; relisting everything", leading=leads)
        for cache in self.caches:
            cache.relist()
        if not leads:
            return
        for controller in self._controllers:
            controller.stop()
        if self._elector:
            self._elector.fence()
        for callback in self._at_rewind:
            callback()
        self._fail(WorldWentBackError("the API server was set back to an older state"))

    async def run(self) -> None:
        """Run until asked to stop; or until something ends that must not, and then raise why."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._running = [self._start(group, name, run) for name, run in self._jobs()]
            candidate = group.create_task(self._candidate(group), name="candidate")
            try:
                await self._asked_to_stop.wait()
            finally:
                self.stop()
                await _end([candidate], _CUT_SHORT)
                await self._stop_leading()
                await _end(self._running, _REST)
        if self._why:
            raise self._why

    def _start(self, group: asyncio.TaskGroup, name: str, run: Run) -> asyncio.Task[None]:
        return group.create_task(self._for_ever(name, run), name=name)

    async def _for_ever(self, name: str, run: Run) -> None:
        """Run something that ends only because it is stopped; anything else stops the replica, in order."""
        try:
            await run()
        except Exception as error:  # noqa: BLE001 — it is raised at the end of `run`
            self._fail(error)
        else:
            self._fail(EndedError(f"{name} ended unexpectedly"))

    def _fail(self, why: Exception) -> None:
        if not self._asked_to_stop.is_set():
            self._why = why
            self.stop()

    def _jobs(self) -> Iterator[tuple[str, Run]]:
        for cache, resource in self._caches.items():
            yield f"cache of {resource}", cache.run
        if self._recorder:
            yield "events", self._recorder.run
        yield from self._everywhere.items()

    def _unfilled(self) -> str:
        missing = sorted(resource for cache, resource in self._caches.items() if not cache.synced.is_set())
        return f"waiting for the first list of {', '.join(missing)}" if missing else ""

    async def _candidate(self, group: asyncio.TaskGroup) -> None:
        try:
            await self._wait_synced()
            if self._elector:
                await self._elector.acquire()
        except Exception as error:  # noqa: BLE001 — likewise
            self._fail(error)
        else:
            self._begin_to_lead(group)

    async def _wait_synced(self) -> None:
        for cache in self._caches:
            await cache.wait_synced()

    def _begin_to_lead(self, group: asyncio.TaskGroup) -> None:
        self.leading.set()
        for callback in self._at_lead:
            callback()
        if self._elector and self._watchdog:
            self._watchdog.start()
            self._leading.append(self._start(group, _LEASE, self._elector.hold))
        for controller in self._controllers:
            self._leading.append(self._start(group, controller.name, partial(self._control, controller)))

    async def _control(self, controller: Controller) -> None:
        # They were filled before the election, but may have come into doubt since.
        await self._wait_synced()
        await controller.run()

    async def _stop_leading(self) -> None:
        """Also for one that has only just got the lease, or never did: then there is little to do."""
        finished = await self._drain([task for task in self._leading if task.get_name() != _LEASE])
        async with asyncio.TaskGroup() as flushing:
            for flush in self._flushes:
                flushing.create_task(_flushed(flush))
        if self._watchdog:
            self._watchdog.stop()
        await _end(self._leading, _CUT_SHORT)
        if self._elector and finished:
            await self._elector.release()
        self.leading.clear()

    async def _drain(self, working: Collection[asyncio.Task[None]]) -> bool:
        """Let reconciles finish, or else come to their next write; whether all of them did."""
        for controller in self._controllers:
            controller.stop()
        if not working:
            return True
        _, late = await asyncio.wait(working, timeout=_DRAIN)
        if late and self._elector:
            self._elector.fence()
            _, late = await asyncio.wait(late, timeout=_LAST_WRITES)
        if late:
            log.warning("reconciles were cut short", tasks=sorted(task.get_name() for task in late))
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


async def _flushed(flush: Flush) -> None:
    try:
        await flush(_FLUSH)
    except Exception:  # what one cannot write must keep neither the others nor the lease
        log.exception("unexpected error in a flush")


async def _end(tasks: Collection[asyncio.Task[Any]], seconds: float) -> None:
    """Cancel what still runs, and give it a moment to clean up."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, stuck = await asyncio.wait(tasks, timeout=seconds)
        for task in stuck:
            log.warning("task does not end", task=task.get_name())
