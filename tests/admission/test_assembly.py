"""The webhooks as a part of a replica: everything happens by itself, on the real API server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from whenever import Instant, TimeDelta

from admission.replicas import Scalers, converting
from admission.serving import LOCAL, conversion_review, trusting
from hibernator.admission.assembly import add_webhooks, handlers, webhook_server
from hibernator.admission.certificates import ANNOUNCEMENT, LIFETIME, RENEWAL, first, to_data
from hibernator.admission.keyrings import NAME
from hibernator.admission.paths import Gate, registered
from hibernator.admission.pathsecret import NAME as PATHS, keys_of
from hibernator.admission.registration import CONVERT, DEFINITIONS, Address, CustomResourceDefinition
from hibernator.admission.server import METRICS, WebhookServer
from hibernator.admission.webhooks.configurations import MUTATING, VALIDATING
from hibernator.api.core import SECRETS
from hibernator.audit.database import Database
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller
from hibernator.kube.errors import NotFound
from hibernator.kube.health import Health
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import RUNTIME, Metrics
from support.clock import ManualClock


@dataclass(frozen=True)
class Operator:
    server: WebhookServer
    health: Health
    controller: Controller
    clock: ManualClock


@contextlib.asynccontextmanager
async def operating(
    client: Client, scalers: Scalers, namespace: str, folder: Path | None = None
) -> AsyncIterator[Operator]:
    clock = ManualClock(Instant.now().round() - TimeDelta(hours=70 * 24))
    metrics = Metrics((*RUNTIME, *METRICS))
    health = Health(metrics)
    manager = Manager(health)
    trail = Trail(ChainStore(Database("sqlite:////nowhere/audit.db"), now=clock.now), identity="unused")
    served = handlers(client, clock, AuditSpool(client, trail, namespace), lambda *_plan: ())
    gate = Gate(tuple(served))
    server = webhook_server("127.0.0.1:0", metrics, served, gate)
    controller = add_webhooks(
        manager,
        health,
        client,
        server,
        gate,
        Address(f"https://127.0.0.1:{server.port}/"),
        namespace=namespace,
        metrics=metrics,
        folder=folder,
        clock=clock,
        definition=scalers.definition,
        only_namespace=namespace,
        configuration=namespace,  # these belong to the whole cluster, which others use, too
    )
    clock.settles_with(controller.queue.wait_idle)
    running = asyncio.create_task(manager.run())
    try:
        yield Operator(server, health, controller, clock)
    finally:
        manager.stop()
        await running
        for kind in (MUTATING, VALIDATING):
            with contextlib.suppress(NotFound):
                await client.delete(kind, namespace)


@pytest.fixture
async def operator(client: Client, scalers: Scalers, namespace: str) -> AsyncIterator[Operator]:
    async with operating(client, scalers, namespace) as up:
        yield up


async def bundle(client: Client, scalers: Scalers, holds: Callable[[bytes], bool]) -> bytes:
    """What API servers are told to trust, as soon as this is true of it."""
    definitions = Cache(client, DEFINITIONS, field_selector=f"metadata.name={scalers.definition}")
    told: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def look(_old: CustomResourceDefinition | None, new: CustomResourceDefinition | None) -> None:
        webhook = new.spec.conversion.webhook if new else None
        text = (webhook.client_config.ca_bundle if webhook else None) or b""
        if not told.done() and holds(text):
            told.set_result(text)

    definitions.on_change(look)
    following = asyncio.create_task(definitions.run())
    try:
        async with asyncio.timeout(30):
            return await told
    finally:
        following.cancel()


async def test_a_new_replica_comes_to_convert_by_itself(
    client: Client, scalers: Scalers, namespace: str, operator: Operator
) -> None:
    await converting(client, scalers, namespace)
    assert (await client.get(SECRETS, NAME, namespace)).metadata.name == NAME


async def test_a_replica_is_ready_only_when_it_can_be_asked(
    client: Client, scalers: Scalers, namespace: str
) -> None:
    async with operating(client, scalers, namespace) as up:
        assert "waiting for a certificate" in _not_ready(up.health)
        await asyncio.wait_for(up.server.listening.wait(), 30)
        assert "webhooks" not in _not_ready(up.health)


def _not_ready(health: Health) -> str:
    return " ".join(f"{name}: {wrong}" for name, check in health._ready.items() if (wrong := check()))


async def test_a_changed_registration_is_put_right_without_waiting(
    client: Client, scalers: Scalers, namespace: str, operator: Operator
) -> None:
    await converting(client, scalers, namespace)
    right = await bundle(client, scalers, bool)
    wrong = first(LOCAL, Instant.now()).bundle
    patch = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": wrong}}}}}
    await client.patch(DEFINITIONS, scalers.definition, "", patch, resource_version=None)
    assert await bundle(client, scalers, lambda text: text != wrong) == right


async def test_certificates_are_replaced_when_their_time_has_come(
    client: Client, scalers: Scalers, namespace: str, operator: Operator
) -> None:
    await converting(client, scalers, namespace)
    old = await bundle(client, scalers, bool)
    await operator.clock.advance((LIFETIME - RENEWAL).total("seconds"))
    both = await bundle(client, scalers, lambda text: text != old)
    assert both.startswith(old)
    await _asked(client, namespace, operator, old)
    await operator.clock.advance(ANNOUNCEMENT.total("seconds"))
    new = both.removeprefix(old)
    await _served(client, namespace, operator, new)
    await converting(client, scalers, namespace)


async def _asked(client: Client, namespace: str, operator: Operator, trusted: bytes) -> None:
    keys = keys_of(await client.get(SECRETS, PATHS, namespace))
    assert keys
    async with trusting(trusted) as session:
        path = registered(keys, operator.clock.now()).path(CONVERT)
        url = f"https://127.0.0.1:{operator.server.port}{path}"
        async with session.post(url, json=conversion_review()) as answer:
            assert answer.status == 200


async def _served(client: Client, namespace: str, operator: Operator, authority: bytes) -> None:
    """Return when the server proves who it is by a certificate of this authority."""
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(aiohttp.ClientConnectorCertificateError):
                return await _asked(client, namespace, operator, authority)


async def test_certificates_of_others_are_served_and_announced_from_a_folder(
    client: Client, scalers: Scalers, namespace: str, tmp_path: Path
) -> None:
    theirs = first(LOCAL, Instant.now())
    for name, text in to_data(theirs).items():
        (tmp_path / name).write_bytes(text)
    async with operating(client, scalers, namespace, tmp_path):
        assert await bundle(client, scalers, theirs.bundle.__eq__) == theirs.bundle
        await converting(client, scalers, namespace)
        assert [one.metadata.name for one in await client.list(SECRETS, namespace)] == [PATHS]
