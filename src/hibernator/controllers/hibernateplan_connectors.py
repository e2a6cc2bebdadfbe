"""The connectors that a plan's targets name, as the watches have them, and whether it may use them."""

from collections.abc import Iterator

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.api.problem import Problem
from hibernator.controllers.connectors import BY_PROVIDER, provider_key
from hibernator.decisions.lending import Connector, Name, borrowed, connectors_of
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.controller import Key, Watches

_BY_CONNECTOR = "connector"


class Lending:
    def __init__(self, caches: Caches, plans: Cache[HibernatePlan]) -> None:
        self._plans = plans
        self._providers = caches.of(PROVIDERS)
        self._clusters = caches.of(CLUSTERS)
        self._plans.index(_BY_CONNECTOR, lambda plan: map("/".join, connectors_of(plan)))
        self._clusters.index(BY_PROVIDER, provider_key)
        self.sources = (
            Watches(self._providers, self._of_provider),
            Watches(self._clusters, self._of_cluster),
        )

    def problems(self, plan: HibernatePlan) -> tuple[Problem, ...]:
        return tuple(borrowed(plan, self._find))

    def _find(self, name: Name) -> Connector | None:
        kind, *place = name
        return self._providers.get(*place) if kind == PROVIDERS.kind else self._clusters.get(*place)

    def _of_provider(self, provider: CloudProvider) -> Iterator[Key]:
        place = f"{provider.metadata.namespace}/{provider.metadata.name}"
        yield from self._naming(f"{PROVIDERS.kind}/{place}")
        for cluster in self._clusters.find(BY_PROVIDER, place):
            yield from self._of_cluster(cluster)

    def _of_cluster(self, cluster: K8SCluster) -> Iterator[Key]:
        yield from self._naming(f"{CLUSTERS.kind}/{cluster.metadata.namespace}/{cluster.metadata.name}")

    def _naming(self, connector: str) -> Iterator[Key]:
        for plan in self._plans.find(_BY_CONNECTOR, connector):
            yield Key(plan.metadata.namespace, plan.metadata.name)
