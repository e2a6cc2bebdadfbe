"""What people and tools do to plans and workloads in the middle of a night: the morning comes all the same.

Nobody looks for strays here: the way back itself has to lead through all of it.
"""

import asyncio
import json
from http import HTTPStatus
from typing import Any

import pytest

from hibernator.controlplane.access import RequestError
from hibernator.decisions.sleepmark import LABEL
from support.clock import ManualClock
from support.plan_scenes import EVENING, MORNING, PlanScene, plan, workloads
from support.scaler_scenes import workload

MIDNIGHT = "2026-03-03T00:00:00Z"
HALF_PAST_SEVEN, HALF_PAST_FIVE = "2026-03-02T19:30:00Z", "2026-03-03T05:30:00Z"


def only(scene: PlanScene, target: str, *names: str) -> dict[str, Any]:
    """A target over the Deployments of these names."""
    chosen = {"matchExpressions": [{"key": "app", "operator": "In", "values": list(names)}]}
    return workloads(target, scene.namespace, workloadSelector=chosen)


def named(name: str, replicas: int) -> dict[str, Any]:
    made = workload(name=name, replicas=replicas)
    made["metadata"]["labels"] = {"app": name}
    return made


def patch(scene: PlanScene, what: str, name: str, **spec: Any) -> None:
    body = json.dumps({"spec": spec})
    scene.cluster.kubectl("patch", what, name, "-n", scene.namespace, "--type=merge", "-p", body)


def delete(scene: PlanScene, what: str, name: str) -> None:
    scene.cluster.kubectl("delete", what, name, "-n", scene.namespace, "--wait=false")


def again(scene: PlanScene, name: str) -> None:
    """Delete a Deployment and create it as it was read, with its mark: so a backup brings it back."""
    found = scene.one("Deployment", name)
    delete(scene, "deployment", name)
    metadata = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    scene.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": found["spec"]})


def scaled_by(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 2,
            "maxReplicas": 5,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                }
            ],
        },
    }


def bear_marks(scene: PlanScene) -> list[str]:
    found = scene.listed("Deployment")
    return [one["metadata"]["name"] for one in found if LABEL in one["metadata"].get("labels", {})]


async def test_whatever_is_done_to_plans_and_workloads_in_the_night_the_morning_is_as_the_day_before(
    scene: PlanScene,
) -> None:
    names = ("renamed", "kept", "left", "both", "inherited", "shared", "restored", "gitops", "scaled")
    scene.create(*(named(name, 2 + number) for number, name in enumerate(names)))
    scene.cluster.kubectl("apply", "-n", scene.namespace, "-f", "-", input=json.dumps(scaled_by("scaled")))
    scene.create(
        plan(only(scene, "old", "renamed"), name="renames"),
        plan(only(scene, "some", "kept", "left"), name="narrows"),
        plan(only(scene, "one", "both"), only(scene, "two", "both"), name="overlaps"),
        plan(only(scene, "shop", "inherited"), name="bequeaths"),
        plan(only(scene, "shop", "shared"), name="first"),
        plan(only(scene, "shop", "shared"), name="second"),
        plan(only(scene, "shop", "restored", "gitops", "scaled"), name="rests"),
    )
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert {scene.replicas(name) for name in names} == {0}
        await run.advance_to(MIDNIGHT)
        patch(scene, "hplan", "renames", targets=[only(scene, "new", "renamed")])
        patch(scene, "hplan", "narrows", targets=[only(scene, "some", "kept")])
        patch(scene, "hplan", "overlaps", targets=[only(scene, "two", "both")])
        delete(scene, "hplan", "bequeaths")
        scene.create(plan(only(scene, "shop", "inherited"), name="inherits"))
        delete(scene, "hplan", "first")
        again(scene, "restored")
        patch(scene, "deployment", "gitops", replicas=9)
        await run.settle()
        assert scene.replicas("left") == before["Deployment/left"]["spec"]["replicas"]
        assert scene.replicas("kept") == 0
        await run.advance_to(MORNING)
        assert scene.workloads() == before
        assert bear_marks(scene) == []
        assert scene.restore_data() == []
        left = {one["metadata"]["name"]: one["status"]["phase"] for one in scene.listed("HibernatePlan")}
        assert set(left.values()) == {"Active"}


@pytest.mark.parametrize("to", [HALF_PAST_SEVEN, HALF_PAST_FIVE])
async def test_a_clock_that_is_set_back_over_a_boundary_leaves_nothing_asleep(
    scene: PlanScene, to: str
) -> None:
    scene.create(named("web", 3), plan(only(scene, "shop", "web")))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        if to == HALF_PAST_FIVE:
            await run.advance_to(MORNING)
    async with scene.operator(ManualClock(to)) as run:
        await run.settle()
        assert scene.replicas("web") == (3 if to == HALF_PAST_SEVEN else 0)
        await run.advance_to(EVENING if to == HALF_PAST_SEVEN else MORNING)
        await run.advance_to(MORNING)
        assert (scene.workloads(), scene.restore_data()) == (before, [])
        assert scene.phase() == "Active"


async def test_a_namespace_that_is_deleted_in_the_night_goes_and_its_successor_has_its_own_nights(
    scene: PlanScene,
) -> None:
    """Nothing holds its deletion up, and nothing of the old one is believed of the new one."""
    path = f"/api/v1/namespaces/{scene.namespace}"

    def gone() -> bool:
        try:
            scene.cluster.request("GET", path)
        except RequestError as error:
            return error.code == HTTPStatus.NOT_FOUND
        return False

    def furnish() -> dict[str, Any]:
        scene.create(named("web", 3), plan(only(scene, "shop", "web")))
        return scene.workloads()

    before = furnish()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.replicas("web") == 0
        run.forbidden = frozenset({"events"})  # nothing can be created in a namespace that goes
        scene.cluster.request("DELETE", path)
        await run.until(gone)
        await asyncio.to_thread(scene.cluster.create_namespace, scene.namespace)
        assert furnish() == before
        await run.advance_to(MIDNIGHT)
        assert scene.replicas("web") == 0
        await run.advance_to(MORNING)
        assert (scene.workloads(), scene.restore_data(), scene.phase()) == (before, [], "Active")
