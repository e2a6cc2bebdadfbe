"""Waking from marks alone, with the operator and everything that it keeps gone."""

import asyncio
import json
import shlex
from typing import Any

import pytest

from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.foreign_kinds import install, let_the_operator_patch
from support.pages import blocks
from support.plan_scenes import EVENING, MORNING, WOKEN_BY, PlanScene, every_kind, plan, workloads
from support.scaler_scenes import workload

V1 = {"apiVersion": "v1"}
KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job")


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def foreign(api_version: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def marks_of(found: dict[str, Any]) -> dict[str, str]:
    written = found["metadata"].get("annotations", {}) | found["metadata"].get("labels", {})
    return {key: value for key, value in written.items() if "/" in key and key != WOKEN_BY}


async def ran(scene: PlanScene, *arguments: str) -> Ran:
    flags = (f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)
    return await asyncio.to_thread(hibernator, "plan", *arguments, *flags)


def lose_everything(scene: PlanScene) -> None:
    """The plan without its finalizer, and all that was kept for it."""
    for kind, name in (
        ("hplan", "nights"),
        *(("configmap", one["metadata"]["name"]) for one in scene.restore_data()),
    ):
        place = (kind, name, "-n", scene.namespace)
        scene.cluster.kubectl("patch", *place, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        scene.cluster.kubectl("delete", *place, "--ignore-not-found")


async def test_everything_wakes_from_its_marks_when_operator_plan_and_restore_data_are_gone(
    scene: PlanScene,
) -> None:
    """Everything that can bear a mark in a cluster, by each type of target."""
    install(scene.cluster)
    pool, place = f"pool-{scene.namespace}", ("-n", scene.namespace)
    others = [
        foreign("keda.sh/v1alpha1", "ScaledObject", "api", scaleTargetRef={"name": "api"}),
        foreign("argoproj.io/v1alpha1", "Rollout", "canary", replicas=4),
        foreign("karpenter.sh/v1", "NodePool", pool, template={}, limits={"cpu": "8"}),
        foreign("postgresql.cnpg.io/v1", "Cluster", "main", instances=3),
    ]
    scene.cluster.kubectl(
        "apply", *place, "-f", "-", input=json.dumps({"kind": "List", "items": others} | V1)
    )
    let_the_operator_patch(scene.cluster, scene.namespace)
    patched = {
        "namespace": {"literals": [scene.namespace]},
        "apiVersion": "postgresql.cnpg.io/v1",
        "resource": "clusters",
        "patch": [{"op": "replace", "path": "/spec/instances", "value": 0}],
    }
    scene.create(
        *every_kind(),
        plan(
            workloads("shop", scene.namespace, *KINDS, "rollouts.argoproj.io"),
            {"name": "pools", "type": "karpenter", "parameters": {"nodePools": [pool]}},
            {"name": "databases", "type": "patches", "parameters": patched},
        ),
    )

    def state() -> list[Any]:
        kinds = ("scaledobjects.keda.sh", "rollouts.argoproj.io", "clusters.postgresql.cnpg.io")
        found = [scene.get(*one) for one in zip(kinds, ("api", "canary", "main"), strict=True)]
        found.append(json.loads(scene.cluster.kubectl("get", "nodepool", pool, "-o", "json").stdout))
        return [scene.workloads(), *((one["spec"], marks_of(one)) for one in found)]

    before = state()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.phase() == "Hibernated"
    assert all(now != then for now, then in zip(state(), before, strict=True))
    lose_everything(scene)
    done = await ran(scene, "wake", "nights", "--offline")
    assert done.code == 0, done.err
    assert f"Deployment/{scene.namespace}/web is awake: replicas=3" in done.out
    assert state() == before
    assert (await ran(scene, "wake", "nights", "--offline")).out == "Nothing bears a mark.\n"
    scene.cluster.kubectl("delete", "nodepool", pool)


async def test_the_runbook_wakes_everything_when_nothing_else_is_left(scene: PlanScene) -> None:
    (block,) = blocks("docs/runbooks.md", "sh")
    strays, offline, listing = (shlex.split(line, comments=True) for line in block.text.splitlines())
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
    assert scene.namespace in scene.cluster.kubectl(*listing[1:]).stdout
    words = {"NAME": "nights", "NS": scene.namespace}
    flag = f"--kubeconfig={scene.cluster.kubeconfig}"
    done = await asyncio.to_thread(hibernator, *(words.get(word, word) for word in offline[1:]), flag)
    assert (done.code, scene.workloads()) == (0, before), done.err
    async with scene.operator(ManualClock("2026-03-03T20:00:00Z")) as run:
        await run.settle()
    lose_everything(scene)
    done = await asyncio.to_thread(hibernator, *strays[1:], flag)
    assert (done.code, scene.workloads()) == (0, before), done.err


async def test_strays_are_listed_with_the_reason_and_woken_on_request(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    before = scene.workloads()
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        quiet = await ran(scene, "strays")
        assert (quiet.code, quiet.out) == (0, "No strays.\n")
    lose_everything(scene)
    listed = await ran(scene, "strays")
    assert listed.code == 1
    head, row = listed.out.splitlines()
    assert head.split() == ["ITEM", "PLAN", "CYCLE", "WAS", "WHY"]
    assert row.split()[:4] == [
        f"Deployment/{scene.namespace}/web",
        f"{scene.namespace}/nights",
        "1",
        "replicas=3",
    ]
    assert row.endswith("its plan is not in this cluster")
    (one,) = json.loads((await ran(scene, "strays", "-o", "json")).out)["strays"]
    assert one["was"]["replicas"] == 3
    woken = await ran(scene, "strays", "--wake")
    assert (woken.code, scene.workloads()) == (0, before)
    assert (await ran(scene, "strays")).code == 0


async def test_what_a_plan_that_is_gone_has_left_asleep_at_a_cloud_is_listed(scene: PlanScene) -> None:
    """No mark in this cluster tells of it, but restore data outlives its plan."""
    where = {"kind": "CloudProvider", "name": "dev"}
    target = {"name": "vms", "type": "ec2", "connectorRef": where, "parameters": {"selector": {"tags": {}}}}
    label = "hibernator.ardikabs.com"
    labels = {f"{label}/restore-data": "true", f"{label}/plan": "gone", f"{label}/target": "vms"}
    kept = {"i-0abc": {"cycle": 3, "was": {"state": "running"}}, "i-0def": {"cycle": 3}}
    data = {"target.json": json.dumps(target), "items.json": json.dumps(kept)}
    metadata = {"name": "hibernator-restore-gone.vms.0", "labels": labels}
    scene.create({"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data})
    listed = await ran(scene, "strays")
    assert listed.code == 1
    (_, row) = listed.out.splitlines()
    assert row.split()[:4] == ["i-0abc", f"{scene.namespace}/gone", "3", "state=running"]
    assert row.endswith("its plan is not in this cluster; it is where CloudProvider dev leads")
    woken = await ran(scene, "strays", "--wake")
    assert woken.code == 1
    assert f"Create the plan {scene.namespace}/gone again with its target vms" in woken.out
    alone = await ran(scene, "wake", "gone", "--offline")
    assert alone.code == 1
    assert "i-0abc was not woken: it is where CloudProvider dev leads." in alone.out
    assert "i-0def" not in alone.out


async def test_a_plan_that_is_awake_has_what_still_sleeps_listed(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        asleep = scene.one("Deployment", "web")
        await run.advance_to(MORNING)
    metadata = {key: asleep["metadata"][key] for key in ("labels", "annotations")}
    body = {"metadata": metadata, "spec": {"replicas": 0}}
    scene.cluster.kubectl(
        "patch", "deployment", "web", "-n", scene.namespace, "--type=merge", "-p", json.dumps(body)
    )
    assert "its plan is awake" in (await ran(scene, "strays")).out
