"""Clients of the real API server: straight, and through the proxy that breaks things."""

from collections.abc import AsyncIterator

import pytest

from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy


@pytest.fixture
async def client(cluster: ClusterInTest) -> AsyncIterator[Client]:
    async with Client(find(str(cluster.kubeconfig))) as made:
        yield made


@pytest.fixture
async def shaken(proxy: FaultProxy) -> AsyncIterator[Client]:
    """A client behind the fault proxy."""
    async with Client(find(str(proxy.kubeconfig))) as made:
        yield made
