"""Turns changes into looks: sources say which keys to look at, workers look, and the outcome says what next.

    Controller("plans", reconcile, sources=[For(plans), Owns(jobs, PLANS), Watches(exceptions, plan_of)], …)

A reconcile is given a key and nothing else. It reads what is the case, and never asks what has happened.
Workers are a few plain tasks; there is no task per object. One namespace has at most three quarters of them
at once, so that looks which take long leave some to the others. A look that fails
with an unexpected error is logged, counted and tried again; the others do not notice.
"""

# ruff: noqa: N818 — errors are named after what is the case, as in kube.errors

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import structlog

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.cache import Cache
from hibernator.kube.clock import Clock, steady
from hibernator.kube.election import NotLeadingError
from hibernator.kube.errors import ApiError, Conflict, Throttled, Unavailable
from hibernator.kube.logging import about
from hibernator.kube.metrics import (
    RECONCILE_ERRORS,
    RECONCILE_SECONDS,
    RECONCILES,
    RECONCILES_RUNNING,
    Metrics,
)
from hibernator.kube.queue import Queue, QueueClosedError
from hibernator.kube.store import key_of

T = TypeVar("T", bound=Object)
log = structlog.get_logger(__name__)

# A tenth of a second, doubling up to five minutes.
EXPONENTIAL: Final = tuple(min(0.1 * 2**failures, 300.0) for failures in range(13))
# At once; should the cache still be behind the one who was quicker, with a little more patience each time.
_AFTER_CONFLICTS: Final = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
# Not before the server asked for it, and doubling: anyone who comes back each second keeps it busy.
_AFTER_THROTTLED: Final = tuple(min(2.0**failures, 300.0) for failures in range(10))
# Until the lease is renewed, or the process ends.
_AFTER_FENCED: Final = (1.0,)
# Real seconds. Whatever takes longer shall ask for another look instead of waiting.
_LONGEST: Final = 300.0


class Key(NamedTuple):
    """Which object; without a namespace for one of the whole cluster."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile asks for: another look after so many seconds, or none until something changes."""

    after: float | None = None


class Stalled(Exception):
    """It cannot go on like this until someone changes something; trying again would change nothing."""


class Transient(Exception):
    """It did not work this time, for a reason outside; it is tried again with growing patience."""


Reconcile = Callable[[Key], Awaitable[Result]]


class Source(Protocol):
    """Objects whose changes make a controller look."""

    @property
    def cache(self) -> Cache[Any]: ...

    def keys(self, obj: Any, /) -> Iterable[Key]:
        """Which keys to look at when this object has changed, or is about to."""


@dataclass(frozen=True, slots=True)
class For(Generic[T]):
    """The objects that the controller is for."""

    cache: Cache[T]

    def keys(self, obj: T) -> Iterable[Key]:
        return (Key(obj.metadata.namespace, obj.metadata.name),)


@dataclass(frozen=True, slots=True)
class Owns(Generic[T]):
    """Objects that belong to those of the kind `owner`, by a controller owner reference."""

    cache: Cache[T]
    owner: Kind[Any]

    def keys(self, obj: T) -> Iterable[Key]:
        namespace = obj.metadata.namespace if self.owner.namespaced else ""
        for reference in obj.metadata.owner_references:
            group = reference.api_version.rpartition("/")[0]
            if reference.controller and (group, reference.kind) == (self.owner.group, self.owner.kind):
                yield Key(namespace, reference.name)


@dataclass(frozen=True, slots=True)
class Watches(Generic[T]):
    """Other objects, and which keys they matter to."""

    cache: Cache[T]
    mapping: Callable[[T], Iterable[Key]]

    def keys(self, obj: T) -> Iterable[Key]:
        return self.mapping(obj)


class WatchesSpec(Watches[T]):
    """The same, where what the status says is of no interest: it is our own record of each step."""


