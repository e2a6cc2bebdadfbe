"""Holidays from ConfigMaps on the real control plane: what is read, when, and who has to wait for it."""

import asyncio
import json
from typing import Any

import msgspec

from hibernator.api.core import HOLIDAY_MAPS
from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.controllers import shared
from hibernator.controllers.daysoff_reader import DaysOffReader, calendar_child
from hibernator.controllers.shared import DaysOffBook
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.credentials import find
from hibernator.kube.metrics import API_REQUESTS, Metrics
from support.calendars import HARMLESS, HOSTILE
from support.clock import ManualClock
from support.heart import Heart
from support.operators import Running, running
from support.scaler_scenes import Scene, scaler, workload


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def with_holidays(name: str, source: str, target: str = "web") -> dict[str, Any]:
    block = {"mode": "treat-as-closed", "sourceRef": {"name": source}}
    return scaler(name, holidays=block, targetRef={"kind": "Deployment", "name": target})


def reads(run: Running) -> float:
    """How many ConfigMaps were read."""
    return run.metric(API_REQUESTS, "get", "configmaps", "200")


async def test_a_calendar_that_takes_for_ever_degrades_only_who_names_it(scene: Scene) -> None:
    scene.apply(
        workload(),
        workload(name="other"),
        scaler(),
        with_holidays("bad", "calendar", "other"),
        config_map("calendar", **{"team.ics": HOSTILE}),
    )
    heart = Heart()
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        async with heart.beating():
            await run.until(lambda: scene.condition("Degraded", "bad").get("status") == "True")
        await run.advance_to("2026-03-02T09:00:00Z")
        assert scene.replicas() == 4
        assert scene.replicas("other") == 4
    message = scene.condition("Degraded", "bad")["message"]
    assert 'ConfigMap calendar, data["team.ics"]: the calendar cannot be read' in message
    assert "begin in a recent year" in message
    assert scene.condition("Degraded")["status"] == "False"
    assert heart.longest < 1.0


async def test_a_scaler_whose_holidays_are_not_read_yet_waits_and_takes_no_holiday_for_a_workday(
    scene: Scene,
) -> None:
    today = config_map("calendar", **{"2026-03-02": "", "team.ics": HARMLESS})
    scene.apply(workload(replicas=1), with_holidays("hours", "calendar"), today)
    clock = ManualClock("2026-03-02T10:00:00Z")
    async with running(scene.cluster.kubeconfig, scene.namespace, clock) as run:
        await run.until(lambda: scene.status().get("effectiveReplicas") == 1)
    assert scene.writes().count(("deployments", "", "web")) == 1  # only who made it


async def test_many_who_name_the_same_calendar_cost_one_reading_and_a_change_one_more(scene: Scene) -> None:
    many = [with_holidays(f"hours-{number}", "calendar", f"web-{number}") for number in range(30)]
    scene.apply(*many, config_map("calendar", **{"team.ics": HARMLESS}))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.settle()
        assert reads(run) == 1
        scene.apply(config_map("calendar", **{"2026-03-02": ""}))
        await run.until(lambda: scene.status("hours-0").get("effectiveReplicas") == 1)
        await run.advance_to("2026-03-02T09:00:00Z")
        assert reads(run) == 2
        assert scene.status("hours-29")["effectiveReplicas"] == 1


async def test_only_config_maps_that_a_schedule_names_are_read(scene: Scene) -> None:
    others = [config_map(f"large-{number}", blob="x" * 10_000) for number in range(10)]
    scene.apply(workload(), with_holidays("hours", "calendar"), config_map("calendar"), *others)
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.settle()
        assert reads(run) == 1
        scene.apply(config_map("large-3", blob="y"))
        await run.settle()
        assert reads(run) == 1


async def test_a_namespace_rests_after_a_calendar_that_took_too_long(scene: Scene) -> None:
    scene.apply(
        with_holidays("one", "first", "web-1"),
        with_holidays("two", "second", "web-2"),
        config_map("first", **{"team.ics": HOSTILE}),
        config_map("second", **{"team.ics": HOSTILE}),
    )

    def degraded() -> int:
        return sum(scene.condition("Degraded", name).get("status") == "True" for name in ("one", "two"))

    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: degraded() == 1)
        assert reads(run) == 1
        await run.advance(30)
        await run.until(lambda: degraded() == 2)
        assert reads(run) == 2


async def test_a_config_map_that_holds_too_much_is_told_with_its_name(scene: Scene) -> None:
    scene.apply(workload(), with_holidays("hours", "calendar"))
    large = config_map("calendar", **{"team.ics": "x" * 300_000})
    scene.cluster.kubectl("create", "-n", scene.namespace, "-f", "-", input=json.dumps(large))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Degraded").get("status") == "True")
        message = scene.condition("Degraded")["message"]
        assert message.startswith("ConfigMap calendar, data: it holds 300008 characters")
        assert "Keep only the holidays of the next years in it." in message
        assert scene.condition("Ready")["status"] == "True"


async def test_the_calendar_of_a_neighbour_is_read_while_another_takes_for_ever(scene: Scene) -> None:
    loud, quiet = Key(scene.namespace, "loud"), Key(f"{scene.namespace}-quiet", "quiet")
    scene.cluster.kubectl("create", "namespace", quiet.namespace)
    scene.apply(config_map("loud", **{"team.ics": HOSTILE}))
    harmless = json.dumps(config_map("quiet", **{"team.ics": HARMLESS}))
    scene.cluster.kubectl("create", "-n", quiet.namespace, "-f", "-", input=harmless)
    book = DaysOffBook()
    read: list[Key] = []
    book.on_change(read.append)
    credentials = find(str(scene.cluster.kubeconfig))
    async with Client(credentials) as client, calendar_child() as one, calendar_child() as other:
        caches = Caches(client, Metrics())
        maps, scalers = caches.of(HOLIDAY_MAPS), shared.scalers(caches)
        for key in (loud, quiet):
            maps.saw(await client.get(HOLIDAY_MAPS, key.name, key.namespace))
            scalers.saw(_named(key))
        reader = DaysOffReader(client, maps, (scalers,), book, (one, other), ManualClock())
        async with asyncio.TaskGroup() as workers:
            for key in (loud, quiet):
                workers.create_task(reader.reconcile(key))
    assert read == [quiet, loud]


def _named(key: Key) -> TimeWindowScaler:
    document = with_holidays("hours", key.name)
    document["metadata"] |= {"namespace": key.namespace, "uid": key.name, "resourceVersion": "1"}
    return msgspec.convert(document, SCALERS.type)
