"""Objects of any kind sleep by a patch and wake as they were, by either copy of what they were."""

import json
from typing import Any

import pytest

from hibernator.cli import strays
from hibernator.executors import sleepers
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.cluster import ClusterInTest
from support.foreign_kinds import install, let_the_operator_patch
from support.plan_scenes import EVENING, MORNING, WOKEN_BY, PlanScene, plan
from support.scaler_scenes import workload

HIBERNATION = "cnpg.io/hibernation"
NEXT_EVENING, NEXT_MORNING = "2026-03-03T20:00:00Z", "2026-03-04T06:00:00Z"
THIRD_EVENING = "2026-03-04T20:00:00Z"
SLEEP = [
    {"op": "add", "path": f"/metadata/annotations/{HIBERNATION.replace('/', '~1')}", "value": "on"},
    {"op": "replace", "path": "/spec/instances", "value": 0},
]
# What the API server stores otherwise than it was written: a default, and a number in its own form.
ODD = """
- {op: remove, path: /spec/replicas}
- {op: add, path: /spec/template/spec/containers/0/resources, value: {requests: {cpu: 1000m}}}
"""


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    install(crds)
    return PlanScene(crds, namespace)


def patches(name: str, namespace: str, api_version: str, resource: str, patch: Any) -> dict[str, Any]:
    parameters = {"namespace": {"literals": [namespace]}, "apiVersion": api_version, "resource": resource}
    return {"name": name, "type": "patches", "parameters": parameters | {"patch": patch}}


def database(name: str = "main") -> dict[str, Any]:
    return {
        "apiVersion": "postgresql.cnpg.io/v1",
        "kind": "Cluster",
        "metadata": {"name": name, "annotations": {"team": "shop"}},
        "spec": {"instances": 3, "storage": {"size": "1Gi"}},
    }


def shown(scene: PlanScene) -> list[Any]:
    """All that a night must not change."""
    found = [scene.one("Cluster", "main"), scene.one("Deployment", "web")]
    return [
        (
            one["spec"],
            one["metadata"].get("labels", {}),
            {
                key: value
                for key, value in one["metadata"].get("annotations", {}).items()
                if key != WOKEN_BY and not key.startswith("deployment.kubernetes.io")
            },
        )
        for one in found
    ]


def lose_restore_data(scene: PlanScene) -> None:
    for one in scene.restore_data():
        place = ("configmap", one["metadata"]["name"], "-n", scene.namespace)
        scene.cluster.kubectl("patch", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        scene.cluster.kubectl("delete", *place, "--wait=false")


def messages(scene: PlanScene) -> dict[str, str]:
    return {one["name"]: one.get("message", "") for one in scene.plan_status()["targets"]}


def patch(scene: PlanScene, *what: str, **spec: Any) -> None:
    body = json.dumps({"spec": spec})
    scene.cluster.kubectl("patch", *what, "-n", scene.namespace, "--type=merge", "-p", body)


async def test_a_patch_is_taken_back_by_its_mark_and_what_others_changed_stays(scene: PlanScene) -> None:
    scene.create(
        database(),
        workload(replicas=3),
        plan(
            patches("db", scene.namespace, "postgresql.cnpg.io/v1", "clusters", SLEEP),
            patches("web", scene.namespace, "apps/v1", "deployments", ODD),
            behavior={"mode": "BestEffort", "retries": 0},
        ),
    )
    before = shown(scene)
    async with scene.operator() as run:
        run.forbidden = frozenset({"clusters.postgresql.cnpg.io"})
        await run.advance_to(EVENING)
        # The missing rule is named, the other target goes on, and the plan wakes what slept.
        assert "may not get, list, watch, patch clusters.postgresql.cnpg.io" in messages(scene)["db"]
        assert 'resources: ["clusters"]' in messages(scene)["db"]
        asleep = scene.one("Deployment", "web")["spec"]
        assert asleep["replicas"] == 1  # the API server's own default
        assert asleep["template"]["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "1"}}
        await run.advance_to(MORNING)
        assert shown(scene) == before

        let_the_operator_patch(scene.cluster, scene.namespace)
        await run.advance_to(NEXT_EVENING)
        main = scene.one("Cluster", "main")
        assert (main["spec"]["instances"], main["metadata"]["annotations"][HIBERNATION]) == (0, "on")
        assert scene.phase() == "Hibernated"
        lose_restore_data(scene)
        patch(scene, "clusters.postgresql.cnpg.io", "main", instances=5)
        await run.advance_to(NEXT_MORNING)
        assert scene.phase() == "Active"
        assert "main: others have changed /spec/instances, which stays." in messages(scene)["db"]
        patch(scene, "clusters.postgresql.cnpg.io", "main", instances=3)
        assert shown(scene) == before

        await run.advance_to(THIRD_EVENING)
        assert shown(scene) != before
    # Nothing is left but the marks.
    async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
        found = await strays.of_plan(client, f"{scene.namespace}/nights")
        assert [one.key.partition("/")[0] for one in found] == [
            "clusters.postgresql.cnpg.io",
            "deployments.apps",
        ]
        assert all(one.asleep for one in found)
        for sleeper in found:
            await sleepers.wake(client, sleeper)
        assert await strays.of_plan(client, f"{scene.namespace}/nights") == []
    assert shown(scene) == before
