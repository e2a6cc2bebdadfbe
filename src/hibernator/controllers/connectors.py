"""CloudProvider and K8SCluster: whether their credentials work, by trying them.

They are tried when the object changes, when what it stands on does, and every ten minutes, sooner while they
do not work: the Secrets they name are not watched, because the operator shall see no Secret that no connector
names.
"""

import dataclasses
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from whenever import Instant, TimeDelta

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.meta import Stray
from hibernator.controllers.means import Means
from hibernator.controllers.strays_left import LeftAtClouds
from hibernator.decisions.conditions import find
from hibernator.decisions.connectors import Decision, Seen, Tried, decide, provider_of
from hibernator.decisions.readiness import READY
from hibernator.executors.connections import Unusable
from hibernator.executors.connectors import Connectors
from hibernator.executors.protocol import ExecutorError, Permanent, Throttled
from hibernator.kube.cache import Cache
from hibernator.kube.controller import Controller, For, Key, Result, Watches
from hibernator.kube.errors import Throttled as Busy
from hibernator.kube.reconciler import Pass, Reconciler

BY_PROVIDER: Final = "provider"
_SPREAD: Final = (0.9, 1.1)

T = TypeVar("T", bound=CloudProvider | K8SCluster)
Check = Callable[[str, str], Awaitable[str]]
StandsOn = Callable[[T], object]
StraysAt = Callable[[str, str, str], tuple[Stray, ...] | None]


@dataclass(frozen=True, slots=True)
class _Looked:
    """What was tried last, and until when that is good enough."""

    at_what: object
    until: Instant


class ConnectorReconciler(Reconciler[T, Seen[T], Decision]):
    def __init__(
        self,
        means: Means,
        cache: Cache[T],
        check: Check,
        connectors: Connectors,
        stands_on: StandsOn[T],
        strays: StraysAt,
    ) -> None:
        super().__init__(means.parts(cache), decide)
        self._strays = strays
        self._check = check
        self._connectors = connectors
        self._stands_on = stands_on
        self._looked: dict[Key, _Looked] = {}

    async def forget(self, key: Key) -> None:
        self._looked.pop(key, None)
        self._connectors.forget(self.cache.kind, *key)

    async def gather(self, key: Key, found: T, now: Instant) -> Seen[T] | Result:
        if found.metadata.deletion_timestamp:
            await self.forget(key)
            return Result()
        strays = self._strays(self.cache.kind.kind, *key)
        at_what = found.metadata.uid, found.metadata.generation, self._stands_on(found), strays
        known = self._looked.get(key)
        if known and known.at_what == at_what and now < known.until:
            return Result((known.until - now).total("seconds"))
        self._looked[key] = _Looked(at_what, now)
        tried = await self._try(key)
        return Seen(found, tried, strays, self.journals.recorded(found), random.uniform(*_SPREAD))

    async def follow(self, one: Pass[T, Seen[T], Decision]) -> float:
        until = one.now + TimeDelta(seconds=one.decision.after)
        self._looked[one.key] = dataclasses.replace(self._looked[one.key], until=until)
        return one.decision.after

    async def _try(self, key: Key) -> Tried:
        try:
            return Tried("Verified", await self._check(*key))
        except Throttled as error:
            raise Busy(str(error), retry_after=error.retry_after) from error
        except Unusable as error:
            return Tried(error.reason, str(error))
        except ExecutorError as error:
            return Tried("Refused" if isinstance(error, Permanent) else "Unreachable", str(error))


def connector_controllers(means: Means, connectors: Connectors, left: LeftAtClouds) -> Iterator[Controller]:
    """One for each kind; they share what they watch."""
    providers = means.caches.of(PROVIDERS)
    clusters = means.caches.of(CLUSTERS)
    clusters.index(BY_PROVIDER, provider_key)

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
        means, providers, connectors.check_provider, connectors, lambda _one: None, left.at
    )
    of_clusters = ConnectorReconciler(
        means, clusters, connectors.check_cluster, connectors, provider_below, left.at
    )
    controllers = {
        PROVIDERS.kind: means.controller("cloudprovider", of_providers.reconcile, [For(providers)]),
        CLUSTERS.kind: means.controller(
            "k8scluster", of_clusters.reconcile, [For(clusters), Watches(providers, of_provider)]
        ),
    }
    left.changed = lambda name: controllers[name[0]].queue.add(Key(*name[1:]))
    yield from controllers.values()


def provider_key(cluster: K8SCluster) -> tuple[str, ...]:
    """The CloudProvider that a cluster is reached by, as namespace/name; none where it is at no cloud."""
    found = provider_of(cluster)
    return ("/".join(found[1:]),) if found else ()
