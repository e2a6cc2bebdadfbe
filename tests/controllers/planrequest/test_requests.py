"""What a person asked on the page of a plan, carried out by an operator with its own roles."""

import asyncio
from pathlib import Path
from typing import Any

from whenever import Instant

from hibernator.api.hibernateplan import PLANS
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.audit.database import Database
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers.means import Means
from hibernator.controllers.planrequest import request_controller
from hibernator.kube import credentials
from hibernator.kube.cache import Caches
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import RUNTIME, Metrics
from support.account import operator_kubeconfig
from support.clock import ManualClock
from support.plan_lives import Killed, MortalClient
from support.plan_scenes import PlanScene, noop, plan
from support.rights import until

ALICE = "alice@company.com"


def ask(scene: PlanScene, action: str, of: str = "nights", **spec: Any) -> str:
    """What the web process files for Alice; returns the name."""
    owner = scene.one("HibernatePlan", of)["metadata"]
    document = {
        "apiVersion": PLAN_REQUESTS.api_version,
        "kind": PLAN_REQUESTS.kind,
        "metadata": {
            "generateName": f"{of}-{action.lower()}-",
            "annotations": {"hibernator.ardikabs.com/requested-by": ALICE},
            "ownerReferences": [
                {
                    "apiVersion": PLANS.api_version,
                    "kind": PLANS.kind,
                    "name": of,
                    "uid": owner["uid"],
                }
            ],
        },
        "spec": {"plan": {"name": of, "uid": owner["uid"]}, "action": action, **spec},
    }
    made = scene.cluster.request("POST", PLAN_REQUESTS.path(scene.namespace), document)
    return str(made["metadata"]["name"])


def answer(scene: PlanScene, name: str) -> tuple[str, str]:
    status = scene.one("PlanRequest", name).get("status", {})
    return status.get("state", ""), status.get("message", "")


async def test_a_plan_is_suspended_and_resumed_in_the_name_of_who_asked(scene: PlanScene) -> None:
    scene.create(plan(noop("drill"), name="nights"))
    async with scene.operator() as run:
        suspend = ask(scene, "Suspend", until="2026-03-02T17:00:00Z", reason="A load test.")
        await run.settle()
        state, message = answer(scene, suspend)
        assert (state, scene.phase()) == ("Done", "Suspended"), message
        spec = scene.one("HibernatePlan", "nights")["spec"]
        assert (spec["suspendUntil"], spec["suspendReason"]) == ("2026-03-02T17:00:00Z", "A load test.")
        [suspended] = await run.trail("hibernateplan.suspended")
        assert suspended.actor.id == ALICE
        again = ask(scene, "Suspend")
        await run.settle()
        assert answer(scene, again)[0] == "Refused"
        resume = ask(scene, "Resume")
        await run.settle()
        assert answer(scene, resume)[0] == "Done"
        assert scene.phase() == "Active"
        [resumed] = await run.trail("hibernateplan.resumed")
        assert resumed.actor.id == ALICE
        assert [one.actor.id for one in await run.trail("hibernateplan.changed")] == [ALICE, ALICE]
        assert len(await run.trail("planrequest.created")) == 3
        [refused] = await run.trail("planrequest.refused")
        assert "suspended already" in refused.error
        await run.advance(3600)
        assert scene.listed("PlanRequest") == []


async def test_what_failed_is_retried_in_the_name_of_who_asked(scene: PlanScene) -> None:
    failing = noop("drill", failureMode="sleep")
    scene.create(plan(failing, name="nights", behavior={"retries": 0}))
    async with scene.operator(ManualClock("2026-03-02T20:00:00Z")) as run:
        assert scene.phase() == "Error"
        await run.advance(1)
        retry = ask(scene, "Retry")
        await run.settle()
        assert answer(scene, retry)[0] == "Done"
        [retried] = await run.trail("hibernateplan.retried")
        assert retried.actor.id == ALICE


async def live(
    scene: PlanScene, name: str, folder: Path, *, last: int | None = None, real: Clock | None = None
) -> bool:
    """An operator of nothing but requests looks at one, once; whether it died with its last write."""
    clock, metrics = ManualClock("2026-03-02T08:00:00Z"), Metrics(RUNTIME)
    own = credentials.find(str(operator_kubeconfig(scene.cluster.kubeconfig)))

    def die() -> None:
        raise Killed

    async with (
        MortalClient(own, last, die) as client,
        Database(f"sqlite:///{folder}/audit.db") as database,
    ):
        trail = Trail(ChainStore(database, now=clock.now), identity="test")
        means = Means(
            client=client,
            caches=Caches(client, metrics, scene.namespace),
            recorder=Recorder(client, clock, metrics, instance="test"),
            clock=clock,
            metrics=metrics,
            trail=trail,
            spool=AuditSpool(client, trail, scene.namespace),
        )
        controller = request_controller(means, real)
        cache = controller.sources[0].cache
        watching = asyncio.create_task(cache.run())
        try:
            await cache.wait_synced()
            await controller._reconcile(Key(scene.namespace, name))
        except Killed:
            return True
        finally:
            watching.cancel()
            await asyncio.wait([watching])
        return False


async def test_killed_between_its_two_writes_it_neither_repeats_nor_forgets(
    scene: PlanScene, tmp_path: Path
) -> None:
    """And what others have done with the plan meanwhile stays."""
    scene.create(plan(noop("drill"), name="nights"))
    name = ask(scene, "Suspend")
    assert await live(scene, name, tmp_path, last=1)
    found = scene.one("HibernatePlan", "nights")
    assert (found["spec"]["suspend"], answer(scene, name)[0]) == (True, "")
    changed_by = found["metadata"]["annotations"]["hibernator.ardikabs.com/changed-by"]
    assert changed_by == f"{found['metadata']['generation']} {ALICE}"
    scene.cluster.request("PATCH", PLANS.path(scene.namespace, "nights"), {"spec": {"suspend": False}})
    generation = scene.one("HibernatePlan", "nights")["metadata"]["generation"]
    assert not await live(scene, name, tmp_path)
    after = scene.one("HibernatePlan", "nights")
    assert (after["metadata"]["generation"], after["spec"]["suspend"]) == (generation, False)
    assert answer(scene, name) == ("Done", "nights is suspended.")


async def test_an_operator_that_was_away_does_not_suspend_a_plan_and_the_request_goes_with_it(
    scene: PlanScene, tmp_path: Path
) -> None:
    scene.create(plan(noop("drill"), name="nights"))
    late = ManualClock(Instant.now().add(minutes=11).format_iso())
    name = ask(scene, "Suspend")
    assert not await live(scene, name, tmp_path, real=late)
    assert not scene.one("HibernatePlan", "nights")["spec"]["suspend"]
    assert answer(scene, name)[0] == "Refused"
    scene.cluster.kubectl("delete", "hplan", "nights", "-n", scene.namespace)
    await asyncio.to_thread(until, lambda: not scene.listed("PlanRequest"))
