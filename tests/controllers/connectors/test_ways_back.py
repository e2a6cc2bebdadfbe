"""Nights at the clouds in which a request comes late, or the restore data is lost: nothing stays asleep."""

import asyncio
import json
from typing import Any, ClassVar

import pytest

from hibernator.controllers.strays import EVERY, STRAYS
from hibernator.executors.gcp.project import GcpProject
from support.account import operator_kubeconfig
from support.aws import REGION, AwsInTest, Fault, Late
from support.clock import ManualClock
from support.cloud_scenes import CloudThing, furnish
from support.cluster import ClusterInTest
from support.command import hibernator
from support.connector_scenes import ConnectorScene
from support.gcp import Google
from support.plan_scenes import EVENING, MORNING, noop, plan

AFTERNOON = "2026-03-02T19:00:00Z"
TEN_PAST = "2026-03-02T20:10:00Z"
AT_AWS = ("ec2", "asg", "rds", "eks")
AT_GOOGLE = ("gke", "cloudsql")


def target(thing: CloudThing) -> dict[str, Any]:
    where = {"kind": "CloudProvider", "name": "google" if thing.type in AT_GOOGLE else "aws"}
    return {"name": thing.type, "type": thing.type, "connectorRef": where, "parameters": thing.parameters}


def set_the_scene(scene: ConnectorScene, aws: AwsInTest, google: Google, things: list[CloudThing]) -> None:
    scene.keys()
    scene.aws_provider(aws, "aws")
    scene.secret("google", **{"key.json": google.key_file()})
    scene.gcp_provider(google, "google")
    at_once, behavior = {"strategy": {"type": "Parallel"}}, {"mode": "BestEffort", "retries": 0}
    scene.create(plan(*map(target, things), execution=at_once, behavior=behavior))


async def test_a_sleep_that_comes_after_the_waking_is_found_and_undone(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    things = [furnish(type_, aws, google, project) for type_ in (*AT_AWS, *AT_GOOGLE)]
    before = [thing.look() for thing in things]
    set_the_scene(scene, aws, google, things)
    for thing in things:
        if thing.type in AT_GOOGLE:
            google.hold(thing.sleeps_by)
        else:
            aws.proxy.fail(thing.sleeps_by, Late())

    def state() -> Any:
        return [thing.look() for thing in things]

    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: len(aws.proxy.held) + len(google.held) == len(things))
        await run.until(lambda: set(scene.target_states().values()) == {"Failed"})
        await run.advance_to(MORNING)
        await run.until(lambda: set(scene.target_states().values()) == {"Completed"})
        assert await asyncio.to_thread(state) == before
        await aws.proxy.arrive()
        google.slow = 0  # two of them at once
        google.arrive()
        assert all(now != then for now, then in zip(await asyncio.to_thread(state), before, strict=True))
        await run.advance(200)
        assert len(scene.restore_data()) == len(things)
        await run.advance(110)
        await run.until(lambda: scene.restore_data() == [])
    assert state() == before
    assert [dict(thing.marks()) for thing in things] == [{}] * len(things)


@pytest.mark.parametrize("change", ["its parameters", "its plan"])
async def test_a_sleep_that_comes_after_a_target_has_left_it_is_undone(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject, change: str
) -> None:
    """The target, or what it covers, is changed while a request of its sleep is still on its way."""
    things = [furnish(type_, aws, google, project) for type_ in ("ec2", "asg")]
    before = [thing.look() for thing in things]
    set_the_scene(scene, aws, google, things)
    for thing in things:
        aws.proxy.fail(thing.sleeps_by, Late())
    elsewhere = {"selector": {"tags": {"of": "nobody"}}}
    others = (
        [noop("nothing")]
        if change == "its plan"
        else [target(one) | {"parameters": elsewhere} for one in things]
    )

    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: len(aws.proxy.held) == len(things))
        await run.until(lambda: set(scene.target_states().values()) == {"Failed"})
        body = json.dumps({"spec": {"targets": others}})
        scene.cluster.kubectl("patch", "hplan", "nights", "-n", scene.namespace, "--type=merge", "-p", body)
        await run.until(lambda: not any(thing.marks() for thing in things))
        await aws.proxy.arrive()
        assert all(thing.look() != then for thing, then in zip(things, before, strict=True))
        await run.advance(310)
        await run.until(lambda: [thing.look() for thing in things] == before)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert [dict(thing.marks()) for thing in things] == [{}] * len(things)


