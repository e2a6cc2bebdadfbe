"""An assertion is good for one log-in, at whichever replica, for as long as it would be believed."""

import asyncio
from dataclasses import replace

import pytest
from whenever import TimeDelta

from hibernator.api.core import LEASES
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.web.saml.replay import PREFIX, forget_old, keep_forgetting, use_once
from hibernator.web.saml.response import Assertion, NotBelievedError
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.saml import IDP, NOW

ASSERTION = Assertion("_a", IDP, "u1", "", (), NOW, NOW + TimeDelta(hours=1))


async def test_an_assertion_is_used_once_and_forgotten_when_it_is_too_old(
    cluster: ClusterInTest, namespace: str
) -> None:
    async with Client(find(str(cluster.kubeconfig))) as client:

        async def attempt() -> bool:
            try:
                await use_once(client, namespace, ASSERTION, NOW)
            except NotBelievedError:
                return False
            return True

        async with asyncio.TaskGroup() as group:
            tries = [group.create_task(attempt()) for _ in range(8)]
        assert sum(one.result() for one in tries) == 1

        with pytest.raises(NotBelievedError) as refused:
            await use_once(client, namespace, ASSERTION, NOW)
        assert refused.value.reason == "replay"
        await use_once(client, namespace, replace(ASSERTION, id="_b"), NOW)
        await use_once(client, namespace, replace(ASSERTION, issuer="https://other.example"), NOW)
        await forget_old(client, namespace, ASSERTION.ends_at)
        assert not await attempt()  # to the second, it might still be believed

        await forget_old(client, namespace, ASSERTION.ends_at + TimeDelta(seconds=1))
        assert not await client.list(LEASES, namespace)


async def test_other_leases_are_left_alone(cluster: ClusterInTest, namespace: str) -> None:
    async with Client(find(str(cluster.kubeconfig))) as client:
        await client.create(LEASES, {"metadata": {"name": f"{PREFIX}not-ours"}}, namespace)
        await forget_old(client, namespace, NOW)
        assert [lease.metadata.name for lease in await client.list(LEASES, namespace)] == [
            f"{PREFIX}not-ours"
        ]


class Rested(ManualClock):
    async def sleep(self, seconds: float) -> None:
        assert seconds > 60
        raise asyncio.CancelledError


async def test_the_replica_that_leads_forgets_them(cluster: ClusterInTest, namespace: str) -> None:
    leading = asyncio.Event()
    async with Client(find(str(cluster.kubeconfig))) as client:
        await use_once(client, namespace, ASSERTION, NOW)
        clock = Rested(ASSERTION.ends_at + TimeDelta(seconds=1))
        async with asyncio.TaskGroup() as group:
            forgetting = group.create_task(keep_forgetting(client, namespace, clock, leading))
            await asyncio.sleep(0)
            assert len(await client.list(LEASES, namespace)) == 1
            leading.set()
        assert forgetting.cancelled()
        assert not await client.list(LEASES, namespace)
