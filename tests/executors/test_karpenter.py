"""NodePools asleep and awake on the real API server."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.executors.karpenter import Karpenter
from hibernator.executors.protocol import Item, Job, Permanent, Saved
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.cluster import ClusterInTest
from support.foreign_kinds import install
from support.own_cluster import OwnCluster

POOLS = "/apis/karpenter.sh/v1/nodepools"
NOW = Instant("2026-03-02T20:00:00Z")


@pytest.fixture
def pools(cluster: ClusterInTest) -> Iterator[ClusterInTest]:
    install(cluster)
    for name, limits in (
        ("limited", {"cpu": "100", "nvidia.com/gpu": "2"}),
        ("free", None),
        ("off", {"cpu": "0"}),
    ):
        body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"template": {}}}
        if limits is not None:
            body["spec"]["limits"] = limits
        cluster.request("POST", POOLS, {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", **body})
    yield cluster
    for name in ("limited", "free", "off"):
        cluster.request("DELETE", f"{POOLS}/{name}")


@pytest.fixture
async def executor(pools: ClusterInTest) -> AsyncIterator[Karpenter]:
    async with Client(credentials.find(str(pools.kubeconfig))) as client:
        yield Karpenter(OwnCluster(client))


def job(*names: str) -> Job:
    target = Target(name="pools", type="karpenter", parameters={"nodePools": list(names)})
    return Job(namespace="x", plan="nights", uid="", cycle=1, target=target, attempt=1, began=NOW, now=NOW)


def saved(item: Item) -> Saved:
    assert item.restore is not None
    assert Karpenter.identity in item.restore
    return Saved(key=item.key, restore=item.restore)


async def test_limits_go_to_zero_and_come_back_as_they_were(
    pools: ClusterInTest, executor: Karpenter
) -> None:
    names = ("free", "limited", "off")
    before = {name: pools.request("GET", f"{POOLS}/{name}")["spec"] for name in names}
    work = job(*names)
    items = {item.key: item for item in await executor.discover(work)}
    assert items["NodePool/off"].restore is None
    awake = [saved(item) for item in items.values() if item.restore is not None]
    for item in awake * 2:
        await executor.sleep(work, item)
    for name in ("free", "limited"):
        limits = pools.request("GET", f"{POOLS}/{name}")["spec"]["limits"]
        assert (limits["cpu"], limits["memory"]) == ("0", "0")
    assert all(item.restore is None or item.asleep for item in await executor.discover(work))
    for item in awake * 2:
        assert await executor.settled(work, item, "Asleep")
        await executor.wake(work, item)
    assert {name: pools.request("GET", f"{POOLS}/{name}")["spec"] for name in names} == before


async def test_a_pool_that_is_not_there_is_named(executor: Karpenter) -> None:
    with pytest.raises(Permanent, match="there is no NodePool missing"):
        await executor.discover(job("missing"))


async def test_a_pool_that_is_awake_and_not_covered_is_not_written_to(
    pools: ClusterInTest, executor: Karpenter
) -> None:
    """Whoever may write restore data may forge an entry."""
    before = pools.request("GET", f"{POOLS}/free")["metadata"]
    forged = Saved(key="NodePool/free", restore={"uid": before["uid"], "limits": None}, covered=False)
    await executor.wake(job("limited"), forged)
    assert pools.request("GET", f"{POOLS}/free")["metadata"] == before
