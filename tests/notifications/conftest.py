"""A notifier on the real API server, and a sink that remembers what it got."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hibernator.notifications.outbound import Outbound
from support.cluster import ClusterInTest
from support.notifying import LOOPBACK, Scene, Sink, http_sink, notifying


@pytest.fixture
async def scene(crds: ClusterInTest, namespace: str, tmp_path: Path) -> AsyncIterator[Scene]:
    async with notifying(crds, namespace, tmp_path) as found:
        yield found


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with http_sink() as found:
        yield found


@pytest.fixture
async def out() -> AsyncIterator[Outbound]:
    async with Outbound(LOOPBACK) as found:
        yield found
