"""However many exceptions somebody files, a change of one is a matter of the few that have a place."""

import asyncio
import json
from typing import Any

from hibernator.decisions.scheduleexception_line import MOST_OF_PLAN
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.plan_scenes import noop, plan

MANY = 120
LONG: dict[str, Any] = {
    "type": "extend",
    "validFrom": "2026-03-02T08:00:00Z",
    "validUntil": "2026-03-20T00:00:00Z",
    "windows": hours("08:00", "13:00", EVERY_DAY),
}


async def test_a_flood_of_exceptions_costs_each_change_little(scene: ExceptionScene) -> None:
    by = [f"flooder-{number}" for number in range(4)]
    flood = [exception(f"e{number:03}", by=by[number % 4], **LONG) for number in range(MANY)]
    scene.apply(plan(noop("nothing"), name="dev-plan"), plan(noop("nothing"), name="neighbour"), *flood)
    async with scene.operator() as run:
        states = _states(scene)
        assert sorted(states.values()).count("Active") == 1
        reasons = [one["status"]["conditions"][0]["reason"] for one in _all(scene)]
        assert reasons.count("QuotaExceeded") == MANY - MOST_OF_PLAN
        active = next(name for name, state in states.items() if state == "Active")
        before = run.looks("scheduleexception")
        _as(scene, active, "patch", "--type=merge", "-p", '{"spec":{"cancelled":true}}')
        await run.until(lambda: scene.state(active) == "Cancelled")
        await run.settle()
        looks = run.looks("scheduleexception") - before
        assert sorted(_states(scene).values()).count("Active") == 1
        assert looks < 3 * MOST_OF_PLAN
        await asyncio.to_thread(scene.apply, exception("quick", "neighbour", **LONG))
        await run.until(lambda: scene.state("quick") == "Active")


def _all(scene: ExceptionScene) -> list[dict[str, Any]]:
    out = scene.cluster.kubectl("get", "schedex", "-n", scene.namespace, "-o", "json").stdout
    return [one for one in json.loads(out)["items"] if one["metadata"]["name"].startswith("e")]


def _states(scene: ExceptionScene) -> dict[str, str]:
    return {one["metadata"]["name"]: one.get("status", {}).get("state", "") for one in _all(scene)}


def _as(scene: ExceptionScene, name: str, verb: str, *words: str) -> None:
    number = int(name[1:]) % 4
    scene.cluster.kubectl(
        *(verb, "schedex", name, "-n", scene.namespace, *words),
        as_user=f"flooder-{number}",
        as_groups=("system:masters",),
    )
