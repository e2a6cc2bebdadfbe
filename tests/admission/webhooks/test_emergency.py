"""Several exceptions of one plan, as people ask for them while the webhook answers."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from hibernator.decisions import scheduleexception_line
from hibernator.kube import clustertime
from support.command import Ran, hibernator
from support.operators import Running
from support.plan_scenes import noop, plan
from support.policed import ALICE, MALLORY, Room, wish

ALL_WEEK = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]


@pytest.fixture(autouse=True)
def _quiet(up: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The operator runs in this process, and commands go by its clock."""
    monkeypatch.setattr(clustertime, "now", lambda _kubeconfig: up.clock.now())
    with capture_logs():
        yield


def asking(name: str, of: str, start: str, end: str, **spec: Any) -> dict[str, Any]:
    windows = [{"start": start, "end": end, "daysOfWeek": ALL_WEEK}]
    plain: dict[str, Any] = {"approvalRequired": False, "approverEmails": []}
    return wish(name, None, planRef={"name": of}, windows=windows, **plain | spec)


def is_active(room: Room, name: str) -> bool:
    return bool(room.get(name).get("status", {}).get("state") == "Active")


async def filed(room: Room, up: Running, *documents: dict[str, Any]) -> None:
    for document in documents:
        await asyncio.to_thread(room(ALICE).create, document)
        await up.until(partial(is_active, room, document["metadata"]["name"]))


async def wake(room: Room, folder: Path, name: str, length: str) -> Ran:
    given = (f"--kubeconfig={room.kubeconfig(ALICE, folder)}", "-n", room.namespace)
    return await asyncio.to_thread(hibernator, "plan", "wake", name, "--for", length, *given)


async def test_an_emergency_works_beside_what_is_in_force_for_tonight(
    room: Room, up: Running, tmp_path: Path
) -> None:
    room(ALICE).create(plan(noop("nothing"), name="tonight-plan"))
    await filed(room, up, asking("tonight", "tonight-plan", "20:00", "22:00"))
    done = await wake(room, tmp_path, "tonight-plan", "2h")
    assert done.code == 0, done.err
    await up.until(lambda: len(room.get("tonight-plan", "hplan")["status"]["activeExceptions"]) == 2)
    status = room.get("tonight-plan", "hplan")["status"]
    assert {one["state"] for one in status["activeExceptions"]} == {"Active"}


async def test_an_emergency_over_another_exception_says_what_to_cancel(
    room: Room, up: Running, tmp_path: Path
) -> None:
    room(ALICE).create(plan(noop("nothing"), name="day-plan"))
    await filed(room, up, asking("all-day", "day-plan", "00:00", "23:59"))
    done = await wake(room, tmp_path, "day-plan", "2h")
    assert done.code == 7
    assert "Plan day-plan already has active exception all-day (expires at 2026-03-20T00:00:00Z)" in done.err
    assert f"run `hibernator exception cancel all-day -n {room.namespace}`" in done.err


async def test_a_change_into_the_times_of_another_is_refused(room: Room, up: Running) -> None:
    room(ALICE).create(plan(noop("nothing"), name="two-plan"))
    await filed(
        room, up, asking("one", "two-plan", "10:00", "11:00"), asking("two", "two-plan", "12:00", "13:00")
    )
    windows = [{"start": "10:30", "end": "12:30", "daysOfWeek": ["TUE"]}]
    said = await room(ALICE).refused("patch", "two", {"spec": {"windows": windows}})
    assert "Both have 2026-03-03T10:30:00Z in a window" in said


async def test_one_too_many_is_refused_with_the_limit_and_the_fix(
    room: Room, up: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduleexception_line, "MOST_OF_REQUESTER", 2)
    monkeypatch.setattr(scheduleexception_line, "MOST_OF_PLAN", 3)
    room(ALICE).create(plan(noop("nothing"), name="full-plan"))
    await filed(
        room, up, asking("f1", "full-plan", "01:00", "02:00"), asking("f2", "full-plan", "03:00", "04:00")
    )
    third = asking("f3", "full-plan", "05:00", "06:00", draft=True)
    said = await room(ALICE).refused("create", third)
    fix = "Cancel or delete one of them, or wait until one is over."
    limit = f"{ALICE} has 2 open exceptions of plan full-plan, the limit for one requester."
    assert f"{limit} {fix}" in said
    await asyncio.to_thread(room(MALLORY).create, third)
    await up.until(lambda: room.get("f3").get("status", {}).get("state") == "Draft")
    said = await room(MALLORY).refused("create", asking("f4", "full-plan", "07:00", "08:00"))
    assert f"Plan full-plan has 3 open exceptions, the limit for one plan. {fix}" in said
    await asyncio.to_thread(room(ALICE).patch, "f1", {"spec": {"cancelled": True}})
    await up.until(lambda: room.get("f1")["status"]["state"] == "Cancelled")
    await asyncio.to_thread(room(MALLORY).create, asking("f4", "full-plan", "07:00", "08:00"))
