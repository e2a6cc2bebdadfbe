"""`hibernator plan` as people type it, on the real API server."""

import asyncio
import json
import re

import pytest
from whenever import Instant

from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.plan_scenes import EVENING, PlanScene, noop, plan, workloads
from support.scaler_scenes import workload


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def ran(scene: PlanScene, *arguments: str) -> Ran:
    return hibernator("plan", *arguments, f"--kubeconfig={scene.cluster.kubeconfig}", "-n", scene.namespace)


def ask(scene: PlanScene, *arguments: str) -> str:
    done = ran(scene, *arguments)
    assert done.code == 0, done.err
    return done.out


async def asked(scene: PlanScene, *arguments: str) -> str:
    """In a thread, because each command brings an event loop of its own."""
    return await asyncio.to_thread(ask, scene, *arguments)


async def test_a_sleeping_plan_is_listed_described_and_shows_what_it_kept(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), workload(name="off", replicas=0))
    scene.create(plan(workloads("shop", scene.namespace)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.until(lambda: len(scene.events("nights")) == 2)
    head, row = (await asked(scene, "list")).splitlines()
    assert head.split() == ["NAME", "PHASE", "NEXT", "AT", "TARGETS", "EXCEPTION", "AGE"]
    cells = re.split(r"  +", row)
    assert cells[:2] == ["nights", "Hibernated"]
    assert re.fullmatch(r"Awake \w+ ago", cells[2])  # the clock of this test stands in the past
    assert cells[3:6] == ["2026-03-03 06:00 UTC", "1/1", "-"]
    assert re.fullmatch(r"\d+[ms]\w*", cells[6])
    assert "cover this time" in await asked(scene, "list", "-o", "wide")
    described = await asked(scene, "describe", "nights")
    assert "nights is Hibernated" in described
    assert "shop Completed, 1/2 items" in described
    assert re.search(r"next +Awake at Tue 2026-03-03 06:00 UTC \(\w+ ago\) \(WorkingHours\)", described)
    assert json.loads(await asked(scene, "describe", "nights", "-o", "json"))["status"]["cycle"] == 1
    kept = (await asked(scene, "restore-data", "nights")).splitlines()
    assert kept == [
        f"shop  Deployment/{scene.namespace}/off  left alone: was asleep already",
        f"shop  Deployment/{scene.namespace}/web  replicas=3",
    ]
    as_json = json.loads(await asked(scene, "restore-data", "nights", "-o", "json"))
    assert as_json["shop"][f"Deployment/{scene.namespace}/web"]["was"]["replicas"] == 3
    names = await asked(scene, "restore-data", "nights", "-o", "name")
    assert names == "configmap/hibernator-restore-nights.shop.0\n"
    assert [line.split()[2] for line in (await asked(scene, "logs", "nights")).splitlines()] == [
        "SleepStarted",
        "SleepCompleted",
    ]


async def test_a_plan_is_said_to_be_suspended_and_resumed_once_it_is_seen(scene: PlanScene) -> None:
    scene.create(plan(noop("drill")))
    away = await asyncio.to_thread(ran, scene, "suspend", "nights", "--timeout", "1s")
    assert (away.code, away.out) == (3, "requested: nights suspended\n")
    assert "error: nights is not suspended yet: the operator has not done it within 1s." in away.err
    assert "No operator has led in this cluster yet." in away.err
    async with scene.operator():
        until = "--until", "2199-03-02 18:00", "--reason", "A release."
        requested, done = (await asked(scene, "suspend", "nights", *until)).splitlines()
        assert requested.startswith("requested: nights suspended until Sat 2199-03-02 18:00 UTC (in ")
        assert done == requested.replace("requested: nights", "nights is")
        assert scene.phase() == "Suspended"
        found = scene.one("HibernatePlan", "nights")["spec"]
        assert (found["suspend"], found["suspendReason"]) == (True, "A release.")
        assert Instant(found["suspendUntil"]) == Instant("2199-03-02T18:00:00Z")
        assert await asked(scene, "resume", "nights") == "requested: nights resumed\nnights is resumed\n"
        assert scene.phase() == "Active"
    assert await asked(scene, "suspend", "nights", "--no-wait") == "requested: nights suspended\n"
    assert "suspendUntil" not in scene.one("HibernatePlan", "nights")["spec"]


def test_a_suspension_that_has_ended_already_is_refused(scene: PlanScene) -> None:
    scene.create(plan(noop("drill")))
    refused = ran(scene, "suspend", "nights", "--until", "2026-03-02")
    assert refused.code == 2
    assert "--until 2026-03-02: Mon 2026-03-02 00:00 UTC is in the past." in refused.err
    assert scene.one("HibernatePlan", "nights")["spec"]["suspend"] is False


async def test_a_retry_is_for_what_failed_for_good(scene: PlanScene) -> None:
    target = noop("bad", failureMode="sleep", failures=1)
    scene.create(plan(target, behavior={"mode": "Strict", "retries": 0}))
    async with scene.operator() as run:
        refused = await asyncio.to_thread(ran, scene, "retry", "nights")
        assert (refused.code, "nothing of nights has failed" in refused.err) == (1, True)
        await run.advance_to(EVENING)
        assert scene.phase() == "Error"
        said = (await asked(scene, "describe", "nights")).replace("\n", " ")
        assert f"Correct it, then run `hibernator plan retry nights -n {scene.namespace}`." in said
        assert (await asked(scene, "retry", "nights")).splitlines() == [
            "requested: nights trying bad again",
            "nights is trying bad again",
        ]
        assert scene.plan_status()["retried"]


def test_a_dry_run_by_who_may_not_see_the_items_says_so_and_names_no_sum(scene: PlanScene) -> None:
    scene.create(plan(workloads("shop", scene.namespace)))
    at = ("-n", scene.namespace)
    plans = ("--verb=get,list", "--resource=hibernateplans.hibernator.ardikabs.com")
    scene.cluster.kubectl("create", "role", "reader", *plans, *at)
    scene.cluster.kubectl("create", "rolebinding", "reader", "--role=reader", "--user=vera", *at)
    blind = ran(scene, "sleep", "nights", "--dry-run", "--as", "vera")
    assert (blind.code, blind.out) == (5, "")
    assert blind.err.startswith("error: shop cannot be looked at: The API server refused it: ")


def test_a_dry_run_lists_every_item_with_what_it_would_save(scene: PlanScene) -> None:
    scene.create(workload(replicas=3), workload(name="off", replicas=0))
    scene.create(plan(workloads("shop", scene.namespace)))
    scene.create(plan(workloads("ghost", "nowhere"), name="empty"))
    nothing, _ = ask(scene, "sleep", "empty", "--dry-run").splitlines()
    assert nothing == "ghost  nothing is found that could sleep: check its parameters"
    assert ask(scene, "sleep", "nights", "--dry-run").splitlines() == [
        f"shop  Deployment/{scene.namespace}/off  was asleep already",
        f"shop  Deployment/{scene.namespace}/web  saves 0 cores, 0 GiB",
        "Together an hour asleep saves 0 cores and 0 GiB.",
    ]
    assert scene.listed("ScheduleException") == []
