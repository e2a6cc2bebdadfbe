"""Nights of real workloads on the real control plane, compared item by item."""

import asyncio
import json

from hibernator.controllers.metrics import OPERATIONS
from hibernator.decisions.sleepmark import LABEL, MARK
from support.clock import ManualClock
from support.plan_scenes import EVENING, MORNING, PlanScene, every_kind, noop, plan, workloads
from support.scaler_scenes import WEEKDAYS, scaler, workload

KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job")


async def test_a_night_of_every_kind_of_workload_ends_as_it_began(scene: PlanScene) -> None:
    scene.apply(*every_kind(), plan(workloads("all", scene.namespace, *KINDS)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to("2026-03-02T19:59:59Z")
        assert scene.workloads() == before
        await run.advance_to(EVENING)
        assert scene.phase() == "Hibernated"
        asleep = scene.workloads()
        assert {name: found["spec"].get("replicas") for name, found in asleep.items() if "/" in name} == {
            "Deployment/web": 0,
            "Deployment/api": 0,
            "Deployment/off": 0,
            "StatefulSet/db": 0,
            "DaemonSet/agent": None,
            "CronJob/report": None,
            "CronJob/paused": None,
            "Job/import": None,
        }
        assert asleep["DaemonSet/agent"]["spec"]["template"]["spec"]["nodeSelector"] == {
            "hibernator.ardikabs.com/asleep": "true"
        }
        assert [asleep[f"CronJob/{name}"]["spec"]["suspend"] for name in ("report", "paused")] == [True, True]
        assert asleep["Job/import"]["spec"]["suspend"] is True
        kept = json.loads(scene.restore_data()[0]["data"]["items.json"])
        assert kept[f"Deployment/{scene.namespace}/web"]["was"]["replicas"] == 3
        assert kept[f"Deployment/{scene.namespace}/off"] == {"cycle": 1, "note": "was asleep already"}
        await run.advance_to(MORNING)
        assert scene.phase() == "Active"
        assert scene.workloads() == before
        assert scene.restore_data() == []


async def test_the_status_tells_of_the_night(scene: PlanScene) -> None:
    scene.apply(*every_kind(), plan(workloads("all", scene.namespace, *KINDS), noop("last")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        status = scene.plan_status()
        assert status["progress"] == "2/2"
        assert status["targets"][0]["items"] == {"total": 8, "done": 6, "failed": 0, "skipped": 2}
        assert status["nextTransition"] == {
            "at": "2026-03-03T06:00:00Z",
            "to": "Awake",
            "reason": "WorkingHours",
        }
        await run.advance_to(MORNING)
        history = scene.plan_status()["history"]
        assert [(one["cycle"], one["sleep"]["result"], one["wake"]["result"]) for one in history] == [
            (1, "Succeeded", "Succeeded")
        ]
        await run.until(lambda: len(scene.events("nights")) == 4)
        assert run.metric(OPERATIONS, "Sleep", "Succeeded") == 1
        assert run.metric(OPERATIONS, "Wake", "Succeeded") == 1
        assert [reason for reason, _, _ in scene.events("nights")] == [
            "SleepCompleted",
            "SleepStarted",
            "WakeCompleted",
            "WakeStarted",
        ]


async def test_a_target_that_covers_nothing_says_so(scene: PlanScene) -> None:
    scene.apply(plan(workloads("none", scene.namespace, "StatefulSet")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.phase() == "Hibernated"
        assert "Nothing was found" in scene.plan_status()["targets"][0]["message"]
        await run.advance_to(MORNING)
        assert scene.phase() == "Active"


async def test_what_wakes_things_is_written_before_anything_sleeps(scene: PlanScene) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to("2026-03-02T19:00:00Z")
        earlier = len(scene.writes())
        await run.advance_to(MORNING)
    assert scene.writes()[earlier:] == [
        ("hibernateplans", "status", "nights"),
        ("configmaps", "", "hibernator-restore-nights.shop.0"),
        ("deployments", "", "web"),
        ("hibernateplans", "status", "nights"),
        ("hibernateplans", "status", "nights"),
        ("deployments", "", "web"),
        ("hibernateplans", "status", "nights"),
        ("configmaps", "", "hibernator-restore-nights.shop.0"),
        ("configmaps", "", "hibernator-restore-nights.shop.0"),
    ]


async def test_where_the_marks_are_gone_spoiled_restore_data_is_told_and_used_once_it_is_mended(
    scene: PlanScene,
) -> None:
    scene.create(workload(replicas=2), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
    name = "hibernator-restore-nights.shop.0"
    whole = scene.one("ConfigMap", name)["data"]["items.json"]
    edit(scene, name, "{")
    scene.cluster.kubectl("annotate", "deployment", "web", "-n", scene.namespace, f"{MARK}-")
    scene.cluster.kubectl("label", "deployment", "web", "-n", scene.namespace, f"{LABEL}-")
    async with scene.operator(ManualClock(MORNING)) as run:
        assert scene.phase() == "Error"
        assert scene.replicas() == 0
        edit(scene, name, whole)
        await run.advance(300)
        assert scene.phase() == "Active"
        assert scene.replicas() == 2


def edit(scene: PlanScene, name: str, items: str) -> None:
    patch = json.dumps({"data": {"items.json": items}})
    scene.cluster.kubectl("patch", "configmap", name, "-n", scene.namespace, "-p", patch)


async def test_an_operator_that_was_down_for_days_goes_to_where_the_clock_says(scene: PlanScene) -> None:
    scene.apply(*every_kind(), plan(workloads("all", scene.namespace, *KINDS)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
    async with scene.operator(ManualClock("2026-03-04T22:00:00Z")) as run:
        await run.settle()
        assert scene.phase() == "Hibernated"
        assert scene.plan_status()["cycle"] == 1
    async with scene.operator(ManualClock("2026-03-05T12:00:00Z")) as run:
        await run.settle()
        assert scene.phase() == "Active"
        assert scene.workloads() == before


async def test_a_scaler_lets_a_plan_have_its_night_and_goes_on_in_the_morning(scene: PlanScene) -> None:
    window = {"days": WEEKDAYS, "start": "05:00", "end": "23:00", "replicas": 3}
    async with scene.operator() as run:
        await asyncio.to_thread(scene.apply, workload(), scaler(windows=[window]))
        await run.until(lambda: scene.replicas() == 3)
        scene.create(plan(workloads("all", scene.namespace)))
        await run.until(lambda: scene.phase() == "Active")
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        await run.until(lambda: scene.condition("Ready").get("reason") == "TargetHibernated")
        assert scene.replicas() == 0
        await run.advance_to(MORNING)
        await run.until(lambda: scene.phase() == "Active")
        await run.until(lambda: scene.condition("Ready").get("reason") in {"Reconciled", "TargetMismatch"})
        assert scene.replicas() == 3
        assert not [message for _, message, _ in scene.events() if "drift" in message]