class Controller:
    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        *,
        sources: Sequence[Source],
        clock: Clock,
        metrics: Metrics,
        workers: int = 4,
        of_one_namespace: int | None = None,
        backoff: Sequence[float] = EXPONENTIAL,
    ) -> None:
        self.name = name
        share = of_one_namespace or max(1, 3 * workers // 4)
        self.queue: Queue[Key] = Queue(name, clock, metrics, namespace=lambda key: key.namespace, most=share)
        self.sources = tuple(sources)
        self._reconcile = reconcile
        self._metrics = metrics
        self._workers = workers
        self._backoff = backoff
        self._runs = False
        self._busy = 0
        for source in self.sources:
            source.cache.on_change(_Handler(self, source))
        metrics.follow(RECONCILES_RUNNING, lambda: self._busy, name)

    async def run(self) -> None:
        """Look at everything once and then at what changes, until stopped; only for the one that leads.

        A replica that stands by does not queue: it would gather the keys of objects long gone.
        """
        self._runs = True
        self.look_at_all()
        async with asyncio.TaskGroup() as workers:
            for number in range(self._workers):
                workers.create_task(self._work(), name=f"{self.name}-{number}")

    def look_at_all(self) -> None:
        """Queue everything that there is, as if it had just been seen for the first time."""
        for source in self.sources:
            for obj in tuple(source.cache.values()):
                self.changed(source, None, obj)

    def stop(self) -> None:
        """Begin nothing more; `run` returns when what has begun is over."""
        self._runs = False
        self.queue.close()

    def changed(self, source: Source, old: Object | None, new: Object | None) -> None:
        """Queue what the object as it was, and as it is now, has to do with."""
        if not self._runs or (isinstance(source, WatchesSpec) and _is_same_spec(old, new)):
            return
        for obj in (old, new):
            if obj is None:
                continue
            try:
                for key in source.keys(obj):
                    self.queue.add(key)
            except Exception as error:
                self._metrics.count(RECONCILE_ERRORS, self.name, type(error).__name__)
                log.exception("unexpected error in a mapper; object skipped", key=key_of(obj))

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueClosedError:
                return
            try:
                with about(self.name, key.namespace, key.name):
                    await self._look(key)
            finally:
                self.queue.done(key)
            # A look that finds everything in caches never waits. Without this, a full queue would keep the
            # event loop, and with it every other controller, to itself.
            await asyncio.sleep(0)

    async def _look(self, key: Key) -> None:
        began = steady()
        self._busy += 1
        try:
            async with asyncio.timeout(_LONGEST):
                outcome = self._succeeded(key, await self._reconcile(key))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            outcome = self._failed(key, error)  # something inside was cancelled, not this worker
        except Exception as error:  # noqa: BLE001 — to contain whatever happens is what this is for
            outcome = self._failed(key, error)
        finally:
            self._busy -= 1
        self._metrics.count(RECONCILES, self.name, outcome)
        self._metrics.observe(RECONCILE_SECONDS, steady() - began, self.name)

    def _succeeded(self, key: Key, result: Result) -> str:
        self.queue.forget(key)
        if result.after is None:
            return "done"
        self.queue.add_after(key, result.after)
        return "later"

    def _failed(self, key: Key, error: BaseException) -> str:
        self._metrics.count(RECONCILE_ERRORS, self.name, type(error).__name__)
        match error:
            case Stalled():
                self.queue.forget(key)
                log.warning("stalled until something changes", why=str(error))
                return "stalled"
            case Conflict():
                self.queue.retry(key, _AFTER_CONFLICTS)
                return "conflict"
            case Throttled():
                self.queue.retry(key, _AFTER_THROTTLED, at_least=error.retry_after)
                return "throttled"
            case NotLeadingError():
                self.queue.retry(key, _AFTER_FENCED)
                return "fenced"
            case Transient() | ApiError() | TimeoutError() | OSError():
                rest = error.retry_after if isinstance(error, Unavailable) else None
                seconds = self.queue.retry(key, self._backoff, at_least=rest)
                why = str(error) or type(error).__name__
                log.warning("reconcile failed; trying again", why=why, seconds=round(seconds, 1))
                return "transient"
            case _:
                seconds = self.queue.retry(key, self._backoff)
                log.error("unexpected error in reconcile", exc_info=error, seconds=round(seconds, 1))
                return "fault"


def _is_same_spec(old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return False
    was, now = old.metadata, new.metadata
    return (was.uid, was.generation, was.deletion_timestamp) == (
        now.uid,
        now.generation,
        now.deletion_timestamp,
    )


@dataclass(frozen=True, slots=True)
class _Handler:
    """What a cache calls; a value with a readable name for the cache's own error messages."""

    controller: Controller
    source: Source

    def __call__(self, old: Object | None, new: Object | None) -> None:
        self.controller.changed(self.source, old, new)
