"""Nights at the clouds in which a request comes late, or the restore data is lost: nothing stays asleep."""

import asyncio
from typing import Any

from hibernator.executors.gcp.project import GcpProject
from support.aws import AwsInTest, Late
from support.clock import ManualClock
from support.cloud_scenes import CloudThing, furnish
from support.connector_scenes import ConnectorScene
from support.gcp import Google
from support.plan_scenes import EVENING, MORNING, plan

AFTERNOON = "2026-03-02T19:00:00Z"
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
