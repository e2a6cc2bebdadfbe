"""`hibernator plan wake --only`: one workload of a sleeping plan is woken, and success is what was seen."""

import asyncio
from pathlib import Path

import pytest

from hibernator.cli.exits import Exit
from hibernator.decisions.hibernateplan_case import REST_SECONDS
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.desk import Desk
from support.foreign_kinds import install
from support.plan_scenes import EVENING, PlanScene, plan, workloads
from support.scaler_scenes import workload

FORCE = "hibernator.ardikabs.com/force-awake-until"
NOON = "2026-03-02T12:00:00Z"


@pytest.fixture
def desk(crds: ClusterInTest, namespace: str, tmp_path: Path) -> Desk:
    install(crds)
    scene = PlanScene(crds, namespace)
    scene.create(
        workload(name="web", replicas=3),
        workload(name="api", replicas=2),
        workload("StatefulSet", "db", 1, serviceName="db"),
        plan(workloads("shop", namespace)),
    )
    return Desk(scene, tmp_path)


async def test_a_workload_is_woken_and_what_cannot_be_is_said_with_the_fix(desk: Desk) -> None:
    scene = desk.scene
    scaled = {"scaleTargetRef": {"name": "api"}}
    await asyncio.to_thread(
        scene.apply,
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": "api"},
            "spec": scaled,
        },
    )
    wake = ("plan", "wake", "nights")
    async with scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: scene.phase() == "Hibernated")
        await run.advance(REST_SECONDS)

        absent = await desk.type(EVENING, *wake, "--only", "deploy/webb")
        assert (absent.code, absent.out) == (Exit.FOUND, "")
        assert "Did you mean deploy/web?" in absent.err
        foreign = await desk.type(EVENING, *wake, "--only", "sts/db")
        assert "sts/db does not sleep for nights" in foreign.err
        assert f"See `hibernator why sts/db -n {scene.namespace}" in foreign.err
        unknown = await desk.type(EVENING, *wake, "--only", "deploy/payments")
        assert "there is no Deployment payments" in unknown.err
        mixed = await desk.type(EVENING, *wake, "--only", "deploy/web", "--reason", "Late.")
        assert mixed.code == Exit.USAGE
        assert scene.replicas() == 0

        both = ("--only", "deploy/web", "--only", "deploy/api", "--for", "4h")
        asked = asyncio.create_task(desk.type(EVENING, *wake, *both))
        while not asked.done():  # the second may be asked for just after the target was looked at
            await run.advance(REST_SECONDS)
            await asyncio.wait([asked], timeout=0.2)
        woken = await asked
        assert woken.code == Exit.OK, woken.err
        until = "awake until Tue 2026-03-03 00:00 UTC (in 4h)"
        assert woken.out.splitlines() == [
            f"requested: deploy/web of nights {until}",
            f"requested: deploy/api of nights {until}",
            f"deploy/web, deploy/api are {until}",
        ]
        assert scene.replicas() == 3
        paused = scene.get("scaledobjects", "api")["metadata"]["annotations"]
        assert "autoscaling.keda.sh/paused-replicas" not in paused
        await run.until(lambda: scene.phase() == "Hibernated")
        why = await desk.type(EVENING, "why", "deploy/web")
        assert f"The annotation {FORCE} keeps it awake until Tue 2026-03-03 00:00 UTC (in 4h)." in why.out
        assert "  target   0 items are asleep. 2 items stay awake: " in why.out
        described = await desk.type(EVENING, "plan", "describe", "nights")
        assert "2 items stay awake: Deployment/" in described.out


async def test_without_an_operator_it_is_only_requested_and_an_awake_plan_is_not_asked(desk: Desk) -> None:
    scene = desk.scene
    awake = await desk.type(NOON, "plan", "wake", "nights", "--only", "deploy/web")
    assert "nights is awake already" in awake.err
    assert f"`kubectl annotate deploy/web {FORCE}=2026-03-02T14:00:00Z -n {scene.namespace} " in awake.err
    absent = await desk.type(NOON, "plan", "wake", "nights", "--only", "deploy/wbe")
    assert absent.err.startswith(f"error: there is no Deployment wbe in namespace {scene.namespace}.\n")
    unclear = await desk.type(NOON, "plan", "wake", "nights", "--only", "web")
    assert (unclear.code, "web is not a kind and a name." in unclear.err) == (Exit.USAGE, True)
    async with scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: scene.phase() == "Hibernated")
    asked = await desk.type(EVENING, "plan", "wake", "nights", "--only", "deploy/web", "--timeout", "1s")
    assert asked.code == Exit.UNAVAILABLE
    assert asked.out.startswith("requested: deploy/web of nights awake until")
    assert "error: deploy/web has not been woken within 1s." in asked.err
    annotations = scene.get("deployment", "web")["metadata"]["annotations"]
    assert annotations[FORCE] == "2026-03-02T22:00:00Z"
