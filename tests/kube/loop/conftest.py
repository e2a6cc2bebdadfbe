"""What the tests of the loop start from."""

from collections.abc import AsyncIterator

import pytest

from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.metrics import Metrics
from support.clock import ManualClock
from support.cluster import ClusterInTest


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
