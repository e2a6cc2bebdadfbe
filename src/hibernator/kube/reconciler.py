"""One pass of every controller: read, gather, decide, write the status, notify, record, and look again when.

A kind has a reconciler of its own for what differs: what it gathers, and what it performs before and after
its status is written. All else is here, once. Every write has the version that was read as its precondition,
and what it answers is in the cache before the next pass: no pass acts on an object that is older than its
own last write to it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from whenever import Instant

from hibernator.api.meta import Model, Object
from hibernator.decisions.conditions import Notice
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key, Result
from hibernator.kube.errors import Conflict, NotFound
from hibernator.kube.events import Recorder
from hibernator.kube.patch import encode, merge_patch

T = TypeVar("T", bound=Object)
J_contra = TypeVar("J_contra", bound=Object, contravariant=True)
S = TypeVar("S")


class Objects(Generic[T]):
    """The objects of one kind, for those who write them."""

    def __init__(self, client: Client, cache: Cache[T], recorder: Recorder) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder

    async def write_status(self, found: T, status: Model) -> T:
        """Make this its status, by a patch of what differs; nothing is sent where nothing does."""
        before: Model = found.status  # type: ignore[attr-defined] # every kind that a controller writes has one
        if status == before:
            return found
        patch = merge_patch(encode(before), encode(status))
        return await self._write(found, {"status": patch}, subresource="status")

    async def write_metadata(self, found: T, change: Mapping[str, Any]) -> T:
        return await self._write(found, {"metadata": change})

    async def read_again(self, found: T) -> None:
        """Raise a conflict unless the API server has it as the cache does, where the cache may be behind.

        For before what cannot be undone: the watch of a replica that has just begun to lead, for example, may
        be minutes behind.
        """
        metadata = found.metadata
        fresh = await self._client.get(self._cache.kind, metadata.name, metadata.namespace)
        if fresh.metadata.resource_version != metadata.resource_version:
            self._cache.wrote(fresh)
            raise Conflict(f"the {self._cache.kind.kind} has changed since it was read")

    def notify(self, found: T, notices: Iterable[Notice[Any]], *, quiet: float = 0.0) -> None:
        """Have Kubernetes Events written about it; none that was written less than `quiet` seconds ago."""
        for one in notices:
            self._recorder.note(self._cache.kind, found, one.type, one.reason, one.message, quiet=quiet)

    async def _write(self, found: T, body: Mapping[str, Any], subresource: str = "") -> T:
        metadata = found.metadata
        try:
            written = await self._client.patch(
                self._cache.kind,
                metadata.name,
                metadata.namespace,
                body,
                resource_version=metadata.resource_version,
                subresource=subresource,
            )
        except Conflict:
            await self.read_again(found)  # the watch may stand still: then every further try would conflict
            raise
        self._cache.wrote(written)
        return written


class Journals(Protocol[J_contra]):
    """Takes the journals of one kind to the audit trail."""

    def record(self, found: J_contra) -> None:
        """Record the journal of this object, without waiting."""

    async def record_now(self, found: J_contra) -> bool:
        """Record it, and wait until it is durable; False while the database is away."""

    def recorded(self, found: J_contra) -> frozenset[int]:
        """The numbers of those entries of its journal that are durable."""

    def forget(self, namespace: str, name: str) -> None:
        """This object is gone."""


class Decided(Protocol):
    """What is done with every decision, of whatever kind."""

    @property
    def status(self) -> Model | None:
        """What the status shall be; None to leave it alone."""

    @property
    def notices(self) -> Sequence[Notice[Any]]:
        """What people are notified of."""

    @property
    def after(self) -> float | None:
        """When to look again, in seconds."""


D = TypeVar("D", bound=Decided)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Generic[T]):
    """What every reconciler works with."""

    client: Client
    cache: Cache[T]
    recorder: Recorder
    clock: Clock
    journals: Journals[T]


@dataclass(frozen=True, slots=True)
class Pass(Generic[T, S, D]):
    """One pass, once it is decided."""

    key: Key
    found: T  # as it is by now
    seen: S
    decision: D
    now: Instant  # of the whole pass
    wrote: bool = False  # whether there is a new status


class Reconciler(ABC, Generic[T, S, D]):
    # None: notices are emitted with a new status. Otherwise they describe the current state and are emitted
    # on every pass, the same one at most once in so many seconds.
    QUIET: ClassVar[float | None] = None

    def __init__(self, parts: Parts[T], decide: Callable[[S, Instant], D]) -> None:
        """`decide` is pure."""
        self.client = parts.client
        self.cache = parts.cache
        self.clock = parts.clock
        self.journals = parts.journals
        self.objects = Objects(parts.client, parts.cache, parts.recorder)
        self._decide = decide

    async def reconcile(self, key: Key) -> Result:
        found = self.cache.get(*key)
        if found is None:
            self.journals.forget(*key)
            await self.forget(key)
            return Result()
        now = self.clock.now()
        seen = await self.gather(key, found, now)
        if isinstance(seen, Result):
            self.journals.record(found)
            return seen
        decision = self._decide(seen, now)
        current = await self.perform(Pass(key, found, seen, decision, now))
        if current is None:
            return Result()
        try:
            status = decision.status
            written = current if status is None else await self.objects.write_status(current, status)
        except NotFound:
            return Result()  # deleted meanwhile, which brings the next pass
        wrote = written is not current
        if self.QUIET is not None or wrote:
            self.objects.notify(current, decision.notices, quiet=self.QUIET or 0.0)
        self.journals.record(written)
        return Result(await self.follow(Pass(key, written, seen, decision, now, wrote)))

    async def forget(self, _key: Key, /) -> None:
        """Drop what is remembered of an object that is gone."""

    @abstractmethod
    async def gather(self, key: Key, found: T, now: Instant, /) -> S | Result:
        """All that the decision may look at; or when to look again, where nothing is to be decided now."""

    async def perform(self, one: Pass[T, S, D], /) -> T | None:
        """Write what comes before the status; returns the object as it is then, or None when it is over."""
        return one.found

    async def follow(self, one: Pass[T, S, D], /) -> float | None:
        """Do what comes after the status, and say when to look again."""
        return one.decision.after
