"""What else can happen in a night: failures, changes of mind, suspensions, deletions, exceptions, crowds."""

import json
from typing import Any

from hibernator.kube.controller import Key
from support.clock import ManualClock
from support.foreign_kinds import install
from support.plan_lives import live
from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan, workloads
from support.scaler_scenes import workload


def patch(scene: PlanScene, body: dict[str, Any], name: str = "nights", *more: str) -> None:
    scene.cluster.kubectl(
        "patch", "hplan", name, "-n", scene.namespace, "--type=merge", "-p", json.dumps(body), *more
    )


def delete(scene: PlanScene, propagation: str = "Foreground") -> None:
    """In the foreground, which takes what a plan owns before the plan itself."""
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{scene.namespace}/hibernateplans/nights"
    scene.cluster.request("DELETE", path, {"propagationPolicy": propagation})


def suspension(name: str = "late-shift") -> dict[str, Any]:
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": name},
        "spec": {
            "planRef": {"name": "nights"},
            "type": "suspend",
            "validFrom": "2026-03-02T00:00:00Z",
            "validUntil": "2026-03-03T00:00:00Z",
            "windows": [{"start": "20:01", "end": "23:00", "daysOfWeek": ["MON"]}],
        },
    }


async def test_a_target_is_tried_again_after_a_minute_and_then_works(scene: PlanScene) -> None:
    scene.create(
        plan(
            noop("shaky", failureMode="sleep", failures=2, failureMessage="The drill says no."),
            noop("next"),
            behavior={"mode": "Strict", "retries": 2},
        )
    )
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.target_states() == {"shaky": "Pending", "next": "Pending"}
        assert "The drill says no." in scene.plan_status()["targets"][0]["message"]
        await run.advance(59)
        assert scene.plan_status()["targets"][0]["attempts"] == 1
        await run.advance(7)
        assert scene.plan_status()["targets"][0]["attempts"] == 2
        await run.advance(132)
        assert scene.target_states() == {"shaky": "Completed", "next": "Completed"}
        assert scene.phase() == "Hibernated"


async def test_a_retry_by_annotation_takes_up_what_failed_for_good(scene: PlanScene) -> None:
    scene.create(
        plan(noop("bad", failureMode="sleep", failures=1), behavior={"mode": "Strict", "retries": 0})
    )
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.phase() == "Error"
        patch(scene, {"spec": {"targets": [noop("bad")]}})
        await run.settle()
        assert scene.phase() == "Hibernated"


async def test_an_exception_cuts_a_sleep_short_and_its_end_begins_another(scene: PlanScene) -> None:
    targets = workloads("shop", scene.namespace), noop("slow", delaySeconds=90), noop("last")
    scene.create(workload(replicas=2), plan(*targets), suspension())
    _activate(scene)
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to("2026-03-02T20:00:59Z")
        assert scene.phase() == "Hibernating"
        assert scene.target_states() == {"shop": "Completed", "slow": "Running", "last": "Pending"}
        await run.advance_to("2026-03-02T20:01:00Z")
        await run.advance_to("2026-03-02T20:03:00Z")
        assert scene.phase() == "Active"
        assert scene.workloads() == before
        status = scene.plan_status()
        assert [one["name"] for one in status["activeExceptions"]] == ["late-shift"]
        assert status["history"][0]["sleep"]["result"] == "Aborted"
        assert status["nextTransition"]["at"] == "2026-03-02T23:00:00Z"
        await run.advance_to("2026-03-02T23:10:00Z")
        assert scene.phase() == "Hibernated"
        assert scene.plan_status()["cycle"] == 2


