"""The ways in which workloads were once lost: each began with restore data that went while something slept.

Each test says what happened before a sleeper carried its way back with it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hibernator.kube import controller as kube_controller, credentials
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, Key
from support.clock import ManualClock
from support.faultproxy import FaultProxy
from support.faults import Action, Answer, Cut, Drop, Late
from support.plan_lives import operating
from support.plan_passes import caught_up, rest, rest_at
from support.plan_scenes import EVENING, MORNING, PlanScene, plan, workloads
from support.scaler_scenes import workload

NIGHT = "2026-03-02T23:00:00Z"
NEXT_EVENING = "2026-03-03T20:00:00Z"
NEXT_MORNING = "2026-03-04T06:00:00Z"
SHORT = 0.5  # real seconds that a client waits for an answer
PARALLEL = {"strategy": {"type": "Parallel"}}


@asynccontextmanager
async def process(
    kubeconfig: Path, key: Key, clock: ManualClock, deadline: float = 30.0
) -> AsyncIterator[Controller]:
    client = Client(credentials.find(str(kubeconfig)), deadline=deadline)
    async with operating(client, key, clock) as controller:
        yield controller


@pytest.fixture
def key(scene: PlanScene) -> Key:
    return Key(scene.namespace, "nights")


def two_teams(scene: PlanScene) -> None:
    """Two targets with two workloads each."""
    for team in ("a", "b"):
        for number in (1, 2):
            made = workload(name=f"{team}{number}", replicas=number)
            made["metadata"]["labels"] = {"team": team}
            scene.create(made)
    targets = [
        workloads(team, scene.namespace, workloadSelector={"matchLabels": {"team": team}})
        for team in ("a", "b")
    ]
    scene.create(plan(*targets, execution=PARALLEL))


def delete_restore_data(scene: PlanScene) -> None:
    """As somebody does who knows how to get rid of a finalizer."""
    names = [found["metadata"]["name"] for found in scene.restore_data()]
    assert names
    scene.cluster.kubectl(
        "patch",
        "configmap",
        *names,
        "-n",
        scene.namespace,
        "--type=merge",
        "-p",
        '{"metadata":{"finalizers":null}}',
    )
    scene.cluster.kubectl("delete", "configmap", *names, "-n", scene.namespace)


def conditions(scene: PlanScene) -> dict[str, str]:
    return {one["type"]: one["status"] for one in scene.plan_status()["conditions"]}


def events(scene: PlanScene) -> list[str]:
    return [entry["type"] for entry in scene.plan_status().get("journal", [])]


async def test_a_standby_with_a_stale_watch_of_plans_drops_nothing_when_it_takes_over(
    scene: PlanScene, proxy: FaultProxy, key: Key
) -> None:
    """Before: it believed that the plan was woken, and dropped the restore data of the night that had begun.

    The only precondition was the ConfigMap's uid. In the morning: "Nothing of it was asleep".
    """
    two_teams(scene)
    before = scene.workloads()
    clock = ManualClock(EVENING)
    direct = scene.cluster.kubeconfig
    async with process(direct, key, clock) as leader:
        for moment in (EVENING, MORNING):
            await rest_at(leader, key, clock, moment)
    async with process(proxy.kubeconfig, key, clock) as standby:
        await proxy.watching("/hibernateplans")
        assert proxy.freeze_watches("/hibernateplans")
        async with process(direct, key, clock) as leader:
            await rest_at(leader, key, clock, NEXT_EVENING)
        assert scene.phase() == "Hibernated"
        await clock.advance(2)
        await rest(standby, key, passes=5)
        assert len(scene.restore_data()) == 2
        proxy.clear()
        await rest_at(standby, key, clock, NEXT_MORNING)
    assert scene.workloads() == before
    assert scene.restore_data() == []


async def test_no_target_goes_on_sleeping_after_its_plan_has_turned_to_day(
    scene: PlanScene, proxy: FaultProxy, key: Key
) -> None:
    """Before: the pass ended with the first failure, and the other target went on behind its back.

    The plan turned round, nothing was asleep yet, the restore data was dropped, and then it slept.
    """
    two_teams(scene)
    before = scene.workloads()
    clock = ManualClock(EVENING)
    late = Late()
    refused = proxy.next(method="POST", path="/configmaps", action=Answer(409, "Conflict"))
    held = proxy.next(method="POST", path="/configmaps", action=late)
    async with process(proxy.kubeconfig, key, clock) as controller, asyncio.TaskGroup() as group:
        evening = group.create_task(rest(controller, key, passes=1))
        await refused.hit()
        await held.hit()
        # Long enough for a pass to end that does not wait for both.
        _, waits = await asyncio.wait({evening}, timeout=SHORT)
        if not waits:
            await clock.advance_to(MORNING)
            await rest(controller, key)
        assert await late.arrive() == [201]
        await evening
        await rest_at(controller, key, clock, MORNING)
    assert scene.workloads() == before
    assert scene.restore_data() == []


@pytest.mark.parametrize("restore_data", ["kept", "deleted by hand"])
async def test_a_sleep_that_arrives_after_the_waking_is_refused(
    scene: PlanScene, proxy: FaultProxy, key: Key, restore_data: str
) -> None:
    """Before: the waking wrote nothing to what was awake, and the version of the late write still fitted."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    clock = ManualClock(EVENING)
    late = Late()
    held = proxy.next(method="PATCH", path="/deployments/web", action=late)
    async with process(proxy.kubeconfig, key, clock) as leader:
        evening = asyncio.create_task(rest(leader, key, passes=1))
        await held.hit()
        evening.cancel()  # it waits no longer
        await asyncio.wait({evening})
    assert scene.replicas() == 2
    if restore_data == "deleted by hand":
        delete_restore_data(scene)
    async with process(scene.cluster.kubeconfig, key, clock) as following:
        await rest_at(following, key, clock, MORNING)
        assert scene.phase() == "Active"
        assert await late.arrive() == [409]
        assert scene.workloads() == before
        assert scene.restore_data() == []


