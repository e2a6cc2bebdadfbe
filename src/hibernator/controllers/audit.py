"""Records the deletion of every object in the audit trail, with or without a finalizer.

Most objects have no finalizer, and need none just to be recorded. While this replica leads, its watches
report each deletion with the last state of the object. Deletions while no replica led are found when the next
one begins to lead: the trail has the creation of the object and not its deletion. The event of a deletion has
one id, so it can be recorded twice. Its actor is looked up among the deletion requests.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from whenever import Instant

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.api.hibernateplan import PLANS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.audit.asked import DeletionRequest, deleter
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, Resource, event, person
from hibernator.audit.spool import NAME, read
from hibernator.audit.store import Life
from hibernator.audit.trail import Trail
from hibernator.controllers import journal_audit
from hibernator.controllers.means import Means
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Controller, For, Key, Result, Watches

_SPOOL_AGAIN: Final = 30.0  # seconds


class SpoolReconciler:
    def __init__(self, client: Client, spools: Cache[ConfigMap], trail: Trail) -> None:
        self._client = client
        self._spools = spools
        self._trail = trail

    async def reconcile(self, key: Key) -> Result:
        found = self._spools.get(*key)
        if found is None or not found.data:
            return Result()
        try:
            await self._trail.record_now(*(one for text in found.data.values() if (one := read(text))))
        except AuditUnavailable:
            return Result(_SPOOL_AGAIN)
        # Others may have added something since. Each goes by its own name, so that this takes nothing of it.
        written = await self._client.patch(
            CONFIG_MAPS, key.name, key.namespace, {"data": dict.fromkeys(found.data)}, resource_version=None
        )
        self._spools.wrote(written)
        return Result()


def spool_controller(means: Means, home: str) -> Controller:
    spools = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={NAME}")
    reconcile = SpoolReconciler(means.client, spools, means.trail).reconcile
    return means.controller("auditspool", reconcile, [For(spools)], workers=1)


T = TypeVar("T", bound=Object)

# Deletions at the same time are recorded together.
_SEEN: Final = Key("", "deleted")
_MISSED: Final = Key("", "deleted without a leader")
_PATIENCE: Final = 1.0
_AGAIN: Final = 60.0  # seconds
_KINDS: Final[tuple[Kind[Any], ...]] = (
    SCALERS,
    PLANS,
    PROVIDERS,
    CLUSTERS,
    EXCEPTIONS,
    EXCEPTION_POLICIES,
    REMEDIATIONS,
    ANALYSES,
    APPROVAL_REQUESTS,
    PLAN_REQUESTS,
)
_UNSEEN: Final = "found to be gone when a replica began to lead; when it went is not known"


@dataclass(frozen=True, slots=True)
class Deletion:
    """An object that was deleted, at some moment between two of real time."""

    life: Life
    at: Instant  # as it is recorded
    since: Instant
    until: Instant
    last_events: tuple[AuditEvent, ...] = ()
    noticed: str = ""
    identity: tuple[str, ...] = ()


class DeletionRecorder:
    def __init__(self, means: Means, caches: Sequence[Cache[Any]]) -> None:
        self._trail = means.trail
        self._spool = means.spool
        self._clock = means.clock
        self._real = SystemClock()  # by which people ask to delete something
        self._namespace = means.caches.namespace
        self._caches: Mapping[str, Cache[Any]] = {one.kind.kind: one for one in caches}
        self._deletions: dict[Resource, Deletion] = {}
        self._left_at: Instant | None = None
        self._leads = False
        sources = [Watches(one, _no_keys) for one in caches]
        self.controller = means.controller("deletions", self.reconcile, sources, workers=1)
        for cache in caches:
            cache.on_change(self._handler(cache.kind))

    def lead(self, left_at: Instant | None) -> None:
        """From now on every deletion is seen. Those since the last leader left have to be looked for."""
        self._leads, self._left_at = True, left_at
        self.controller.queue.add(_MISSED)

    async def reconcile(self, key: Key) -> Result:
        if key == _MISSED:
            return await self._find_missed()
        found, self._deletions = self._deletions, {}
        try:
            await self._record(found)
        except BaseException:
            self._deletions = found | self._deletions
            raise
        return Result()

    async def _record(self, found: Mapping[Resource, Deletion]) -> None:
        # The store drops what it cannot read any more; but that is still there.
        really = [
            one
            for about, one in found.items()
            if (about.namespace, about.name) not in self._caches[about.kind].undecodable
        ]
        asked: dict[str, list[DeletionRequest]] = defaultdict(list)
        for request in await self._spool.asked(*(one.life.resource.uid for one in really)):
            asked[request.uid].append(request)
        events: list[AuditEvent] = []
        for one in really:
            events += (*one.last_events, _deleted(one, asked[one.life.resource.uid]))
        await self._spool.keep(*events, patience=_PATIENCE)

    async def _find_missed(self) -> Result:
        # What the last leader has recorded of their end must be in the trail, or it would be there twice.
        try:
            known = await self._trail.living()
        except AuditUnavailable:
            return Result(_AGAIN)
        if await self._spool.waits():
            return Result(_AGAIN)
        for life in known:
            if self._is_missing(life.resource):
                now = self._real.now()
                since = self._left_at or now
                self._add(Deletion(life, self._clock.now(), since, now, noticed=_UNSEEN))
        return Result()

    def _is_missing(self, about: Resource) -> bool:
        cache = self._caches.get(about.kind)
        if cache is None or self._namespace not in {"", about.namespace}:
            return False  # someone else's, or where this operator does not look
        key = about.namespace, about.name
        found = cache.get(*key)
        is_there = found is not None and found.metadata.uid == about.uid
        return not is_there and key not in cache.undecodable

    def _handler(self, kind: Kind[T]) -> Callable[[T | None, T | None], None]:
        def changed(old: T | None, new: T | None) -> None:
            if old is None or new is not None or not self._leads:
                return
            about, deleted = Resource.of(kind, old), old.metadata.deletion_timestamp
            at, real = (Instant(deleted),) * 2 if deleted else (self._clock.now(), self._real.now())
            life = Life(about, journal_audit.correlation(kind, old))
            last_events, identity = tuple(journal_audit.events(kind, old)), journal_audit.of_deletion(old)
            self._add(Deletion(life, at, real, real, last_events, identity=identity))

        return changed

    def _add(self, deletion: Deletion) -> None:
        self._deletions[deletion.life.resource] = deletion
        self.controller.queue.add(_SEEN)


def deletion_recorder(means: Means) -> DeletionRecorder:
    """For every kind whose transitions the trail has."""
    return DeletionRecorder(means, [means.caches.of(kind) for kind in _KINDS])


def _deleted(deletion: Deletion, asked: Iterable[DeletionRequest]) -> AuditEvent:
    about = deletion.life.resource
    return event(
        f"{about.kind.lower()}.deleted",
        about,
        at=deletion.at,
        identity=deletion.identity,
        actor=person(deleter(asked, deletion.since, deletion.until)),
        channel="api",
        correlation_id=deletion.life.correlation_id,
        data={"noticed": deletion.noticed} if deletion.noticed else None,
    )


def _no_keys(_one: Object) -> Iterable[Key]:
    return ()
