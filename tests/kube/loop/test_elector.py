"""The elector over a wire that delays and loses what it likes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from hibernator.api.core import LEASES
from hibernator.kube.client import Client
from hibernator.kube.clock import steady
from hibernator.kube.credentials import find
from hibernator.kube.election import ApiLeases, Elector, LeaseLostError, NotLeadingError, new_identity
from hibernator.kube.lease import Timing
from hibernator.kube.metrics import LEASE_REQUESTS, Metrics
from support.faultproxy import FaultProxy
from support.faults import Answer, Cut, Delay, Drop, Freeze

TIMING = Timing(duration=4.5, renew_deadline=3, retry=0.1)
LEASE = "leases/leader"


@pytest.fixture
async def elector(
    proxy: FaultProxy, client: Client, namespace: str, metrics: Metrics
) -> AsyncIterator[Elector]:
    """One that has just become the leader, through the proxy."""
    await client.create(LEASES, {"metadata": {"name": "leader"}, "spec": {}}, namespace)
    async with Client(find(str(proxy.kubeconfig))) as shaken:
        made = Elector(
            ApiLeases(shaken, "leader", namespace), metrics, identity=new_identity(), timing=TIMING
        )
        await made.acquire()
        yield made


async def renewed(elector: Elector) -> None:
    """Wait for a renewal that begins from now on."""
    before = elector.over_at
    async with asyncio.timeout(TIMING.renew_deadline):
        while True:
            if elector.over_at > before:
                return
            await asyncio.sleep(0.01)


async def test_a_slow_renewal_counts_from_when_it_was_asked_for(elector: Elector, proxy: FaultProxy) -> None:
    slow = Delay()
    rule = proxy.next(method="PATCH", path=LEASE, action=slow)
    proxy.next(path=LEASE, action=Freeze(), times=100)  # the next one must not be taken for it
    holding = asyncio.create_task(elector.hold())
    await rule.hit()
    arrived = steady()
    slow.over.set()
    await renewed(elector)
    assert elector.over_at <= arrived + TIMING.duration - TIMING.margin
    holding.cancel()


async def test_a_renewal_that_takes_too_long_ends_the_leadership(elector: Elector, proxy: FaultProxy) -> None:
    assert 0 < elector.may_write() <= TIMING.duration - TIMING.margin
    proxy.next(path=LEASE, action=Freeze(), times=100)
    with pytest.raises(LeaseLostError, match="could not be renewed for 3 seconds"):
        await elector.hold()
    with pytest.raises(NotLeadingError):
        elector.may_write()
    assert steady() < elector.over_at


@pytest.mark.parametrize("fault", [Answer(500), Answer(409, "Conflict"), Cut(), Drop()], ids=repr)
async def test_a_renewal_that_fails_once_is_made_up_for(
    elector: Elector, proxy: FaultProxy, fault: Answer | Cut | Drop
) -> None:
    rule = proxy.next(method="PATCH", path=LEASE, action=fault)
    holding = asyncio.create_task(elector.hold())
    await rule.hit()
    await renewed(elector)
    assert not holding.done()
    holding.cancel()


async def test_a_lease_that_is_touched_by_someone_stays_with_its_holder(
    elector: Elector, client: Client, namespace: str
) -> None:
    holding = asyncio.create_task(elector.hold())
    for patch in ({"metadata": {"labels": {"touched": "yes"}}}, {"spec": {"holderIdentity": ""}}):
        await client.patch(LEASES, "leader", namespace, patch, resource_version=None)
        await renewed(elector)
        await renewed(elector)
    assert not holding.done()
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == elector.identity
    holding.cancel()


async def test_a_candidate_waits_for_a_lease_that_was_deleted_under_its_holder(
    elector: Elector, client: Client, namespace: str, metrics: Metrics
) -> None:
    await client.delete(LEASES, "leader", namespace)
    others = Metrics()
    candidate = Elector(ApiLeases(client, "leader", namespace), others, identity="candidate", timing=TIMING)
    acquiring = asyncio.create_task(candidate.acquire())
    await others_look(others, 3)
    holding = asyncio.create_task(elector.hold())
    await renewed(elector)
    await others_look(others, 3)
    assert not acquiring.done()
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == elector.identity
    acquiring.cancel()
    holding.cancel()


async def test_a_holder_whose_lease_is_replaced_while_it_makes_it_again_takes_the_vacancy_back(
    elector: Elector, proxy: FaultProxy, client: Client, namespace: str
) -> None:
    await client.delete(LEASES, "leader", namespace)
    late = Delay()
    rule = proxy.next(method="POST", path="/leases", action=late)
    holding = asyncio.create_task(elector.hold())
    await rule.hit()
    vacancy = {"holderIdentity": "", "leaseDurationSeconds": 5, "leaseTransitions": 0}
    await client.create(LEASES, {"metadata": {"name": "leader"}, "spec": vacancy}, namespace)
    late.over.set()
    await renewed(elector)
    lease = await client.get(LEASES, "leader", namespace)
    assert (lease.spec.holder_identity, lease.spec.lease_transitions) == (elector.identity, elector.epoch)
    holding.cancel()


async def others_look(metrics: Metrics, times: int) -> None:
    enough = metrics.value(LEASE_REQUESTS, "waiting") + times
    async with asyncio.timeout(10):
        while True:
            if metrics.value(LEASE_REQUESTS, "waiting") >= enough:
                return
            await asyncio.sleep(0.01)


async def test_a_lease_that_no_one_shipped_is_made_and_taken_after_its_duration(
    client: Client, namespace: str, metrics: Metrics
) -> None:
    leases = ApiLeases(client, "new", namespace)
    elector = Elector(
        leases, metrics, identity="first", timing=Timing(duration=1, renew_deadline=0.8, retry=0.1)
    )
    await elector.acquire()
    lease = await client.get(LEASES, "new", namespace)
    assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("first", 1)
    await elector.release()
    assert (await client.get(LEASES, "new", namespace)).spec.holder_identity == ""


async def test_a_release_that_fails_is_no_error(elector: Elector, proxy: FaultProxy) -> None:
    proxy.next(method="PATCH", path=LEASE, action=Answer(500))
    await elector.release()
    with pytest.raises(NotLeadingError):
        elector.may_write()


async def test_a_lease_that_someone_touched_is_released_all_the_same(
    elector: Elector, client: Client, namespace: str
) -> None:
    touch = {"metadata": {"labels": {"touched": "yes"}}}
    await client.patch(LEASES, "leader", namespace, touch, resource_version=None)
    await elector.release()
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == ""


async def test_a_lease_that_was_taken_by_another_is_not_released(
    elector: Elector, client: Client, namespace: str
) -> None:
    usurped = {"spec": {"holderIdentity": "usurper"}}
    await client.patch(LEASES, "leader", namespace, usurped, resource_version=None)
    await elector.release()
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == "usurper"
