"""What goes wrong with one target, or with one copy of what it was, keeps nothing asleep that can be woken.

Each test says what happened before: in all of them workloads slept on, for as long as nobody did anything.
"""

import json
from typing import Any

import pytest

from hibernator.api.hibernateplan import Target
from hibernator.controllers.hibernateplan_restore import RestoreData
from hibernator.decisions.hibernateplan_restore import Entry, Kept
from hibernator.executors import registry as every
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Item, Job
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from support.clock import ManualClock
from support.foreign_kinds import SCALE, definition
from support.plan_lives import live
from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan, workloads
from support.scaler_scenes import workload

PARALLEL = {"strategy": {"type": "Parallel"}}


class Odd(Noop):
    """Meets something in the morning that nobody has thought of."""

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        raise ValueError(job.plan)


def delete_restore_data(scene: PlanScene) -> None:
    for one in scene.restore_data():
        place = ("configmap", one["metadata"]["name"], "-n", scene.namespace)
        scene.cluster.kubectl("patch", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        scene.cluster.kubectl("delete", *place)


async def pass_at(scene: PlanScene, moment: str) -> None:
    await live(scene.cluster.kubeconfig, Key(scene.namespace, "nights"), ManualClock(moment))


async def test_a_kind_that_is_removed_in_the_night_keeps_no_other_kind_asleep(scene: PlanScene) -> None:
    """Before: "not a kind that this cluster can scale", each half hour, also for the Deployments."""
    made = definition("nights.example", "Train", "v1", subresources=SCALE)
    scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(made))
    scene.cluster.until_established()
    trains = f"/apis/nights.example/v1/namespaces/{scene.namespace}/trains"
    train = {"apiVersion": "nights.example/v1", "kind": "Train", "metadata": {"name": "one"}}
    scene.cluster.request("POST", trains, train | {"spec": {"replicas": 2}})
    kinds = "trains.nights.example", "Deployment"
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace, *kinds)))
    before = scene.workloads()
    await pass_at(scene, EVENING)
    assert (scene.replicas(), scene.cluster.request("GET", f"{trains}/one")["spec"]["replicas"]) == (0, 0)
    scene.cluster.kubectl("delete", "crd", "trains.nights.example")
    await pass_at(scene, MORNING)
    assert (scene.workloads(), scene.restore_data()) == (before, [])
    assert scene.phase() == "Active"


async def test_a_quota_that_lets_no_restore_data_be_written_keeps_nothing_asleep(scene: PlanScene) -> None:
    """Before: no pass of the plan came to its end, and its status did not say why."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace), behavior={"retries": 0}))
    before = scene.workloads()
    await pass_at(scene, EVENING)
    assert scene.replicas() == 0
    delete_restore_data(scene)
    hard = {"metadata": {"name": "none"}, "spec": {"hard": {"count/configmaps": "0"}}}
    scene.cluster.request("POST", f"/api/v1/namespaces/{scene.namespace}/resourcequotas", hard)
    scene.cluster.kubectl(
        "wait",
        "resourcequota/none",
        "-n",
        scene.namespace,
        "--for=jsonpath={.status.hard.count/configmaps}=0",
    )
    await pass_at(scene, MORNING)
    assert (scene.workloads(), scene.phase()) == (before, "Active")
    await pass_at(scene, "2026-03-03T20:00:00Z")
    assert scene.workloads() == before  # nothing sleeps without it
    (target,) = scene.plan_status()["targets"]
    assert target["state"] == "Failed"
    assert "exceeded quota" in target["message"]


async def test_restore_data_that_cannot_be_read_keeps_nothing_asleep_and_stays(scene: PlanScene) -> None:
    """Before: the plan waited for its correction, although each sleeper said what it was."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace), noop("other")))
    before = scene.workloads()
    await pass_at(scene, EVENING)
    kept = next(one for one in scene.restore_data() if ".shop." in one["metadata"]["name"])
    path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{kept['metadata']['name']}"
    scene.cluster.request("PATCH", path, {"data": {"items.json": "{"}})
    await pass_at(scene, MORNING)
    assert scene.workloads() == before
    assert [one["metadata"]["name"] for one in scene.restore_data()] == [kept["metadata"]["name"]]
    assert scene.phase() == "Error"
    (degraded,) = [one for one in scene.plan_status()["conditions"] if one["type"] == "Degraded"]
    assert "that of the target shop cannot be read" in degraded["message"]
    await pass_at(scene, "2026-03-03T20:00:00Z")
    assert scene.workloads() == before  # nothing more sleeps until it is corrected
    scene.cluster.request("PATCH", path, {"data": kept["data"]})
    await pass_at(scene, "2026-03-03T12:00:00Z")
    assert (scene.workloads(), scene.restore_data()) == (before, [])
    assert scene.phase() == "Active"


async def test_an_error_that_nobody_has_foreseen_in_one_target_keeps_no_other_one_asleep(
    scene: PlanScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: it ended every pass of the plan."""
    targets = noop("odd"), workloads("shop", scene.namespace)
    scene.create(workload(replicas=2), plan(*targets, behavior={"retries": 0}, execution=PARALLEL))
    before = scene.workloads()
    await pass_at(scene, EVENING)
    monkeypatch.setattr(every, "Noop", Odd)
    await pass_at(scene, MORNING)
    assert scene.workloads() == before
    assert scene.target_states() == {"odd": "Failed", "shop": "Completed"}


async def test_restore_data_that_grows_out_of_its_part_loses_nothing(scene: PlanScene) -> None:
    """Before: what had no room in it any more was not written, and what it was of slept nevertheless."""

    def kept(was: dict[str, Any] | None) -> Kept:
        keys = (f"Deployment/shop/web-{number:04}" for number in range(3000))
        return Kept(
            target=Target(name="shop", type="noop"),
            entries={key: Entry(cycle=1, was=was, note="was asleep already") for key in keys},
        )

    async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
        data = RestoreData(client)
        asleep_before = await data.save(scene.namespace, "nights", kept(None), None)
        awake = kept({"uid": "0" * 36, "replicas": 3})
        both = await data.save(scene.namespace, "nights", awake, asleep_before)
        (found,) = (await data.load(scene.namespace, "nights"))[0].values()
        assert (both.kept, found.kept) == (awake, awake)
        assert len(found.parts) > len(asleep_before.parts)
        again = await data.save(scene.namespace, "nights", kept(None), found)
        (found,) = (await data.load(scene.namespace, "nights"))[0].values()
        assert found.kept == kept(None)
        await data.drop(again)
    assert scene.restore_data() == []
