"""Keeps every sink of every HibernateNotification: what it selects, and what it has yet to get.

One replica leads and does this. It looks when a HibernateNotification or what it may select changes, when the
trail has grown, when a sink may be tried again, and when something is due by the clock. Each sink has a place
of its own in the queue: one that never answers delays no other.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

import structlog
from msgspec import structs
from whenever import Instant

from hibernator.api.core import NAMESPACES
from hibernator.api.hibernatenotification import (
    MOST_PLANS_SHOWN,
    HibernateNotification,
    HibernateNotificationStatus,
    NotificationSink,
    SinkStatus,
    WatchedPlan,
)
from hibernator.api.hibernateplan import PLANS
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.selector import selects
from hibernator.api.timewindowscaler import SCALERS
from hibernator.audit.database import AuditUnavailable
from hibernator.decisions.conditions import ConditionState, lay_over, whole_second
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result, Watches, WatchesSpec
from hibernator.kube.metrics import Metrics
from hibernator.messages.controller import exceptions_of
from hibernator.notifications.clocked import next_due
from hibernator.notifications.courier import Courier, CourierMeans, Memory
from hibernator.notifications.ledger import Ledger
from hibernator.notifications.metrics import LAG, OPEN
from hibernator.notifications.records import only, sink_status
from hibernator.notifications.scope import Lately, Scope, SelectableObjects
from hibernator.schedule.problems import check_notification

_log: Final = structlog.get_logger(__name__)

READY: Final = "Ready"
DELIVERING: Final = "Delivering"
DETACHED: Final = "NothingSelected"
TRAIL_MISSING: Final = "TrailMissing"
TRAIL_AWAY: Final = "TrailUnavailable"
SINK_FAILING: Final = "SinkFailing"
SELECTOR_REFUSED: Final = "NamespaceSelectorRefused"
INVALID_SPEC: Final = "InvalidSpec"

_NO_TRAIL: Final = (
    "The web process has no access to the audit trail, from which notifications come: an administrator sets "
    "trailUrl or databaseFile."
)
_ALL_SENT: Final = "All sinks took what was sent."
_POLL: Final = 2.0  # seconds between two looks at where the trail ends
_AWAY: Final = 15.0
_NAMESPACES_FOR: Final = 30.0
_WORKERS: Final = 32  # most of them wait for a sink


@dataclass(slots=True)
class Notifier:
    client: Client
    cache: Cache[HibernateNotification]
    objects: SelectableObjects
    means: CourierMeans | None  # None where there is no trail
    clock: Clock
    home: str  # the operator's namespace: only there may a notification look at other namespaces
    _memories: dict[tuple[str, str], Memory] = field(default_factory=dict)  # by uid and sink
    _ledgers: dict[str, Ledger] = field(default_factory=dict)  # by uid, as the next
    _lately: dict[str, Lately] = field(default_factory=dict)
    _namespaces: tuple[float, dict[str, dict[str, str]]] = (-_NAMESPACES_FOR, {})

    async def reconcile(self, key: Key) -> Result:
        """Look at one sink; its key is that of `sink_keys`."""
        name, _, sink_name = key.name.partition("/")
        found = self.cache.get(key.namespace, name)
        if found is None or found.metadata.deletion_timestamp:
            self._forget()
            return Result()
        uid, sinks = found.metadata.uid, {sink.name: sink for sink in found.spec.sinks}
        for gone in [one for one in self._memories if one[0] == uid and one[1] not in sinks]:
            del self._memories[gone]  # or it would seem to wait for ever
        if sink_name not in sinks:
            return Result()
        ledger = self._ledgers.setdefault(uid, Ledger(self.client, self.cache, found))
        lately = self._lately.setdefault(uid, Lately())
        scope = Scope(found, self.objects, await self._places(found), lately)
        lately.see(scope, self.clock.monotonic())
        if self.means is None:
            await self._note(ledger, scope, ConditionState(READY, False, TRAIL_MISSING, _NO_TRAIL))
            return Result()
        try:
            wait = await self._deliver(self.means, ledger, scope, sinks[sink_name])
        except AuditUnavailable as error:
            why = f"The audit trail cannot be read now: {error}"
            await self._note(ledger, scope, ConditionState(READY, False, TRAIL_AWAY, why))
            return Result(_AWAY)
        await self._note(ledger, scope)
        soon = next_due(found.spec, scope.plans(), scope.exceptions(), self.clock.now())
        return Result(min((one for one in (wait, soon) if one is not None), default=None))

    async def _deliver(
        self, means: CourierMeans, ledger: Ledger, scope: Scope, sink: NotificationSink
    ) -> float | None:
        head = (await means.trail.head()).sequence
        await self._begin(ledger, head)
        memory = self._memories.setdefault((scope.notification.metadata.uid, sink.name), Memory())
        return await Courier(means, scope, ledger, sink, memory, head).run()

    async def _begin(self, ledger: Ledger, head: int) -> None:
        """A new sink gets what happens from now on; so does one ahead of a trail that was replaced."""
        now = self.clock.now()

        def change(found: HibernateNotification) -> HibernateNotificationStatus:
            names = [sink.name for sink in found.spec.sinks]
            kept = only(found.status, names)
            begun = tuple(_begun(sink_status(kept, name), head, now) for name in sorted(names))
            return structs.replace(kept, sink_statuses=begun)

        await ledger.write(change)

    async def _note(self, ledger: Ledger, scope: Scope, trouble: ConditionState | None = None) -> None:
        """What is selected, and how it goes."""
        found, now = scope.notification, self.clock.now()
        shown = tuple(
            WatchedPlan(name=plan.metadata.name, namespace=plan.metadata.namespace)
            for plan in scope.plans()[:MOST_PLANS_SHOWN]
        )
        count = scope.count()

        def change(newest: HibernateNotification) -> HibernateNotificationStatus:
            verdict = trouble or self._verdict(newest, count)
            return structs.replace(
                newest.status,
                state="Bound" if count else "Detached",
                watched_plans=shown,
                watched=count,
                observed_generation=found.metadata.generation,
                conditions=lay_over(
                    newest.status.conditions, [verdict], now=now, generation=found.metadata.generation
                ),
            )

        await ledger.write(change)

    def _verdict(self, found: HibernateNotification, count: int) -> ConditionState:
        if found.spec.namespace_selector and found.metadata.namespace != self.home:
            sentence = (
                f"namespaceSelector has an effect only in the namespace {self.home}: "
                "here, this namespace is meant."
            )
            return ConditionState(READY, False, SELECTOR_REFUSED, sentence)
        if problems := list(check_notification(found.spec)):
            sentence = " ".join(f"{one.path}: {one.message}. {one.fix}" for one in problems)
            return ConditionState(READY, False, INVALID_SPEC, f"{sentence} Until then it has no effect.")
        if broken := [one for one in found.status.sink_statuses if one.failures_in_a_row]:
            sentence = " ".join(f"{one.name}: {one.last_failure_message}." for one in broken)
            return ConditionState(READY, False, SINK_FAILING, f"{sentence} It is tried again.")
        if not count:
            return ConditionState(READY, True, DETACHED, "The selector selects nothing.")
        return ConditionState(READY, True, DELIVERING, _went(found.status.sink_statuses))

    async def _places(self, found: HibernateNotification) -> frozenset[str]:
        """The namespaces that it looks at."""
        here = found.metadata.namespace
        if found.spec.namespace_selector is None or here != self.home:
            return frozenset({here})
        read, known = self._namespaces
        if self.clock.monotonic() - read >= _NAMESPACES_FOR:
            listed = await self.client.list(NAMESPACES)
            known = {one.metadata.name: dict(one.metadata.labels) for one in listed}
            self._namespaces = (self.clock.monotonic(), known)
        wanted = found.spec.namespace_selector
        return frozenset(name for name, labels in known.items() if selects(wanted, labels))

    def _forget(self) -> None:
        there = {one.metadata.uid for one in self.cache.values()}
        for key in [key for key in self._memories if key[0] not in there]:
            del self._memories[key]
        for kept in (self._lately, self._ledgers):
            for uid in kept.keys() - there:
                del kept[uid]

    def lag(self) -> float:
        waiting = [memory.waiting_since for memory in self._memories.values() if memory.waiting_since]
        return max(0.0, self.clock.now().timestamp() - min(waiting)) if waiting else 0.0

    def open_circuits(self) -> int:
        sinks = (sink for one in self.cache.values() for sink in one.status.sink_statuses)
        return sum(sink.circuit == "Open" for sink in sinks)


def _begun(sink: SinkStatus, head: int, now: Instant) -> SinkStatus:
    if sink.cursor is None:
        return structs.replace(sink, cursor=head, looked_at=whole_second(now))
    if sink.cursor > head:
        return structs.replace(sink, cursor=head, held_from=None)
    return sink


def _went(sinks: Iterable[SinkStatus]) -> str:
    """Which messages were given up is said for good: no later delivery brings them back."""
    lost = [f"{_messages(one.dropped)} to {one.name} given up." for one in sinks if one.dropped]
    return " ".join(["All sinks take messages.", *lost, "See deadLetters."]) if lost else _ALL_SENT


def _messages(number: int) -> str:
    return "1 message" if number == 1 else f"{number} messages"


def sink_keys(found: HibernateNotification) -> Iterator[Key]:
    """A name has no slash, so what comes after the first one is the sink."""
    for sink in found.spec.sinks:
        yield Key(found.metadata.namespace, f"{found.metadata.name}/{sink.name}")


def notification_controller(notifier: Notifier, metrics: Metrics) -> Controller:
    metrics.follow(LAG, notifier.lag)
    metrics.follow(OPEN, notifier.open_circuits)

    def theirs(changed: Object) -> Iterable[Key]:
        for one in notifier.cache.values():
            if changed.metadata.namespace == one.metadata.namespace or one.spec.namespace_selector:
                yield from sink_keys(one)

    return Controller(
        "notifications",
        notifier.reconcile,
        sources=[WatchesSpec(notifier.cache, sink_keys), Watches(notifier.objects.plans, theirs)],
        clock=notifier.clock,
        metrics=metrics,
        workers=_WORKERS,
    )


async def follow_trail(
    means: CourierMeans, controller: Controller, leading: asyncio.Event, clock: Clock
) -> None:
    """Let everything be looked at when the trail has grown, on the replica that leads, until cancelled."""
    last = -1
    while True:
        await leading.wait()
        try:
            head = (await means.trail.head()).sequence
        except AuditUnavailable as error:
            _log.warning("audit trail not readable; trying again", why=str(error))
            head = last
        if head != last:
            last = head
            controller.look_at_all()
        await clock.sleep(_POLL)


def objects_of(caches: Caches) -> SelectableObjects:
    return SelectableObjects(
        caches.of(PLANS), caches.of(SCALERS), caches.of(APPROVAL_REQUESTS), exceptions_of(caches)
    )
