"""`hibernator scaler` as people type it, on the real API server."""

import asyncio
import json
import re

import pytest

from support.cluster import ClusterInTest
from support.command import hibernator
from support.operators import running
from support.scaler_scenes import Scene, scaler, workload


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> Scene:
    return Scene(crds, namespace)


async def test_a_list_shows_what_holds_and_what_comes_next(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
    # In threads, because each command brings an event loop of its own.
    head, row = (await asyncio.to_thread(ask, scene, "list")).splitlines()
    assert head.split() == ["NAME", "TARGET", "WINDOW", "REPLICAS", "NEXT", "CHANGE", "AT", "READY", "AGE"]
    assert row.split()[:4] == ["hours", "deployment/web", "OffHours", "1"]
    assert row.split()[5:10] == ["ago", "2026-03-02", "09:00", "UTC", "True"]
    assert "no window" in await asyncio.to_thread(ask, scene, "list", "-o", "wide")
    assert await asyncio.to_thread(ask, scene, "list", "-o", "name") == "timewindowscalers.kyklos.io/hours\n"
    listed = json.loads(await asyncio.to_thread(ask, scene, "list", "-o", "json"))
    assert listed["items"][0]["status"]["effectiveReplicas"] == 1
    described = await asyncio.to_thread(ask, scene, "describe", "hours")
    assert "scales Deployment web" in described
    assert "no window covers this time" in described
    assert re.search(r"next change +Mon 2026-03-02 09:00 UTC \(\w+ ago\)\n", described)


def ask(scene: Scene, *arguments: str) -> str:
    done = hibernator("scaler", *arguments, f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)
    assert done.code == 0, done.err
    return done.out


async def test_a_scaler_is_said_to_be_paused_and_resumed_once_it_is_seen(scene: Scene) -> None:
    call = asyncio.to_thread
    scene.apply(workload(), scaler())
    assert await call(ask, scene, "pause", "hours", "--no-wait") == "requested: hours paused\n"
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: "observedGeneration" in scene.get("tws", "hours").get("status", {}))
        assert scene.get("tws", "hours")["spec"]["pause"] is True
        assert await call(ask, scene, "pause", "hours") == "hours was already paused\n"
        said = await call(ask, scene, "resume", "hours")
        assert said == "requested: hours at work\nhours is at work\n"
        assert scene.get("tws", "hours")["spec"]["pause"] is False


def test_a_scaler_that_is_not_there_is_told_with_what_to_check(scene: Scene) -> None:
    done = hibernator(
        "scaler", "describe", "nope", f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace
    )
    assert done.code == 1
    assert f"there is no TimeWindowScaler nope in namespace {scene.namespace}." in done.err
    assert "There are no timewindowscalers there." in done.err


def test_a_cluster_that_cannot_be_reached_ends_with_its_own_code() -> None:
    done = hibernator("scaler", "list", "--kubeconfig=/nowhere/kubeconfig")
    assert done.code == 3
    assert "Traceback" not in done.err