async def test_a_suspended_plan_stays_where_it_is(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        patch(scene, {"spec": {"suspend": True, "suspendUntil": "2026-03-03T09:00:00Z"}})
        await run.advance_to(MORNING)
        assert scene.phase() == "Suspended"
        assert scene.replicas() == 0
        await run.advance_to("2026-03-03T09:00:00Z")
        assert scene.phase() == "Active"
        assert scene.replicas() == 2


async def test_a_plan_that_is_deleted_in_the_night_wakes_everything_first(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        delete(scene)
        await run.until(lambda: _let_go(scene))
        assert scene.workloads() == before
        assert scene.restore_data() == []
        assert len(await run.trail("hibernateplan.wake.completed")) == 1
        assert len(await run.trail("hibernateplan.deleted")) == 1


async def test_a_plan_that_shall_leave_its_sleepers_leaves_what_wakes_them_too(scene: PlanScene) -> None:
    """Its successor counts its nights anew, and believes what it was left for one of them only."""
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        for moment in (EVENING, MORNING, "2026-03-03T20:00:00Z"):
            await run.advance_to(moment)
        patch(scene, {"metadata": {"annotations": {"hibernator.ardikabs.com/leave-asleep": "true"}}})
        delete(scene, "Background")
        await run.until(lambda: _let_go(scene))
        assert scene.replicas() == 0
        assert "finalizers" not in scene.restore_data()[0]["metadata"]
        await run.until(lambda: not scene.listed("HibernatePlan"))
        scene.create(plan(workloads("shop", scene.namespace)))
        await run.advance_to("2026-03-04T06:00:00Z")
        assert scene.workloads() == before
        assert scene.restore_data() == []
        scene.cluster.kubectl("scale", "deployment/web", "--replicas=5", "-n", scene.namespace)
        await run.advance_to("2026-03-04T20:00:00Z")
        assert scene.replicas() == 0
        await run.advance_to("2026-03-05T06:00:00Z")
        assert scene.replicas() == 5


async def test_what_a_plan_has_left_asleep_is_woken_by_day_and_forgotten(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        for moment in (EVENING, MORNING, "2026-03-03T20:00:00Z"):
            await run.advance_to(moment)
        patch(scene, {"metadata": {"annotations": {"hibernator.ardikabs.com/leave-asleep": "true"}}})
        delete(scene, "Background")
        await run.until(lambda: not scene.listed("HibernatePlan"))
        await run.advance_to("2026-03-04T12:00:00Z")
        scene.create(plan(workloads("shop", scene.namespace)))
        await run.until(lambda: scene.workloads() == before)
        await run.until(lambda: scene.restore_data() == [])


async def test_restore_data_survives_a_careless_deletion(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        scene.cluster.kubectl("delete", "configmaps", "--all", "-n", scene.namespace, "--wait=false")
        await run.advance_to(MORNING)
        assert scene.replicas() == 2
        assert scene.restore_data() == []


async def test_a_dry_run_says_what_would_sleep_and_touches_nothing(scene: PlanScene) -> None:
    scene.create(
        workload(replicas=2),
        workload(name="off", replicas=0),
        plan(workloads("shop", scene.namespace), dryRun=True),
    )
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        target = scene.plan_status()["targets"][0]
        assert target["message"].startswith("Dry run: 1 of 2 items would sleep")
        assert scene.workloads() == before
        assert scene.restore_data() == []


async def test_a_target_that_leaves_the_plan_in_the_night_is_woken_at_once(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace), noop("drill")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.replicas() == 0
        patch(scene, {"spec": {"targets": [noop("drill")]}})
        await run.until(lambda: scene.replicas() == 2)
        await run.settle()
        assert scene.target_states() == {"drill": "Completed"}
        assert scene.phase() == "Hibernated"


async def test_hundreds_of_workloads_cost_a_status_write_a_slice_and_not_an_item(scene: PlanScene) -> None:
    install(scene.cluster)
    for number in range(260):
        scene.create(
            {
                "apiVersion": "argoproj.io/v1alpha1",
                "kind": "Rollout",
                "metadata": {"name": f"web-{number:03}"},
                "spec": {"replicas": 1 + number % 3},
            }
        )
    before = {one["metadata"]["name"]: one["spec"] for one in scene.listed("Rollout")}
    scene.create(plan(workloads("shop", scene.namespace, "rollouts.argoproj.io")))
    key = Key(scene.namespace, "nights")
    writes = await live(scene.cluster.kubeconfig, key, ManualClock(EVENING))
    assert scene.plan_status()["targets"][0]["items"]["done"] == 260
    assert {one["spec"]["replicas"] for one in scene.listed("Rollout")} == {0}
    assert writes <= 260 + 8
    await live(scene.cluster.kubeconfig, key, ManualClock(MORNING))
    assert {one["metadata"]["name"]: one["spec"] for one in scene.listed("Rollout")} == before


def _let_go(scene: PlanScene) -> bool:
    """Whether only Kubernetes itself still holds on to the plans, which takes it a while."""
    return not any(
        finalizer.startswith("hibernator")
        for found in scene.listed("HibernatePlan")
        for finalizer in found["metadata"].get("finalizers", [])
    )


def _activate(scene: PlanScene) -> None:
    """Play the controller of exceptions, unless it is there."""
    status = {"status": {"state": "Active", "appliedAt": "2026-03-02T20:00:00Z"}}
    scene.cluster.kubectl(
        "patch",
        "schedex",
        "late-shift",
        "-n",
        scene.namespace,
        "--type=merge",
        "--subresource=status",
        "-p",
        json.dumps(status),
    )
