"""Tells the audit trail that an object is gone, of every kind, whether or not anybody waited for that.

Most objects have no finalizer, and shall need none just to be written about. While this replica leads, the
watch tells who has gone, and how they were last. Whoever went while nobody led is found at the beginning of
the next lead: the trail knows whose beginning it has told and whose end it has not. There is one id for the
end of an object, so that it does not matter who tells it, or how often. Who did it is looked for among those
who asked for it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from whenever import Instant

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.audit.asked import Asked, deleter
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, Resource, event, person
from hibernator.audit.store import Life
from hibernator.controllers import journal_audit, remediation_audit, scheduleexception_audit
from hibernator.controllers.means import Means
from hibernator.kube.cache import Cache
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Controller, Key, Result, Watches

T = TypeVar("T", bound=Object)

# All that go at the same time are told at the same time.
_DEPARTURE: Final = Key("", "who goes")
_ABSENCE: Final = Key("", "who went while nobody led")
_PATIENCE: Final = 1.0
_AGAIN: Final = 60.0  # seconds
_UNSEEN: Final = "found to be gone when a replica began to lead; when it went is not known"


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """Objects whose end is told, with what else their last state still has to tell."""

    cache: Cache[T]
    events: Callable[[T], Iterable[AuditEvent]]
    correlation: Callable[[T], str] = lambda _one: ""


@dataclass(frozen=True, slots=True)
class Gone:
    """Somebody who went, at some moment between two of real time."""

    life: Life
    at: Instant  # as it is told
    since: Instant
    until: Instant
    last_words: tuple[AuditEvent, ...] = ()
    noticed: str = ""
    identity: tuple[str, ...] = ()


class Departures:
    def __init__(self, means: Means, kinds: Sequence[Kept[Any]]) -> None:
        self._trail = means.trail
        self._spool = means.spool
        self._clock = means.clock
        self._real = SystemClock()  # by which people ask to delete something
        self._namespace = means.caches.namespace
        self._kinds: Mapping[str, Kept[Any]] = {one.cache.kind.kind: one for one in kinds}
        self._gone: dict[Resource, Gone] = {}
        self._left_at: Instant | None = None
        self._leads = False
        self.controller = Controller(
            "departures",
            self.reconcile,
            sources=[Watches(one.cache, _nobody) for one in kinds],
            clock=means.clock,
            metrics=means.metrics,
            workers=1,
        )
        for kind in kinds:
            kind.cache.on_change(self._handler(kind))

    def lead(self, left_at: Instant | None) -> None:
        """From now on whoever goes is seen. Who went since the last leader left has to be looked for."""
        self._leads, self._left_at = True, left_at
        self.controller.queue.add(_ABSENCE)

    async def reconcile(self, key: Key) -> Result:
        if key == _ABSENCE:
            return await self._look_for_the_absent()
        gone, self._gone = self._gone, {}
        try:
            await self._tell(gone)
        except BaseException:
            self._gone = gone | self._gone
            raise
        return Result()

    async def _tell(self, gone: Mapping[Resource, Gone]) -> None:
        # The store drops what it cannot read any more; but that is still there.
        really = [
            one
            for about, one in gone.items()
            if (about.namespace, about.name) not in self._kinds[about.kind].cache.undecodable
        ]
        asked: dict[str, list[Asked]] = defaultdict(list)
        for wish in await self._spool.asked(*(one.life.resource.uid for one in really)):
            asked[wish.uid].append(wish)
        events: list[AuditEvent] = []
        for one in really:
            events += (*one.last_words, _deleted(one, asked[one.life.resource.uid]))
        await self._spool.keep(*events, patience=_PATIENCE)

    async def _look_for_the_absent(self) -> Result:
        # What the last leader has told of their end must be in the trail, or it would be told twice.
        try:
            known = await self._trail.living()
        except AuditUnavailable:
            return Result(_AGAIN)
        if await self._spool.waits():
            return Result(_AGAIN)
        for life in known:
            if self._is_absent(life.resource):
                now = self._real.now()
                since = self._left_at or now
                self._is_gone(Gone(life, self._clock.now(), since, now, noticed=_UNSEEN))
        return Result()

    def _is_absent(self, about: Resource) -> bool:
        kept = self._kinds.get(about.kind)
        if kept is None or self._namespace not in {"", about.namespace}:
            return False  # somebody else's, or where this operator does not look
        key = about.namespace, about.name
        found = kept.cache.get(*key)
        is_there = found is not None and found.metadata.uid == about.uid
        return not is_there and key not in kept.cache.undecodable

    def _handler(self, kind: Kept[T]) -> Callable[[T | None, T | None], None]:
        def changed(old: T | None, new: T | None) -> None:
            if old is None or new is not None or not self._leads:
                return
            about, deleted = Resource.of(kind.cache.kind, old), old.metadata.deletion_timestamp
            at, real = (Instant(deleted),) * 2 if deleted else (self._clock.now(), self._real.now())
            life = Life(about, kind.correlation(old))
            last_words, identity = tuple(kind.events(old)), journal_audit.of_deletion(old)
            self._is_gone(Gone(life, at, real, real, last_words, identity=identity))

        return changed

    def _is_gone(self, gone: Gone) -> None:
        self._gone[gone.life.resource] = gone
        self.controller.queue.add(_DEPARTURE)


def every_departure(means: Means) -> Departures:
    """For every kind that the trail tells of."""
    of = means.caches.of
    return Departures(
        means,
        [
            *(_journaling(of(kind)) for kind in (SCALERS, PLANS, PROVIDERS, CLUSTERS)),
            Kept(of(EXCEPTIONS), scheduleexception_audit.events, _own_uid),
            Kept(of(REMEDIATIONS), remediation_audit.remediation_events, _own_uid),
            Kept(of(ANALYSES), remediation_audit.analysis_events, remediation_audit.correlation),
            Kept(of(APPROVAL_REQUESTS), remediation_audit.request_events, remediation_audit.correlation),
        ],
    )


def _journaling(cache: Cache[Any]) -> Kept[Any]:
    return Kept(cache, lambda one: journal_audit.events(cache.kind, one, one.status.journal))


def _own_uid(one: Object) -> str:
    return one.metadata.uid


def _deleted(gone: Gone, asked: Iterable[Asked]) -> AuditEvent:
    about = gone.life.resource
    return event(
        f"{about.kind.lower()}.deleted",
        about,
        at=gone.at,
        identity=gone.identity,
        actor=person(deleter(asked, gone.since, gone.until)),
        channel="api",
        correlation_id=gone.life.correlation_id,
        data={"noticed": gone.noticed} if gone.noticed else None,
    )


def _nobody(_one: Object) -> Iterable[Key]:
    return ()
