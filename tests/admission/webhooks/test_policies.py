"""An ExceptionPolicy in a cluster with the shipped roles: what the requester can do about it."""

import asyncio
from typing import Any

from admission.exception_shapes import PLAIN
from support.operators import Running
from support.policed import ALICE, BOB, CAROL, MALLORY, Room, wish, yes

SHORT = PLAIN | {"validUntil": "2026-03-03T08:00:00Z"}
POLICY: dict[str, Any] = {
    "apiVersion": "hibernator.ardikabs.com/v1alpha1",
    "kind": "ExceptionPolicy",
    "metadata": {"name": "four-eyes"},
    "spec": {
        "message": "Carol owns this plan.",
        "require": {"emails": [CAROL]},
        "limits": {"maxDuration": "24h", "maxActivePerWeek": 1},
        "channels": ["kubectl"],
    },
}


def status(room: Room, name: str) -> dict[str, Any]:
    found: dict[str, Any] = room.get(name).get("status", {})
    return found


async def approve(room: Room, name: str, by: str, channel: str) -> None:
    entry = yes(room, name, by, channel=channel)
    await asyncio.to_thread(room(by).patch, name, {"status": {"approvals": [entry]}}, status=True)


async def test_the_requester_cannot_get_around_the_policy_of_the_plans_owner(room: Room, up: Running) -> None:
    assert "forbidden" in await room(MALLORY).refused("create", POLICY)
    await asyncio.to_thread(room(ALICE).create, POLICY)

    long = await room(MALLORY).refused("create", wish("long", MALLORY, **PLAIN))
    assert "ExceptionPolicy four-eyes: Carol owns this plan. It lasts 424h, and the limit is 24h" in long

    await asyncio.to_thread(room(MALLORY).create, wish("short", MALLORY, **SHORT))
    await up.until(lambda: bool(status(room, "short").get("requiredApprovals")))
    assert status(room, "short")["requiredApprovals"] == [
        {"status": "pending", "email": CAROL, "policy": "four-eyes", "needed": 1}
    ]
    longer = {"spec": {"validUntil": "2026-03-20T00:00:00Z"}}
    assert "The spec is frozen" in await room(MALLORY).refused("patch", "short", longer)
    relabel = ("label", "hplan", "dev-plan", "tier=none")
    assert "forbidden" in await room(MALLORY).refused("kubectl", *relabel)

    second = await room(MALLORY).refused("create", wish("second", MALLORY, **SHORT))
    assert "exception 2 of this plan within seven days, and the limit is 1" in second

    await approve(room, "short", BOB, "kubectl")
    await up.until(lambda: any(one["action"] == "refused" for one in status(room, "short")["history"]))
    entry = yes(room, "short", CAROL, channel="api")
    by_api = {"status": {"approvals": [*status(room, "short")["approvals"], entry]}}
    assert "count kubectl" in await room(CAROL).refused("patch", "short", by_api, status=True)
    by_hand = {"status": {"approvals": [*status(room, "short")["approvals"], entry | {"channel": "kubectl"}]}}
    await asyncio.to_thread(room(CAROL).patch, "short", by_hand, status=True)
    await up.until(lambda: status(room, "short").get("state") == "Active")

    def remembered() -> list[str]:
        return [one["name"] for one in room.get("dev-plan", "hplan")["status"].get("recentExceptions", [])]

    await up.until(lambda: remembered() == ["short"])