async def test_restore_data_that_was_deleted_by_hand_is_made_up_for_by_the_marks(
    scene: PlanScene, key: Key
) -> None:
    """Before: nothing was woken, and the plan was content."""
    two_teams(scene)
    before = scene.workloads()
    clock = ManualClock(EVENING)
    async with process(scene.cluster.kubeconfig, key, clock) as controller:
        await rest_at(controller, key, clock, EVENING)
        delete_restore_data(scene)
        await rest_at(controller, key, clock, NIGHT)
        assert len(scene.restore_data()) == 2  # written anew
        delete_restore_data(scene)
        await rest_at(controller, key, clock, MORNING)
    assert scene.workloads() == before
    assert scene.restore_data() == []
    assert scene.phase() == "Active"
    assert conditions(scene) == {"Ready": "True", "Degraded": "False"}
    assert set(scene.target_states().values()) == {"Completed"}


@pytest.mark.parametrize(
    "action", [Drop(), Cut(), Answer(500, "InternalError"), Answer(503), Answer(409, "Conflict")]
)
async def test_an_answer_that_is_lost_costs_no_attempt_and_no_time(
    scene: PlanScene, proxy: FaultProxy, key: Key, action: Action
) -> None:
    """Before: a minute's pause, an attempt and a failed target, also where the write had succeeded."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    clock = ManualClock(EVENING)
    async with process(proxy.kubeconfig, key, clock) as controller:
        for moment in (EVENING, MORNING):
            struck = proxy.next(method="PATCH", path="/deployments/web", action=action)
            await rest_at(controller, key, clock, moment)
            assert struck.hits == 1
            assert scene.plan_status()["targets"][0]["attempts"] == 1
            assert set(scene.target_states().values()) == {"Completed"}
    assert clock.now().format_iso() == MORNING
    assert not [event for event in events(scene) if "failed" in event]
    assert scene.workloads() == before


async def test_what_someone_writes_into_restore_data_counts_for_the_process_that_runs(
    scene: PlanScene, key: Key
) -> None:
    """Before: only for the next process."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    clock = ManualClock(EVENING)
    async with process(scene.cluster.kubeconfig, key, clock) as controller:
        await rest_at(controller, key, clock, EVENING)
        kept = scene.restore_data()[0]
        edited = kept["data"]["items.json"].replace('"replicas":2', '"replicas":5')
        kept["data"]["items.json"] = edited
        path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{kept['metadata']['name']}"
        scene.cluster.request("PUT", path, kept)
        await rest_at(controller, key, clock, MORNING)
    assert scene.replicas() == 5
    assert scene.restore_data() == []


async def test_a_pass_that_takes_too_long_leaves_no_belief_behind(
    scene: PlanScene, proxy: FaultProxy, key: Key, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: a time-out is a cancellation, and skipped the clean-up."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    clock = ManualClock(EVENING)
    late = Late()
    held = proxy.next(method="PATCH", path="/deployments/web", action=late)
    async with process(proxy.kubeconfig, key, clock) as controller:
        monkeypatch.setattr(kube_controller, "_LONGEST", SHORT)
        while not held.hits:
            await controller._look(key)
        monkeypatch.undo()
        assert await late.arrive() == [200]
        loads = len(proxy.seen("GET", "/configmaps.*plan%3Dnights"))
        await rest_at(controller, key, clock, EVENING)
        assert len(proxy.seen("GET", "/configmaps.*plan%3Dnights")) > loads
        assert scene.plan_status()["targets"][0]["attempts"] == 1
        await rest_at(controller, key, clock, MORNING)
    assert scene.workloads() == before


async def test_a_config_map_that_has_taken_the_name_is_named_with_the_fix(scene: PlanScene, key: Key) -> None:
    """Before: the plan tried for ever, and its status did not say why."""
    taken = "hibernator-restore-nights.shop.0"
    foreign: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": taken}}
    scene.create(
        workload(replicas=2), foreign, plan(workloads("shop", scene.namespace), behavior={"retries": 0})
    )
    clock = ManualClock(EVENING)
    async with process(scene.cluster.kubeconfig, key, clock) as controller:
        await rest_at(controller, key, clock, EVENING)
        assert scene.replicas() == 2
        message = scene.plan_status()["targets"][0]["message"]
        assert taken in message
        assert "Delete that ConfigMap" in message
        scene.cluster.kubectl("delete", "configmap", taken, "-n", scene.namespace)
        scene.cluster.kubectl(
            "annotate", "hplan", "nights", "-n", scene.namespace, "hibernator.ardikabs.com/retry=now"
        )
        await caught_up(controller)
        assert await rest(controller, key)
        assert scene.replicas() == 0
