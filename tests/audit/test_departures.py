"""The end of an object is told once, whether somebody saw it, or nobody, or the database was away."""

import asyncio
import json
from pathlib import Path
from typing import Any

from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.spool import NAME
from support.cluster import ClusterInTest
from support.connector_scenes import ConnectorScene
from support.exception_scenes import exception
from support.operators import Running, running
from support.plan_scenes import PlanScene, noop, plan
from support.remediation_scenes import ANALYSES, REMEDIATIONS, analysis, remediation
from support.scaler_scenes import Scene, scaler, workload

EVERY_KIND = {
    "timewindowscalers.kyklos.io": "hours",
    "cloudproviders.hibernator.ardikabs.com": "account",
    "k8sclusters.hibernator.ardikabs.com": "elsewhere",
    "scheduleexceptions.hibernator.ardikabs.com": "party",
    "hibernateplans.hibernator.ardikabs.com": "nights",
    "exceptionpolicies.hibernator.ardikabs.com": "four-eyes",
    "planrequests.hibernator.ardikabs.com": "please",
    ANALYSES: "oom",
    REMEDIATIONS: "oom",
}
NO_FINALIZER = {kind: name for kind, name in EVERY_KIND.items() if name not in {"party", "nights"}}


def provider() -> dict[str, Any]:
    keys = {"secretRef": {"name": "nowhere"}}
    aws = {"accountId": "123456789012", "region": "eu-central-1", "auth": {"static": keys}}
    return _of_ours("CloudProvider", "account", {"type": "aws", "aws": aws})


def elsewhere() -> dict[str, Any]:
    return _of_ours("K8SCluster", "elsewhere", {"inCluster": True})


def four_eyes() -> dict[str, Any]:
    return _of_ours("ExceptionPolicy", "four-eyes", {"require": {"roles": ["manager"]}})


def please() -> dict[str, Any]:
    return _of_ours("PlanRequest", "please", {"plan": {"name": "nights", "uid": "1"}, "action": "Resume"})


def _of_ours(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    group = "hibernator.ardikabs.com/v1alpha1"
    return {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}


def one_of_each(scene: PlanScene) -> None:
    party = exception(
        "party",
        "nights",
        type="suspend",
        validFrom="2026-03-09T00:00:00Z",
        validUntil="2026-03-10T00:00:00Z",
        windows=[{"start": "18:00", "end": "22:00", "daysOfWeek": ["Monday"]}],
    )
    ours = provider(), elsewhere(), four_eyes(), please()
    scene.apply(workload(), scaler(), *ours, remediation(), analysis(0.95))
    scene.create(plan(noop("drill"), name="nights"), party)


async def delete(scene: Scene, found: dict[str, str]) -> None:
    for kind, name in found.items():
        where = ("delete", kind, name, "-n", scene.namespace, "--wait=true", "--timeout=60s")
        await asyncio.to_thread(scene.cluster.kubectl, *where)


async def ends(url: str) -> list[Entry]:
    async with Database(url, read_only=True) as database:
        return [one for one in await Reader(database).page(Filter()) if one.action == "deleted"]


async def told_of(run: Running, url: str, count: int) -> list[Entry]:
    """The ends in the trail, once there are so many and nothing else is about to come."""
    async with asyncio.timeout(120):
        while True:
            await run.settle()
            await run.operator.trail.flush()
            if len(found := await ends(url)) >= count:
                return found


async def test_the_end_of_every_kind_is_told_while_someone_looks(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    scene, url = ConnectorScene(crds, namespace), f"sqlite:///{tmp_path}/audit.db"
    async with running(crds.kubeconfig, namespace, database=url) as run:
        await asyncio.to_thread(one_of_each, scene)
        await run.settle()
        await delete(scene, EVERY_KIND)
        found = await told_of(run, url, len(EVERY_KIND))
    assert sorted((one.resource.kind, one.resource.name) for one in found) == [
        ("AIAnalysis", "oom"),
        ("CloudProvider", "account"),
        ("ExceptionPolicy", "four-eyes"),
        ("HibernatePlan", "nights"),
        ("K8SCluster", "elsewhere"),
        ("PlanRequest", "please"),
        ("RemediationRequest", "oom"),
        ("ScheduleException", "party"),
        ("TimeWindowScaler", "hours"),
    ]
    assert {one.actor.type for one in found} == {"unknown"}


async def test_who_went_while_no_one_led_is_found_by_the_next_leader_and_told_once(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    scene, url = ConnectorScene(crds, namespace), f"sqlite:///{tmp_path}/audit.db"
    async with running(crds.kubeconfig, namespace, database=url) as run:
        await asyncio.to_thread(one_of_each, scene)
        await run.settle()
        await run.operator.trail.flush()
    await delete(scene, NO_FINALIZER)
    await asyncio.to_thread(scene.apply, scaler())  # another one of the same name
    for _life in range(2):
        async with running(crds.kubeconfig, namespace, database=url) as run:
            found = await told_of(run, url, len(NO_FINALIZER))
        assert len(found) == len(NO_FINALIZER)
    for one in found:
        assert "not known" in json.loads(bytes(one.data))["noticed"]


async def test_where_an_operator_does_not_look_no_one_is_gone(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    scene, url = ConnectorScene(crds, namespace), f"sqlite:///{tmp_path}/audit.db"
    async with running(crds.kubeconfig, namespace, database=url) as run:
        await asyncio.to_thread(one_of_each, scene)
        await run.settle()
        await run.operator.trail.flush()
    elsewhere = crds.create_namespace()
    async with running(crds.kubeconfig, elsewhere, database=url) as run:
        await asyncio.to_thread(Scene(crds, elsewhere).apply, scaler("passing"))
        await run.settle()
        await asyncio.to_thread(Scene(crds, elsewhere).delete, "timewindowscalers", "passing")
        [only] = await told_of(run, url, 1)
    assert only.resource.name == "passing"


async def test_an_end_while_the_database_is_away_outlives_the_operator(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    scene, url = ConnectorScene(crds, namespace), f"sqlite:///{tmp_path}/disk/audit.db"
    disk = tmp_path / "disk"
    disk.write_text("no directory, and so no place for a database")
    async with running(crds.kubeconfig, namespace, database=url) as run:
        await asyncio.to_thread(one_of_each, scene)
        await run.settle()
        assert "disk" in run.operator.trail.away
        await delete(scene, EVERY_KIND)
        await run.until(lambda: ends_waiting(scene) == len(EVERY_KIND))
    disk.unlink()
    async with running(crds.kubeconfig, namespace, database=url) as run:
        found = await told_of(run, url, len(EVERY_KIND))
        await run.until(lambda: not waiting(scene))
        began = {one.resource.kind for one in await run.trail("*") if one.action in {"created", "requested"}}
    assert len(found) == len(EVERY_KIND)
    assert began == {one.resource.kind for one in found}, "all that their status still knew was told, too"


def waiting(scene: Scene) -> list[dict[str, Any]]:
    """The events in the spool."""
    where = ("get", "configmaps", f"--field-selector=metadata.name={NAME}", "-n", scene.namespace)
    listed = json.loads(scene.cluster.kubectl(*where, "-o", "json").stdout)["items"]
    return [json.loads(text) for one in listed for text in (one.get("data") or {}).values()]


def ends_waiting(scene: Scene) -> int:
    return sum(one["action"] == "deleted" for one in waiting(scene))
