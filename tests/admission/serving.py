"""A webhook server that is up, and a client that asks it as an API server would."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
from whenever import Instant

from hibernator.admission.certificates import Keyring, first
from hibernator.admission.paths import Gate, PathKey
from hibernator.admission.review import Handler
from hibernator.admission.server import WebhookServer, application

LOCAL = frozenset(["127.0.0.1"])
KEY = PathKey(Instant.from_utc(2026, 3, 2), b"k" * 32)


@contextlib.asynccontextmanager
async def serving(
    handlers: Mapping[str, Handler], ring: Keyring | None = None, **limits: Any
) -> AsyncIterator[WebhookServer]:
    gate = Gate(tuple(handlers))
    gate.use([KEY])
    server = WebhookServer(application(handlers, gate, **limits), host="127.0.0.1", port=0)
    server.use((ring or first(LOCAL, Instant.now())).current)
    running = asyncio.create_task(server.run())
    try:
        await server.listening.wait()
        yield server
    finally:
        running.cancel()
        await asyncio.wait([running])


def trusting(bundle: bytes) -> aiohttp.ClientSession:
    """A client that believes these authorities and nobody else."""
    context = ssl.create_default_context(cadata=bundle.decode())
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))


def conversion_review(*objects: Any, to: str = "kyklos.io/v1beta1") -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "705ab4f5", "desiredAPIVersion": to, "objects": list(objects)},
    }
