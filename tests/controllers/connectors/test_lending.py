"""A plan looks at the connectors that it names, and looks again when one of them changes."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import CLUSTERS, K8SCluster
from hibernator.controllers import shared
from hibernator.controllers.hibernateplan_sources import ConnectorUse
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.credentials import find
from hibernator.kube.metrics import Metrics
from support.kubeconfigs import write_kubeconfig
from support.plan_scenes import noop, plan

EKS = {"name": "live", "region": "eu-central-1", "providerRef": {"name": "prod", "namespace": "cloud"}}
AWS = {"accountId": "123456789012", "region": "eu-central-1", "auth": {"serviceAccount": {}}}


def there(name: str, namespace: str, version: int, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": spec}


def cluster(version: int, *allowed: str) -> K8SCluster:
    spec: dict[str, Any] = {"eks": EKS, "allowedNamespaces": list(allowed)}
    return msgspec.convert(there("live", "clusters", version, **spec), K8SCluster)


def provider(version: int, *allowed: str) -> CloudProvider:
    spec: dict[str, Any] = {"type": "aws", "aws": AWS, "allowedNamespaces": list(allowed)}
    return msgspec.convert(there("prod", "cloud", version, **spec), CloudProvider)


@pytest.fixture
async def caches(tmp_path: Path) -> AsyncIterator[Caches]:
    server = {"server": "https://127.0.0.1:9"}  # never asked: the caches are told what there is
    config = write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"})
    async with Client(find(str(config))) as client:
        yield Caches(client, Metrics())


async def test_a_plan_may_sleep_once_all_that_it_stands_on_allow_it(caches: Caches) -> None:
    plans = shared.plans(caches)
    lending = ConnectorUse(caches, plans)
    of_provider, of_cluster = lending.sources
    reference = {"kind": "K8SCluster", "name": "live", "namespace": "clusters"}
    document = plan({**noop("nodes"), "connectorRef": reference})
    document["metadata"] |= {"namespace": "team", "uid": "u", "resourceVersion": "1"}
    mine = msgspec.convert(document, HibernatePlan)
    plans.saw(mine)
    assert [one.path for one in lending.problems(mine)] == ["spec.targets[0].connectorRef"]
    caches.of(CLUSTERS).saw(cluster(1))
    caches.of(PROVIDERS).saw(provider(1))
    assert "no K8SCluster live in the namespace clusters" in lending.problems(mine)[0].message
    caches.of(CLUSTERS).saw(cluster(2, "team"))
    assert list(of_cluster.keys(cluster(2, "team"))) == [Key("team", "nights")]
    assert "no CloudProvider prod in the namespace cloud" in lending.problems(mine)[0].message
    caches.of(PROVIDERS).saw(provider(2, "clusters"))
    assert list(of_provider.keys(provider(2, "clusters"))) == [Key("team", "nights")]
    assert lending.problems(mine) == ()
    caches.of(CLUSTERS).saw(cluster(3))
    assert len(lending.problems(mine)) == 1
