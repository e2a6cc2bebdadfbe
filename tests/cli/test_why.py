"""`hibernator why`: which plan or scaler covers a workload, why it is as it is, and until when."""

import asyncio
from typing import Any

import pytest

from hibernator.cli.exits import Exit
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.plan_scenes import EVENING, PlanScene, plan, workloads
from support.scaler_scenes import scaler, workload


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


async def why(scene: PlanScene, word: str, *options: str) -> Ran:
    place = f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace
    return await asyncio.to_thread(hibernator, "why", word, *options, *place)


async def test_a_sleeping_workload_names_its_plan_and_when_it_wakes(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), workload(name="off", replicas=0))
    scene.create(plan(workloads("shop", scene.namespace)))
    async with scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: scene.phase() == "Hibernated")
        told = await why(scene, "deploy/web")
        scene.create(workload(name="new", replicas=1))
        assert "  awake    It was woken, created or kept awake since" in (await why(scene, "deploy/new")).out
        assert "  asleep   It bears no mark of this plan" in (await why(scene, "deploy/off")).out
    assert told.code == Exit.OK, told.err
    first, second, *rest = told.out.splitlines()
    assert first == f"Deployment {scene.namespace}/web has 0 replicas"
    assert second == f"HibernatePlan {scene.namespace}/nights put it to sleep, and is Hibernated."
    facts = dict(line.strip().split(maxsplit=1) for line in rest)
    assert "replicas=3" in facts["was"]
    assert facts["since"].startswith("Mon 2026-03-02 20:00 UTC (")
    assert facts["until"].startswith("Tue 2026-03-03 06:00 UTC (")
    assert facts["until"].endswith("then Awake")


async def test_one_that_nothing_covers_is_told_so(scene: PlanScene) -> None:
    scene.create(workload(replicas=1))
    told = await why(scene, "deployment/web")
    assert told.out.splitlines() == [
        f"Deployment {scene.namespace}/web has 1 replica",
        "No plan and no scaler covers it: whatever its size is, Hibernator did not set it.",
    ]


async def test_a_scaler_and_a_plan_that_is_awake_are_named(scene: PlanScene) -> None:
    scene.create(workload(replicas=2))
    scene.create(plan(workloads("shop", scene.namespace)))
    await asyncio.to_thread(scene.apply, scaler())
    told = (await why(scene, "deploy/web")).out
    assert f"HibernatePlan {scene.namespace}/nights covers it, and is not reconciled yet." in told
    assert f"TimeWindowScaler {scene.namespace}/hours scales it." in told


async def test_of_two_scalers_the_one_that_waits_is_not_said_to_scale(scene: PlanScene) -> None:
    scene.create(workload(replicas=2))
    await asyncio.to_thread(scene.apply, scaler())
    async with scene.operator() as run:
        await asyncio.to_thread(scene.apply, scaler("second"))
        await run.settle()
        told = (await why(scene, "deploy/web")).out
    assert f"TimeWindowScaler {scene.namespace}/hours scales it, and wants 1." in told
    assert f"TimeWindowScaler {scene.namespace}/second names it, too, and does nothing." in told


async def test_what_is_not_there_is_told_with_what_is_near(scene: PlanScene) -> None:
    scene.create(workload(replicas=1))
    assert "Did you mean web?" in (await why(scene, "deploy/webb")).err
    assert (await why(scene, "web")).code == Exit.USAGE
    assert "is not a kind that this cluster can scale" in (await why(scene, "pod/web")).err


def limited(scene: PlanScene) -> list[dict[str, Any]]:
    """What `view` gives a developer in one namespace of a cluster without KEDA."""
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]}
        for group, resources in (
            ("apps", ["deployments"]),
            ("hibernator.ardikabs.com", ["hibernateplans", "scheduleexceptions"]),
            ("kyklos.io", ["timewindowscalers"]),
        )
    ]
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "dev", "namespace": scene.namespace},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "dev", "namespace": scene.namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "dev"},
            "subjects": [{"kind": "User", "name": "dev"}],
        },
    ]


async def test_a_developer_who_sees_one_namespace_only_is_told_of_its_plan(scene: PlanScene) -> None:
    scene.create(workload(replicas=2))
    by_label = workloads("all", scene.namespace)
    by_label["parameters"]["namespace"] = {"selector": {"team": "shop"}}
    scene.create(plan(workloads("shop", scene.namespace)), plan(by_label, name="labels"))
    await asyncio.to_thread(scene.apply, *limited(scene))
    told = (await why(scene, "deploy/web", "--as", "dev")).out.splitlines()
    assert told[1:] == [
        f"HibernatePlan {scene.namespace}/nights covers it, and is not reconciled yet.",
        (
            f"You may not see which namespaces HibernatePlan {scene.namespace}/labels selects: "
            "it may cover it, too."
        ),
        "You may not see plans in other namespaces, which may cover it, too.",
    ]
