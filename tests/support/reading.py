"""What the operator serves to the web process, on this machine: the trail, and what restore data says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from starlette.applications import Starlette
from whenever import Instant

from hibernator.admission.certificates import first
from hibernator.admission.registration import Service
from hibernator.admission.server import WebhookServer
from hibernator.audit.database import Database
from hibernator.kube.client import Client
from hibernator.kube.metrics import Metrics
from hibernator.kube.reading import REQUESTS
from hibernator.operator.trail import PublishedAuthority, TrailServer

HERE: Final = frozenset(["127.0.0.1"])
ENDPOINT: Final = Service("hibernator-webhook", "any")


@dataclass
class Served:
    url: str
    authority: bytes
    webhooks: WebhookServer
    metrics: Metrics


@asynccontextmanager
async def served(operator: Client, database: Database, namespace: str) -> AsyncIterator[Served]:
    """Serve it until the block ends, and publish in a namespace whom to trust."""
    metrics = Metrics((REQUESTS,))
    webhooks = WebhookServer(Starlette(), host="127.0.0.1", port=0)
    server = TrailServer("127.0.0.1:0", operator, database, webhooks, metrics)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.run()) for one in (webhooks, server)]
        ring = first(HERE, Instant.now())
        webhooks.use(ring.current)
        await PublishedAuthority(operator, namespace).register(ENDPOINT, ring.bundle)
        yield Served(f"https://127.0.0.1:{server.port}", ring.bundle, webhooks, metrics)
        for task in tasks:
            task.cancel()
