"""The operator dies after each of its writes in turn; every night ends as one without deaths does."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from hibernator.kube.controller import Key
from support.clock import ManualClock
from support.plan_lives import Killed, live
from support.plan_scenes import EVENING, MORNING, PlanScene, cron_job, noop, plan, workloads
from support.scaler_scenes import workload

KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob")


def mixed(namespace: str, name: str) -> dict[str, Any]:
    front = workloads("front", namespace, workloadSelector={"matchLabels": {"tier": "front"}})
    back = workloads(
        "back",
        namespace,
        *KINDS,
        workloadSelector={"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
    )
    edges = [{"from": "front", "to": "back"}, {"from": "front", "to": "drill"}]
    execution = {"strategy": {"type": "DAG", "dependencies": edges}}
    return plan(front, back, noop("drill", items=3), name=name, execution=execution)


def sleepers() -> list[dict[str, Any]]:
    front = workload(name="web", replicas=3)
    front["metadata"]["labels"] = {"tier": "front"}
    return [
        front,
        workload(name="api", replicas=2),
        workload(name="off", replicas=0),
        workload("StatefulSet", "db", 2, serviceName="db"),
        workload("DaemonSet", "agent"),
        cron_job("report"),
    ]


def told(status: dict[str, Any]) -> Any:
    """What a status says that does not depend on how often somebody died."""
    keep = ("phase", "cycle", "progress", "nextTransition", "savings")
    targets = [
        (one["name"], one["state"], one.get("items"), one.get("attempts")) for one in status["targets"]
    ]
    return {key: status.get(key) for key in keep} | {"targets": sorted(targets, key=str)}


async def night(scene: PlanScene, name: str, last: int | None) -> tuple[list[Any], bool, int]:
    """What was to be seen in the evening and in the morning, whether somebody died, and how many writes."""
    scene.create(mixed(scene.namespace, name))
    key, seen, died, writes = Key(scene.namespace, name), [], False, 0
    for moment in (EVENING, MORNING):
        left = None if last is None or died else last - writes
        try:
            writes += await live(scene.cluster.kubeconfig, key, ManualClock(moment), last=left)
        except Killed:
            died = True
            await live(scene.cluster.kubeconfig, key, ManualClock(moment))
        kept = [found["data"]["items.json"] for found in scene.restore_data()]
        seen += [scene.workloads(), told(scene.plan_status(name)), kept]
    uid = scene.one("HibernatePlan", name)["metadata"]["uid"]
    return json.loads(json.dumps(seen).replace(f"/{name}", "/nights").replace(uid, "uid")), died, writes


async def test_killed_after_any_write_of_a_night_it_goes_on_as_if_nothing_had_happened(
    scene: PlanScene,
) -> None:
    scene.create(*sleepers())
    before, changed = scene.workloads(), scene.generations()
    reference, _, writes = await night(scene, "undisturbed", None)
    assert reference[3] == before
    for last in range(1, writes + 2):
        seen, died, _ = await night(scene, f"nights-{last}", last)
        assert seen == reference, f"killed after write {last}"
        assert died is (last <= writes)
    nights = writes + 2
    asleep = {"Deployment/off"}
    assert scene.generations() == {
        name: number + (0 if name in asleep else 2 * nights) for name, number in changed.items()
    }


async def test_once_a_plan_says_that_it_is_awake_changes_by_hand_count_whoever_died_then(
    scene: PlanScene,
) -> None:
    """The next life begins only in the evening: nothing of the last night may reach into this one."""
    scene.create(workload(name="web", replicas=3))
    active, last, died = 0, 0, True
    while died:
        last += 1
        name, replicas = f"nights-{last}", 3 + last
        key = Key(scene.namespace, name)
        scene.create(plan(workloads("web", scene.namespace), name=name))
        await live(scene.cluster.kubeconfig, key, ManualClock(EVENING))
        try:
            await live(scene.cluster.kubeconfig, key, ManualClock(MORNING), last=last)
            died = False
        except Killed:
            died = True
        if scene.phase(name) != "Active":
            await live(scene.cluster.kubeconfig, key, ManualClock(MORNING))
        else:
            active += 1
            scene.cluster.kubectl("scale", "deployment/web", f"--replicas={replicas}", "-n", scene.namespace)
            for moment in ("2026-03-03T20:00:00Z", "2026-03-04T06:00:00Z"):
                await live(scene.cluster.kubeconfig, key, ManualClock(moment))
            assert scene.replicas("web") == replicas, f"killed after write {last}"
        assert scene.restore_data() == []
    assert active > 1


async def test_a_process_that_is_really_killed_loses_nothing_either(scene: PlanScene) -> None:
    scene.create(*sleepers(), mixed(scene.namespace, "nights"))
    before = scene.workloads()
    key = Key(scene.namespace, "nights")
    for moment, last in ((EVENING, 6), (MORNING, 4)):
        assert await _killed_process(scene, moment, last) == -signal.SIGKILL
        await live(scene.cluster.kubeconfig, key, ManualClock(moment))
    assert scene.workloads() == before
    assert scene.restore_data() == []
    assert scene.phase() == "Active"


async def _killed_process(scene: PlanScene, moment: str, last: int) -> int:
    tests = Path(__file__).parents[2]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "support.plan_lives",
        str(scene.cluster.kubeconfig),
        scene.namespace,
        "nights",
        moment,
        str(last),
        cwd=tests,
        env={**os.environ, "PYTHONPATH": str(tests)},
    )
    async with asyncio.timeout(60):
        return await process.wait()
