"""Restore data that somebody with few rights has written: it moves nothing that is not the plan's."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, Key
from support.clock import ManualClock
from support.plan_lives import operating
from support.plan_passes import rest_at
from support.plan_scenes import EVENING, MORNING, PlanScene, plan, workloads
from support.scaler_scenes import workload

LABELS = {
    "hibernator.ardikabs.com/restore-data": "true",
    "hibernator.ardikabs.com/plan": "nights",
    "hibernator.ardikabs.com/target": "shop",
}


@pytest.fixture
def key(scene: PlanScene) -> Key:
    return Key(scene.namespace, "nights")


def neighbour(scene: PlanScene) -> PlanScene:
    """Another team's namespace, with one workload that is awake and one that is asleep."""
    there = PlanScene(scene.cluster, scene.cluster.create_namespace())
    there.create(workload(replicas=2), workload(name="off", replicas=0))
    return there


def entries(victims: PlanScene) -> dict[str, Any]:
    """What would scale the neighbour's workloads, if it were believed."""
    return {
        f"Deployment/{victims.namespace}/{name}": {
            "cycle": 1,
            "was": {"uid": victims.one("Deployment", name)["metadata"]["uid"], "replicas": 9},
        }
        for name in ("web", "off")
    }


def forged(items: dict[str, Any], target: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "hibernator-restore-nights.shop.0", "labels": LABELS}
    data = {"target.json": json.dumps(target), "items.json": json.dumps(items)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def seen(scene: PlanScene) -> dict[str, Any]:
    """All that the operator could have written to."""
    return scene.workloads() | {
        f"annotations of {found['metadata']['name']}": "hibernator" in json.dumps(found["metadata"])
        for found in scene.listed("Deployment")
    }


@asynccontextmanager
async def process(scene: PlanScene, key: Key, clock: ManualClock) -> AsyncIterator[Controller]:
    client = Client(credentials.find(str(scene.cluster.kubeconfig)))
    async with operating(client, key, clock) as controller:
        yield controller


async def test_an_entry_for_something_in_another_namespace_wakes_only_what_is_the_plans(
    scene: PlanScene, key: Key
) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace), behavior={"retries": 0}))
    victims = neighbour(scene)
    before = seen(victims)
    clock = ManualClock(EVENING)
    async with process(scene, key, clock) as controller:
        await rest_at(controller, key, clock, EVENING)
        kept = scene.restore_data()[0]
        kept["data"]["items.json"] = json.dumps(json.loads(kept["data"]["items.json"]) | entries(victims))
        path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{kept['metadata']['name']}"
        scene.cluster.request("PUT", path, kept)
        await rest_at(controller, key, clock, MORNING)
    assert scene.replicas() == 2
    assert seen(victims) == before
    assert "Wake it by hand and remove it from the restore data." in json.dumps(scene.plan_status())


async def test_restore_data_of_a_night_that_never_was_moves_nothing_of_others(
    scene: PlanScene, key: Key
) -> None:
    """With a target that names the neighbour's namespace, as the plan itself does not."""
    victims = neighbour(scene)
    before = seen(victims)
    mine = workloads("shop", scene.namespace)
    scene.create(
        workload(replicas=2),
        forged(entries(victims), workloads("shop", victims.namespace)),
        plan(mine, behavior={"retries": 0}),
    )
    clock = ManualClock(MORNING)
    async with process(scene, key, clock) as controller:
        await rest_at(controller, key, clock, MORNING)
    assert seen(victims) == before
    assert scene.replicas() == 2
