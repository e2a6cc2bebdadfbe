"""A world that changes, and a client that sees it through the fault proxy."""

from collections.abc import AsyncIterator

import pytest

from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.caches import World
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy


@pytest.fixture
async def world(cluster: ClusterInTest, namespace: str) -> AsyncIterator[World]:
    async with Client(find(str(cluster.kubeconfig))) as client:
        yield World(client, namespace)


@pytest.fixture
async def shaken(proxy: FaultProxy) -> AsyncIterator[Client]:
    """A client behind the fault proxy."""
    async with Client(find(str(proxy.kubeconfig))) as made:
        yield made
