"""What the tests of the loop start from."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hibernator.api.core import CONFIG_MAPS, DEPLOYMENTS, ConfigMap, Deployment
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.metrics import Metrics
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.kubeconfigs import write_kubeconfig
from support.looks import Setup


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def client(cluster: ClusterInTest) -> AsyncIterator[Client]:
    async with Client(find(str(cluster.kubeconfig))) as made:
        yield made


@pytest.fixture
def nowhere(tmp_path: Path) -> Client:
    """A client that is never used: the caches of these tests are told what they see."""
    server = {"server": "https://127.0.0.1:9"}
    return Client(find(str(write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"}))))


@pytest.fixture
def maps(nowhere: Client) -> Cache[ConfigMap]:
    return Cache(nowhere, CONFIG_MAPS)


@pytest.fixture
def deployments(nowhere: Client) -> Cache[Deployment]:
    return Cache(nowhere, DEPLOYMENTS)


@pytest.fixture
def setup(clock: ManualClock, metrics: Metrics) -> Setup:
    return Setup(clock, metrics)
