"""Node pools asleep and awake, against Google's published API."""

from dataclasses import dataclass

import aiohttp
import pytest

from hibernator.executors.gcp.gke import Gke, GkePlace
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.protocol import Job, Permanent, Retryable, Saved, Throttled, Underway
from support.cloud import awake, fall_asleep, job, wake_up
from support.gcp import PROJECT, Google, Refused

WORK = job("gke", {"clusterName": "staging", "location": "europe-west3"})


@dataclass(frozen=True)
class Staging:
    project: GcpProject
    cluster: str = "staging"

    async def gke(self, _job: Job) -> GkePlace:
        return GkePlace(self.project, PROJECT, "europe-west3", self.cluster)


@pytest.fixture
def executor(project: GcpProject) -> Gke:
    return Gke(Staging(project))


SCALING = {"enabled": True, "minNodeCount": 1, "maxNodeCount": 5, "locationPolicy": "BALANCED"}


async def test_pools_shrink_to_nothing_and_get_back_their_nodes_and_their_autoscaling(
    google: Google, executor: Gke
) -> None:
    google.pool("fixed", 2, 2)
    google.pool("scaled", 3, 3, **SCALING)
    google.pool("off", 0, 0, enabled=True, maxNodeCount=3)
    before = {name: (google.sizes(name), google.pools[name]["autoscaling"]) for name in google.pools}
    found = {item.key: item for item in await executor.discover(WORK)}
    assert found["off"].restore is None
    assert (found["scaled"].saving.cpu_cores, found["scaled"].saving.memory_gib) == (24.0, 96.0)
    assert sum(found["scaled"].saving.machines.values()) == 6.0

    items = await fall_asleep(executor, WORK)
    assert [google.sizes(name) for name in ("fixed", "scaled")] == [[0, 0], [0, 0]]
    assert google.pools["scaled"]["autoscaling"] == {}
    assert google.pools["off"]["autoscaling"]["enabled"]
    assert all([await executor.settled(WORK, item, "Asleep") for item in items])
    assert all(item.restore is None for item in await executor.discover(WORK))

    await wake_up(executor, WORK, items)
    assert {name: (google.sizes(name), google.pools[name]["autoscaling"]) for name in google.pools} == before
    assert all([await executor.settled(WORK, item, "Awake") for item in items])


async def test_doing_it_again_after_a_crash_changes_nothing_more(google: Google, executor: Gke) -> None:
    google.pool("scaled", 3, 3, **SCALING)
    items = await fall_asleep(executor, WORK)
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    assert google.changes() == ["setAutoscaling", "setSize", "setAutoscaling", "setSize"]


@pytest.mark.parametrize("broken", ["setAutoscaling", "setSize"])
async def test_an_answer_lost_at_any_point_of_the_night_loses_nothing(
    google: Google, executor: Gke, broken: str
) -> None:
    google.pool("scaled", 3, 3, **SCALING)
    items = await awake(executor, WORK)
    for act in (executor.sleep, executor.wake):
        google.fail(f"container.projects.locations.clusters.nodePools.{broken}", None)
        with pytest.raises(Retryable):
            await act(WORK, items[0])
        google.operations.clear()  # in the meantime it has been done
        await act(WORK, items[0])
    assert (google.sizes("scaled"), google.pools["scaled"]["autoscaling"]) == ([3, 3], SCALING)
    assert sorted(google.changes()) == ["setAutoscaling"] * 2 + ["setSize"] * 2


async def test_zones_of_different_sizes_come_back_at_the_greatest(google: Google, executor: Gke) -> None:
    google.pool("scaled", 1, 3, **SCALING)
    items = await fall_asleep(executor, WORK)
    await wake_up(executor, WORK, items)
    assert google.sizes("scaled") == [3, 3]


async def test_an_operation_that_takes_long_is_come_back_to(google: Google) -> None:
    google.pool("fixed", 2, 2)
    google.slow = 3
    async with aiohttp.ClientSession() as session:
        executor = Gke(Staging(google.project(session, patience=0.0)))
        (item,) = await awake(executor, WORK)
        with pytest.raises(Underway, match="operation-1"):
            await executor.sleep(WORK, item)
        await executor.sleep(WORK, item)  # it has the size that it should have
    assert google.changes() == ["setSize"]


async def test_an_operation_that_fails_is_told(google: Google, executor: Gke) -> None:
    google.pool("fixed", 2, 2)
    google.operation_error = {"code": 13, "message": "Out of luck."}
    (item,) = await awake(executor, WORK)
    with pytest.raises(Retryable, match="Out of luck"):
        await executor.sleep(WORK, item)


async def test_a_cluster_that_is_busy_is_waited_for(google: Google, executor: Gke) -> None:
    google.pool("fixed", 2, 2)
    (item,) = await awake(executor, WORK)
    google._begin({"operationType": "UPGRADE_NODES"})
    with pytest.raises(Underway, match="incompatible operation"):
        await executor.sleep(WORK, item)
    assert google.sizes("fixed") == [2, 2]


async def test_pools_by_name_and_what_is_not_there_is_named(google: Google, project: GcpProject) -> None:
    google.pool("a", 1, 1)
    google.pool("b", 1, 1)
    executor = Gke(Staging(project))
    assert [item.key for item in await executor.discover(job("gke", {"nodePools": ["b"]}))] == ["b"]
    with pytest.raises(Permanent, match="staging has no node pool c, d"):
        await executor.discover(job("gke", {"nodePools": ["d", "b", "c"]}))
    with pytest.raises(Permanent, match="no GKE cluster prod in europe-west3"):
        await Gke(Staging(project, "prod")).discover(WORK)


async def test_a_pool_that_is_gone_or_is_another_of_that_name_is_left_so(
    google: Google, executor: Gke
) -> None:
    google.pool("fixed", 2, 2)
    (item,) = await fall_asleep(executor, WORK)
    other = Saved(key="fixed", restore={**item.restore, "instanceGroups": ["gke-staging-fixed-0-grp"]})
    await executor.wake(WORK, other)
    del google.pools["fixed"]
    await executor.wake(WORK, item)
    assert await executor.settled(WORK, item, "Awake")
    assert google.changes() == ["setSize"]


async def test_throttling_refusals_and_broken_answers(google: Google, executor: Gke) -> None:
    google.pool("fixed", 2, 2)
    id_ = "container.projects.locations.clusters.nodePools.setSize"
    (item,) = await awake(executor, WORK)
    for fault, expected in (
        (Refused(429, "Quota exceeded.", "RESOURCE_EXHAUSTED"), Throttled),
        (Refused(403, "Rate.", "PERMISSION_DENIED", "rateLimitExceeded"), Throttled),
        (Refused(503, "Later."), Retryable),
        (Refused(403, "You may not.", "PERMISSION_DENIED"), Permanent),
    ):
        google.fail(id_, fault)
        with pytest.raises(expected):
            await executor.sleep(WORK, item)
    assert google.sizes("fixed") == [2, 2]
    google.fail("container.projects.locations.clusters.nodePools.get", Refused(503, "Later."), times=2)
    await executor.sleep(WORK, item)
    assert google.sizes("fixed") == [0, 0]
