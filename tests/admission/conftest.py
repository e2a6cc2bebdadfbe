"""The real API server with a webhook beside it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from admission.replicas import Replica, Scalers, converting, installed, replica
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.kube.credentials import find
from support.cluster import ClusterInTest


@pytest.fixture(scope="module")
async def client(cluster: ClusterInTest) -> AsyncIterator[Client]:
    async with Client(find(str(cluster.kubeconfig))) as made:
        yield made


@pytest.fixture(scope="module")
def scalers(cluster: ClusterInTest) -> Iterator[Scalers]:
    with installed(cluster) as copy:
        yield copy


@pytest.fixture(scope="module")
async def operator(cluster: ClusterInTest, client: Client, scalers: Scalers) -> AsyncIterator[Replica]:
    """A replica that has made its certificates and registered itself."""
    home = cluster.create_namespace()
    async with replica(client, scalers, home, SystemClock()) as up:
        await up.reconcile()
        await converting(client, scalers, home)
        yield up
    cluster.request("DELETE", f"/api/v1/namespaces/{home}")
