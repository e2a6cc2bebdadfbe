"""CloudProvider and K8SCluster: whether their credentials work, by trying them.

They are tried when the object changes, when what it stands on does, and every ten minutes, sooner while they
do not work: the Secrets they name are not watched, because the operator shall see no Secret that no connector
names.
"""

import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from msgspec.structs import replace
from whenever import Instant, TimeDelta

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.kind import Kind
from hibernator.api.meta import Condition
from hibernator.audit.trail import Trail
from hibernator.controllers import journal_audit
from hibernator.controllers.means import Means
from hibernator.decisions.conditions import find
from hibernator.decisions.connectors import READY, Tried, decide, journaled
from hibernator.decisions.lending import provider_of
from hibernator.decisions.notice import Notice
from hibernator.executors.connections import Unusable
from hibernator.executors.connectors import Connectors
from hibernator.executors.protocol import ExecutorError, Permanent, Throttled
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.errors import Throttled as Busy
from hibernator.kube.events import Recorder
from hibernator.kube.objects import Objects

BY_PROVIDER: Final = "provider"
_SPREAD: Final = (0.9, 1.1)

T = TypeVar("T", bound=CloudProvider | K8SCluster)
Check = Callable[[str, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was tried last, and until when that is good enough."""

    at_what: object
    until: Instant


class ConnectorReconciler(Generic[T]):
    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        cache: Cache[T],
        check: Check,
        *,
        connectors: Connectors,
        stands_on: Callable[[T], object],
        recorder: Recorder,
        clock: Clock,
        trail: Trail,
    ) -> None:
        self._kind = kind
        self._cache = cache
        self._check = check
        self._connectors = connectors
        self._stands_on = stands_on
        self._objects = Objects(client, cache, recorder)
        self._clock = clock
        self._trail = trail
        self._looked: dict[Key, _Looked] = {}

    async def reconcile(self, key: Key) -> Result:
        found = self._cache.get(*key)
        if found is None or found.metadata.deletion_timestamp:
            self._looked.pop(key, None)
            self._connectors.forget(self._kind, *key)
            return Result()
        self._record(found)
        now = self._clock.now()
        at_what = found.metadata.uid, found.metadata.generation, self._stands_on(found)
        known = self._looked.get(key)
        if known and known.at_what == at_what and now < known.until:
            return Result((known.until - now).total("seconds"))
        tried = await self._try(key)
        decision = decide(
            found.status.conditions,
            tried,
            generation=found.metadata.generation,
            now=now,
            jitter=random.uniform(*_SPREAD),
        )
        written = await self._write(found, decision.conditions, now)
        if decision.tell:
            self._objects.notify(written, [Notice(decision.tell, tried.reason, tried.message)])
        self._looked[key] = _Looked(at_what, now + TimeDelta(seconds=decision.after))
        self._record(written)
        return Result(decision.after)

    async def _try(self, key: Key) -> Tried:
        try:
            return Tried("Verified", await self._check(*key))
        except Throttled as error:
            raise Busy(str(error), retry_after=error.retry_after) from error
        except Unusable as error:
            return Tried(error.reason, str(error))
        except ExecutorError as error:
            return Tried("Refused" if isinstance(error, Permanent) else "Unreachable", str(error))

    async def _write(self, found: T, conditions: tuple[Condition, ...], now: Instant) -> T:
        metadata, status = found.metadata, found.status
        if conditions == status.conditions and status.observed_generation == metadata.generation:
            return found
        recorded = journal_audit.recorded(self._trail, self._kind, found, status.journal)
        after = replace(
            status,
            observed_generation=metadata.generation,
            conditions=conditions,
            journal=journaled(found, conditions, recorded, now),
        )
        return await self._objects.write_status(found, after)

    def _record(self, found: T) -> None:
        journal_audit.record(self._trail, self._kind, found, found.status.journal)


def connector_controllers(means: Means, connectors: Connectors) -> Iterator[Controller]:
    """One for each kind; they share what they watch."""
    providers = means.caches.of(PROVIDERS)
    clusters = means.caches.of(CLUSTERS)
    clusters.index(BY_PROVIDER, provider_key)
    told: dict[str, Any] = {
        "recorder": means.recorder,
        "clock": means.clock,
        "trail": means.trail,
        "connectors": connectors,
    }

    def provider_below(cluster: K8SCluster) -> object:
        """What of its provider a cluster must be tried again for."""
        for name in provider_key(cluster):
            if found := providers.get(*name.split("/")):
                ready = find(found.status.conditions, READY)
                return found.metadata.uid, found.metadata.generation, ready and ready.status
        return None

    def of_provider(provider: CloudProvider) -> Iterable[Key]:
        name = f"{provider.metadata.namespace}/{provider.metadata.name}"
        for cluster in clusters.find(BY_PROVIDER, name):
            yield Key(cluster.metadata.namespace, cluster.metadata.name)

    of_providers = ConnectorReconciler(
        means.client, PROVIDERS, providers, connectors.check_provider, stands_on=lambda _one: None, **told
    )
    of_clusters = ConnectorReconciler(
        means.client, CLUSTERS, clusters, connectors.check_cluster, stands_on=provider_below, **told
    )
    shared: dict[str, Any] = {"clock": means.clock, "metrics": means.metrics, "workers": means.workers}
    yield Controller("cloudprovider", of_providers.reconcile, sources=[For(providers)], **shared)
    yield Controller(
        "k8scluster",
        of_clusters.reconcile,
        sources=[For(clusters), Watches(providers, of_provider)],
        **shared,
    )


def provider_key(cluster: K8SCluster) -> tuple[str, ...]:
    """The CloudProvider that a cluster is reached by, as namespace/name; none where it is at no cloud."""
    found = provider_of(cluster)
    return ("/".join(found[1:]),) if found else ()
