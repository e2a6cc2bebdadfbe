"""What sleeps although it should not is found, said and woken."""

import json
from typing import Any, ClassVar

import pytest

from hibernator.cli import strays
from hibernator.controllers.strays import EVERY, STRAYS
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.foreign_kinds import DEFINITIONS, definition
from support.plan_scenes import EVENING, MORNING, PlanScene, mark, noop, plan, workloads
from support.scaler_scenes import workload

DOMAIN = "hibernator.ardikabs.com"
NOON = "2026-03-03T12:00:00Z"
LATER = "2026-03-02T23:00:00Z"


class SweptScene(PlanScene):
    sweeps: ClassVar[float] = EVERY


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return SweptScene(crds, namespace)


def restored(found: dict[str, Any]) -> dict[str, Any]:
    return {key: entry["was"] for key, entry in json.loads(found["data"]["items.json"]).items()}


def degraded(scene: PlanScene) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in scene.plan_status()["conditions"] if one["type"] == "Degraded"
    )
    return found


async def test_a_stray_of_a_plan_that_is_awake_is_woken_within_a_quarter_of_an_hour(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance_to(MORNING)
        assert scene.workloads() == before
        mark(scene)
        await run.settle()
        assert scene.replicas() == 0
        await run.advance(901)
        assert scene.workloads() == before
        assert degraded(scene)["status"] == "False"
        assert run.metric(STRAYS, "plan") == 0


async def test_a_process_that_takes_over_wakes_strays_at_once(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        clock = run.clock
        await run.advance_to(MORNING)
    mark(scene)
    async with scene.operator(clock) as run:
        await run.until(lambda: scene.workloads() == before)


async def test_a_plan_that_may_not_act_says_which_strays_it_has(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance_to(MORNING)
        scene.cluster.kubectl(
            "patch",
            "hplan",
            "nights",
            "-n",
            scene.namespace,
            "--type=merge",
            "-p",
            '{"spec":{"suspend":true}}',
        )
        mark(scene)
        await run.advance(901)
        said = degraded(scene)
        assert (said["status"], said["reason"]) == ("True", "StraysFound")
        assert f"Deployment/{scene.namespace}/web" in said["message"]
        assert scene.replicas() == 0
        assert run.metric(STRAYS, "plan") == 1
        scene.cluster.kubectl(
            "patch",
            "hplan",
            "nights",
            "-n",
            scene.namespace,
            "--type=merge",
            "-p",
            '{"spec":{"suspend":false}}',
        )
        await run.until(lambda: scene.replicas() == 3)
        await run.until(lambda: degraded(scene)["status"] == "False")


async def test_the_sleepers_of_a_plan_that_sleeps_are_no_strays(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance(1801)
        assert scene.replicas() == 0
        assert degraded(scene)["status"] == "False"
        assert run.metric(STRAYS, "plan") == 0


async def test_what_slept_by_a_target_that_left_its_plan_is_found_without_restore_data(
    scene: PlanScene,
) -> None:
    """Nothing names its kind any more; its mark is all that is left."""
    scene.cluster.kubectl(
        "apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(DEFINITIONS[1])
    )
    scene.cluster.until_established()
    rollouts = workloads("shop", scene.namespace, "rollouts.argoproj.io")
    rollout = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": "canary"}}
    scene.create(rollout | {"spec": {"replicas": 4}}, plan(rollouts))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.replicas("canary", "rollouts") == 0
    for one in scene.restore_data():
        place = ("configmap", one["metadata"]["name"], "-n", scene.namespace)
        scene.cluster.kubectl("patch", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        scene.cluster.kubectl("delete", *place)
    body = json.dumps({"spec": {"targets": [noop("nothing")]}})
    scene.cluster.kubectl("patch", "hplan", "nights", "-n", scene.namespace, "--type=merge", "-p", body)
    async with scene.operator(ManualClock(LATER)) as run:
        await run.advance_to(MORNING)
        await run.advance(901)
        await run.until(lambda: scene.replicas("canary", "rollouts") == 4)


async def test_a_kind_that_cannot_be_converted_hides_no_other_sleeper(scene: PlanScene) -> None:
    """When all is lost, so is often what converts the kinds of others."""
    nowhere = {"url": "https://127.0.0.1:1/convert"}
    broken = definition("crooked.example", "Relic", "v1")
    (old,) = broken["spec"]["versions"]
    broken["spec"]["versions"] = [old | {"name": "v2", "storage": False}, old]
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": nowhere}
    broken["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    mark(scene)
    relic = {
        "apiVersion": "crooked.example/v1",
        "kind": "Relic",
        "metadata": {"name": "one", "labels": {f"{DOMAIN}/asleep": "some"}},
    }
    scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(broken))
    try:
        scene.cluster.until_established()
        scene.cluster.request("POST", f"/apis/crooked.example/v1/namespaces/{scene.namespace}/relics", relic)
        async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
            (found,) = await strays.of_plan(client, f"{scene.namespace}/nights")
            assert await strays.wake(client, found) == ""
        assert scene.replicas() == 3
    finally:
        broken["spec"]["conversion"] = {"strategy": "None"}
        scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(broken))
        scene.cluster.kubectl("delete", "crd", "relics.crooked.example")


async def test_sleepers_of_a_plan_that_is_gone_are_counted_and_left_to_people(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    mark(scene, plan_name="nights", uid="gone")
    path = f"/apis/{DOMAIN}/v1alpha1/namespaces/{scene.namespace}/hibernateplans/nights"
    scene.cluster.request("DELETE", path, {})
    async with scene.operator() as run:
        await run.until(lambda: run.metric(STRAYS, "none") == 1)
        assert scene.replicas() == 0


async def test_a_sleeper_that_the_plan_lost_is_known_again_from_its_mark(scene: PlanScene) -> None:
    """The ConfigMaps are deleted in the night, with their finalizers."""
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        (kept,) = scene.restore_data()
        name = kept["metadata"]["name"]
        scene.cluster.kubectl(
            "patch",
            "configmap",
            name,
            "-n",
            scene.namespace,
            "--type=merge",
            "-p",
            '{"metadata":{"finalizers":null}}',
        )
        scene.cluster.kubectl("delete", "configmap", name, "-n", scene.namespace)
        await run.until(lambda: len(scene.restore_data()) == 1)
        assert restored(scene.restore_data()[0]) == restored(kept)
        await run.advance_to(MORNING)
        assert scene.workloads() == before
        assert scene.restore_data() == []


def scaled(scene: PlanScene, replicas: int = 2) -> None:
    """As a GitOps tool does it that applies what is in Git."""
    patch = json.dumps({"spec": {"replicas": replicas}})
    place = ("deployment", "web", "-n", scene.namespace)
    scene.cluster.kubectl("patch", *place, "--type=merge", "-p", patch, "--field-manager=gitops")


def condition(scene: PlanScene, type_: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in scene.plan_status()["conditions"] if one["type"] == type_)
    return found


async def test_what_others_wake_in_the_night_is_said_with_who_did_it_and_left(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        scaled(scene)
        await run.advance(901)
        said = condition(scene, "WokenByOthers")
        assert said["status"] == "True"
        assert f"Deployment/{scene.namespace}/web by gitops" in said["message"]
        assert scene.replicas() == 2
        assert degraded(scene)["status"] == "False"
        (target,) = scene.plan_status()["targets"]
        assert target["message"] == "1 item is asleep."
        assert target["wokenByOthers"]["items"] == 1
    async with scene.operator(ManualClock(LATER)) as run:
        await run.advance(60)
        assert condition(scene, "WokenByOthers")["status"] == "True"
        assert scene.plan_status()["targets"] == [target]
        await run.advance_to(MORNING)
        assert scene.replicas() == 3
        assert condition(scene, "WokenByOthers")["status"] == "False"


async def test_what_others_wake_in_the_night_sleeps_again_where_the_plan_says_so(scene: PlanScene) -> None:
    behavior = {"onWokenByOthers": "SleepAgain"}
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace), behavior=behavior))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        scaled(scene)
        await run.advance(901)
        await run.until(lambda: scene.replicas() == 0)
        await run.advance(2)
        assert condition(scene, "WokenByOthers")["status"] == "False"
        await run.advance_to(MORNING)
        assert scene.workloads() == before


async def test_a_workload_that_is_excluded_while_it_sleeps_is_woken(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        place = ("deployment/web", "-n", scene.namespace)
        scene.cluster.kubectl("annotate", *place, f"{DOMAIN}/exclude=true")
        await run.advance(901)
        await run.until(lambda: scene.replicas() == 3)
        assert scene.phase() == "Hibernated"
        await run.advance_to(MORNING)
        assert scene.replicas() == 3
        assert scene.restore_data() == []
