"""Patched objects on the real API server, where several targets of one plan cover the same one."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.decisions.sleepmark import MARK
from hibernator.executors.patches import Patches
from hibernator.executors.protocol import Executor, Job, Saved
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.scaler import WorkloadScaler
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.cluster import ClusterInTest
from support.own_cluster import OwnCluster
from support.plan_scenes import PlanScene
from support.scaler_scenes import workload

NOW = Instant("2026-03-02T20:00:00Z")
REACH = Reach("hibernator-system")
PAUSED = [{"op": "add", "path": "/spec/paused", "value": True}]
SLOWER = [{"op": "add", "path": "/spec/minReadySeconds", "value": 60}]


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


@pytest.fixture
async def client(scene: PlanScene) -> AsyncIterator[Client]:
    async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
        yield client


def job(scene: PlanScene, name: str, type_: str, **parameters: Any) -> Job:
    wanted = {"namespace": {"literals": [scene.namespace]}, **parameters}
    return Job(
        namespace=scene.namespace,
        plan="nights",
        uid="one",
        cycle=1,
        target=Target(name=name, type=type_, parameters=wanted),
        attempt=1,
        began=NOW,
        now=NOW,
    )


def patching(scene: PlanScene, name: str, patch: list[dict[str, Any]]) -> Job:
    return job(scene, name, "patches", apiVersion="apps/v1", resource="deployments", patch=patch)


async def saved(executor: Executor, job: Job) -> Saved:
    (item,) = await executor.discover(job)
    assert item.restore is not None
    return Saved(key=item.key, restore=item.restore)


@pytest.mark.parametrize("first", ["a patch", "a scaler"])
async def test_what_sleeps_for_another_target_of_the_plan_is_left_to_that_target(
    scene: PlanScene, client: Client, first: str
) -> None:
    """Two targets that begin at the same time have both seen it awake; one of them puts it to sleep."""
    scene.create(workload(replicas=3))
    before = scene.workloads()
    patches, scaler = Patches(OwnCluster(client), REACH), WorkloadScaler(OwnCluster(client), REACH)
    theirs: Executor = patches if first == "a patch" else scaler
    their_job = (
        patching(scene, "theirs", PAUSED)
        if first == "a patch"
        else job(scene, "theirs", "workloadscaler", includedGroups=["Deployment"])
    )
    our_job = patching(scene, "ours", SLOWER)
    theirs_saved, ours_saved = await saved(theirs, their_job), await saved(patches, our_job)
    await theirs.sleep(their_job, theirs_saved)
    asleep = scene.workloads()
    await patches.sleep(our_job, ours_saved)
    assert scene.workloads() == asleep
    await patches.wake(our_job, ours_saved)
    assert MARK in scene.workloads()["Deployment/web"]["annotations"]
    await theirs.wake(their_job, theirs_saved)
    assert scene.workloads() == before