async def test_what_nobody_may_wake_any_more_is_said_by_its_plan(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    """The process that had taken off the mark is gone, and restore data alone can be forged."""
    things = [furnish("ec2", aws, google, project)]
    set_the_scene(scene, aws, google, things)
    aws.proxy.fail(things[0].sleeps_by, Late())
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: set(scene.target_states().values()) == {"Failed"})
        body = json.dumps({"spec": {"targets": [noop("nothing")]}})
        scene.cluster.kubectl("patch", "hplan", "nights", "-n", scene.namespace, "--type=merge", "-p", body)
        await run.until(lambda: not things[0].marks())
        await run.until(lambda: scene.phase() == "Hibernated")
    await aws.proxy.arrive()

    def degraded() -> list[str]:
        found = scene.plan_status()["conditions"]
        return [f"{one['reason']}: {one['message']}" for one in found if one["type"] == "Degraded"]

    async with scene.operator(ManualClock(TEN_PAST)) as run:
        await run.until(lambda: degraded()[0].startswith("WakingUnconfirmed: "))
        assert "bears no mark of this plan, and the plan does not cover it" in degraded()[0]


async def test_restore_data_that_is_deleted_in_the_night_is_written_anew_from_the_marks(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    things = [furnish(type_, aws, google, project) for type_ in (*AT_AWS, "cloudsql")]
    before = [thing.look() for thing in things]
    set_the_scene(scene, aws, google, things)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert all(thing.marks() for thing in things)
        for found in scene.restore_data():
            path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{found['metadata']['name']}"
            await asyncio.to_thread(scene.cluster.request, "DELETE", path)
        await run.advance_to(MORNING)
        await run.until(lambda: scene.phase() == "Active")
        assert [thing.look() for thing in things] == before
        await run.advance(310)
        await run.until(lambda: scene.restore_data() == [])
    assert [thing.look() for thing in things] == before
    assert [dict(thing.marks()) for thing in things] == [{}] * len(things)


async def test_sleepers_of_a_night_that_was_lost_with_the_database_are_found_and_woken(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    """A cluster that is restored from the afternoon's backup knows nothing of the night; the clouds do."""
    things = [furnish(type_, aws, google, project) for type_ in (*AT_AWS, "cloudsql")]
    before = [thing.look() for thing in things]
    set_the_scene(scene, aws, google, things)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.until(lambda: scene.phase() == "Active")
        backup = scene.plan_status()
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
    for found in scene.restore_data():
        path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{found['metadata']['name']}"
        found["metadata"]["finalizers"] = []
        scene.cluster.request("PUT", path, found)
        scene.cluster.request("DELETE", path)
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{scene.namespace}/hibernateplans/nights"
    scene.cluster.request("PUT", f"{path}/status", scene.one("HibernatePlan", "nights") | {"status": backup})
    assert all(thing.look() != then for thing, then in zip(things, before, strict=True))
    async with scene.operator(ManualClock(MORNING)) as run:
        await run.until(lambda: not any(thing.marks() for thing in things))
        await run.until(lambda: [thing.look() for thing in things] == before)
        assert scene.phase() == "Active"


async def test_sleepers_at_a_cloud_whose_plan_is_gone_are_counted(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    """Somebody has taken the finalizer off the plan. What it put to sleep is for people to wake."""
    things = [furnish("ec2", aws, google, project)]
    set_the_scene(scene, aws, google, things)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        slept = sum(len(json.loads(one["data"]["items.json"])) for one in scene.restore_data())
    gone = ("hplan", "nights", "-n", scene.namespace)
    scene.cluster.kubectl("patch", *gone, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    scene.cluster.kubectl("delete", *gone)
    async with scene.operator(ManualClock(MORNING)) as run:
        await run.until(lambda: run.metric(STRAYS, "none") == slept > 0)


def lose_the_plan(scene: ConnectorScene) -> None:
    """As it is after a namespace was deleted by force, or the cluster went back to before the plan."""
    gone = ("hplan", "nights", "-n", scene.namespace)
    scene.cluster.kubectl("patch", *gone, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    scene.cluster.kubectl("delete", *gone)
    for found in scene.restore_data():
        path = f"/api/v1/namespaces/{scene.namespace}/configmaps/{found['metadata']['name']}"
        found["metadata"]["finalizers"] = []
        scene.cluster.request("PUT", path, found)
        scene.cluster.request("DELETE", path)


def told(scene: ConnectorScene) -> list[tuple[str, str]]:
    """Type and plan of each stray that the connectors show."""
    found = []
    for plural in ("cloudproviders", "k8sclusters"):
        path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{scene.namespace}/{plural}"
        for one in scene.cluster.request("GET", path)["items"]:
            found += [(each["type"], each["plan"]) for each in one.get("status", {}).get("strays", [])]
    return sorted(found)


async def test_what_a_plan_has_left_asleep_is_told_without_it_and_its_restore_data_until_it_is_woken(
    scene: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    things = [furnish(type_, aws, google, project) for type_ in (*AT_AWS, "cloudsql")]
    before = [thing.look() for thing in things]
    scene.aws_provider(aws, "other-region", region="eu-west-1")
    staging = {"name": "staging", "region": REGION, "providerRef": {"name": "aws"}}
    scene.k8s_cluster("staging", eks=staging)
    set_the_scene(scene, aws, google, things)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
    lose_the_plan(scene)
    owner = f"{scene.namespace}/nights"
    async with scene.operator(ManualClock(TEN_PAST)) as run:
        await run.until(lambda: told(scene) == sorted((thing.type, owner) for thing in things))
        assert run.metric(STRAYS, "none") == len(things)
        assert all(thing.look() != then for thing, then in zip(things, before, strict=True))
        flags = (f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)
        listed = await asyncio.to_thread(hibernator, "plan", "strays", *flags)
        assert listed.code != 0
        assert listed.out.count(f"{owner}  ") == len(things)
        assert "it is where K8SCluster staging leads" in listed.out
    targets = list(map(target, things))
    targets[AT_AWS.index("eks")] |= {"connectorRef": {"kind": "K8SCluster", "name": "staging"}}
    scene.create(plan(*targets))
    async with scene.operator(ManualClock(MORNING)) as run:
        await run.until(lambda: [thing.look() for thing in things] == before)
        await run.until(lambda: told(scene) == [])
        assert [dict(thing.marks()) for thing in things] == [{}] * len(things)
        assert run.metric(STRAYS, "none") == 0


class SweptScene(ConnectorScene):
    sweeps: ClassVar[float] = EVERY


@pytest.fixture
def swept(crds: ClusterInTest, namespace: str) -> ConnectorScene:
    operator_kubeconfig(crds.kubeconfig)
    return SweptScene(crds, namespace)


async def test_a_plan_by_the_same_name_that_leads_elsewhere_wakes_nothing_of_its_predecessor(
    swept: ConnectorScene, aws: AwsInTest, google: Google, project: GcpProject
) -> None:
    """Who may write tags can name any plan: it acts where its own targets lead, and nowhere else."""
    scene = swept
    things = [furnish("ec2", aws, google, project)]
    set_the_scene(scene, aws, google, things)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
    asleep = things[0].look()
    lose_the_plan(scene)
    scene.create(plan(noop("nothing")))
    refused = "DescribeAutoScalingGroups"
    aws.proxy.fail(refused, Fault(403, "AccessDenied"), times=9)
    aws.proxy.calls.clear()
    async with scene.operator(ManualClock(MORNING)) as run:
        await run.until(lambda: told(scene) == [("ec2", f"{scene.namespace}/nights")])
        await run.advance(EVERY + 1)
        assert run.metric(STRAYS, "none") == 1
        assert run.metric(STRAYS, "plan") == 0
        assert things[0].look() == asleep
    assert aws.proxy.calls.count("DescribeInstances") > 1
    assert aws.proxy.calls.count(refused) == 1  # again and again, it would look like an attack
