"""The keys of the webhooks' paths on the real API server: made, shared, registered, replaced, and lost."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from whenever import Instant, TimeDelta

from admission.replicas import Replica, Scalers, converting, replica
from admission.test_keeper import refusal, seen
from hibernator.admission.paths import RETIREMENT, ROTATION, SPREADING, PathKeys, from_data, to_data
from hibernator.admission.pathsecret import NAME
from hibernator.admission.registration import CONVERT, DEFINITIONS
from hibernator.api.core import SECRETS
from hibernator.kube.client import Client
from support.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    """Begins in the past: the API server goes by the real time and believes in no future certificate."""
    return ManualClock(Instant.now().round() - TimeDelta(hours=70 * 24))


@pytest.fixture
async def leader(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock
) -> AsyncIterator[Replica]:
    async with replica(client, scalers, namespace, clock) as up:
        yield up


async def keys(client: Client, namespace: str) -> PathKeys:
    return from_data((await client.get(SECRETS, NAME, namespace)).data)


async def path(client: Client, scalers: Scalers) -> str:
    """The path at which the API server is told to ask."""
    webhook = (await client.get(DEFINITIONS, scalers.definition)).spec.conversion.webhook
    assert webhook
    return "/" + (webhook.client_config.url or "").split("/", 3)[3]


async def test_the_leader_makes_a_key_and_registers_its_path(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    (key,) = await keys(client, namespace)
    assert await path(client, scalers) == key.path(CONVERT)
    await converting(client, scalers, namespace)


async def test_of_two_replicas_that_start_together_both_let_in_by_one_key(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock
) -> None:
    async with (
        replica(client, scalers, namespace, clock) as one,
        replica(client, scalers, namespace, clock) as other,
    ):
        await asyncio.gather(one.reconcile(), other.reconcile(), return_exceptions=True)
        (key,) = await keys(client, namespace)
        for up in (one, other):
            await seen(up.keys, NAME, lambda _new: True, namespace)
            assert up.gate.webhook(key.path(CONVERT)) == CONVERT


async def test_a_new_key_is_let_in_by_all_before_it_is_registered_and_the_old_one_for_a_day_after(
    client: Client, scalers: Scalers, namespace: str, clock: ManualClock, leader: Replica
) -> None:
    async with replica(client, scalers, namespace, clock) as standby:
        await leader.reconcile()
        (old,) = await keys(client, namespace)

        await clock.advance(ROTATION.total("seconds"))
        await leader.reconcile()
        await seen(standby.keys, NAME, lambda new: len(from_data(new.data)) == 2, namespace)
        _, new = await keys(client, namespace)
        assert await path(client, scalers) == old.path(CONVERT)
        for up in (leader, standby):
            assert [up.gate.webhook(key.path(CONVERT)) for key in (old, new)] == [CONVERT, CONVERT]

        await clock.advance(SPREADING.total("seconds"))
        await leader.reconcile()
        assert await path(client, scalers) == new.path(CONVERT)
        assert leader.gate.webhook(old.path(CONVERT)) == CONVERT
        await converting(client, scalers, namespace)

        await clock.advance(RETIREMENT.total("seconds"))
        await leader.reconcile()
        await seen(standby.keys, NAME, lambda new: len(from_data(new.data)) == 1, namespace)
        for up in (leader, standby):
            assert [up.gate.webhook(key.path(CONVERT)) for key in (old, new)] == ["", CONVERT]


async def test_a_key_that_leaked_is_replaced_at_once_when_its_secret_is_deleted(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    (leaked,) = await keys(client, namespace)
    gone = asyncio.Event()
    leader.keys.on_change(lambda _old, new: None if new else gone.set())
    await client.delete(SECRETS, NAME, namespace)
    async with asyncio.timeout(30):
        await gone.wait()
    await leader.reconcile()
    (other,) = await keys(client, namespace)
    assert other.secret != leaked.secret
    assert await path(client, scalers) == other.path(CONVERT)
    assert leader.gate.webhook(leaked.path(CONVERT)) == ""


async def test_a_secret_that_cannot_be_read_is_written_anew(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    await leader.reconcile()
    (old,) = await keys(client, namespace)
    broken = {"data": {"keys": b"nonsense", "other": b"stays not"}}
    await client.patch(SECRETS, NAME, namespace, broken, resource_version=None)
    await seen(leader.keys, NAME, lambda new: "other" in new.data, namespace)
    assert leader.gate.webhook(old.path(CONVERT)) == CONVERT, "until there is another"
    await leader.reconcile()
    secret = await client.get(SECRETS, NAME, namespace)
    assert secret.data == to_data(from_data(secret.data))


async def test_what_an_api_server_tells_of_a_conversion_that_fails_opens_nothing_else(
    client: Client, scalers: Scalers, namespace: str, leader: Replica
) -> None:
    """It quotes the path to whoever asked for the object, so the path has to be worth little."""
    await leader.reconcile()
    await converting(client, scalers, namespace)
    (key,) = await keys(client, namespace)
    await leader.stop()
    said = await refusal(client, scalers, namespace)
    assert key.path(CONVERT) in said
    assert not any(key.path(webhook)[:65] in said for webhook in ("/validate", "/delete", "/stamp"))
