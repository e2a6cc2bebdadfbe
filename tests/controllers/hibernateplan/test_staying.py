"""What stays awake for a while although its plan sleeps, sleeps for the rest of the night."""

import json
from typing import Any

from hibernator.decisions.hibernateplan_case import REST_SECONDS
from support.clock import ManualClock
from support.plan_scenes import EVENING, MORNING, PlanScene, every_kind, plan, workloads
from support.scaler_scenes import workload

FORCE = "hibernator.ardikabs.com/force-awake-until"
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job")
NINE, TEN = "2026-03-02T21:00:00Z", "2026-03-02T22:00:00Z"


def annotated(document: dict[str, Any], value: str) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "annotations": {FORCE: value}}}


def annotate(scene: PlanScene, value: str, *things: str) -> None:
    scene.cluster.kubectl("annotate", *things, f"{FORCE}={value}", "-n", scene.namespace)


def asleep(scene: PlanScene) -> set[str]:
    """The workloads that bear the mark of a sleeper."""
    return {
        name
        for name, found in scene.workloads().items()
        if "hibernator.ardikabs.com/asleep" in found["labels"]
    }


def message(scene: PlanScene) -> str:
    return str(scene.plan_status()["targets"][0]["message"])


def specs(scene: PlanScene) -> dict[str, Any]:
    return {name: found["spec"] for name, found in scene.workloads().items()}


async def test_every_kind_is_woken_when_its_owners_say_so_and_sleeps_again_afterwards(
    scene: PlanScene,
) -> None:
    scene.create(*every_kind(), plan(workloads("shop", scene.namespace, *KINDS)))
    before = specs(scene)
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        sleepers = asleep(scene)
        called = ("deploy/web", "sts/db", "ds/agent", "cj/report", "job/import")
        assert sleepers == {
            *("Deployment/web", "Deployment/api", "StatefulSet/db", "DaemonSet/agent"),
            *("CronJob/report", "Job/import"),
        }
        await run.advance(REST_SECONDS)
        annotate(scene, NINE, *called)
        await run.until(lambda: asleep(scene) == {"Deployment/api"})
        awake = specs(scene)
        assert awake == before | {"Deployment/api": awake["Deployment/api"]}
        assert scene.phase() == "Hibernated"
        assert "5 items stay awake: CronJob/" in message(scene)
        assert f"/report until {NINE}, by its annotation" in message(scene)
        await run.advance_to("2026-03-02T20:59:59Z")
        assert asleep(scene) == {"Deployment/api"}
        await run.advance_to(NINE)
        assert asleep(scene) == sleepers
        assert "stay" not in message(scene)
        await run.advance_to(MORNING)
        assert specs(scene) == before
        assert scene.restore_data() == []


async def test_what_is_annotated_before_the_evening_sleeps_later_and_nothing_else_changes_meanwhile(
    scene: PlanScene,
) -> None:
    scene.create(
        annotated(workload(name="late", replicas=2), TEN),
        annotated(workload(name="unread", replicas=2), "tomorrow"),
        workload(name="gitops", replicas=2),
        plan(workloads("shop", scene.namespace)),
    )
    before = specs(scene)
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert asleep(scene) == {"Deployment/unread", "Deployment/gitops"}
        assert f"metadata.annotations[{FORCE}] is 'tomorrow'" in message(scene)
        assert "Write it as 2026-11-20T07:00:00Z" in message(scene)
        first = scene.plan_status()["history"][-1]
        by_hand = json.dumps({"spec": {"replicas": 1}})
        place = ("deployment", "gitops", "-n", scene.namespace)
        scene.cluster.kubectl("patch", *place, "--type=merge", "-p", by_hand, "--field-manager=gitops")
    async with scene.operator(
        ManualClock("2026-03-02T21:59:00Z")
    ) as run:  # another process knows the moment, too
        await run.advance_to(TEN)
        assert scene.replicas("late") == 0
        assert scene.replicas("gitops") == 1, "what others woke is left, as the plan says"
        last = scene.plan_status()["history"][-1]
        assert (last["cycle"], last["sleep"]["result"]) == (first["cycle"], "Succeeded")
        await run.advance_to(MORNING)
        assert specs(scene) == before
