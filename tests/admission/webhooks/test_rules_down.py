"""The nine rules of exceptions while the webhook is registered and nobody answers it."""

import asyncio
from typing import Any

import pytest

from admission.exception_shapes import PLAIN, SHAPES
from admission.operating import operating
from hibernator.controlplane.cluster import KubectlError
from support.policed import ALICE, Room, wish


@pytest.fixture(scope="module")
async def down(room: Room) -> Room:
    """The operator was there and has registered its webhooks, and is gone."""
    async with operating(room):
        pass
    return room


async def refused(room: Room, document: dict[str, Any]) -> str:
    return await room(ALICE).refused("create", document)


async def test_what_is_wrong_already_can_still_be_labelled_and_removed(down: Room) -> None:
    """Only new wishes are looked at, or nobody could clean up."""
    wrong = {"spec": {"schedule": {"timezone": "Mars/Olympus"}}}
    await asyncio.to_thread(down(ALICE).create, _plan("old"))
    await asyncio.to_thread(down(ALICE).patch, "old", wrong, of="hplan")  # nobody of ours is there to mind
    async with operating(down):
        label = {"metadata": {"labels": {"seen": "yes"}}}
        await asyncio.to_thread(down(ALICE).patch, "old", label, of="hplan")
        await asyncio.to_thread(down(ALICE).kubectl, "delete", "hplan", "old")


async def test_while_the_webhook_is_down_the_operator_says_it_later(down: Room) -> None:
    """Rules 1 and 3 need a look-up, so they slip through; whoever comes next keeps them."""
    down(ALICE).create(wish("planless", planRef={"name": "no-plan"}, **PLAIN))
    down(ALICE).create(wish("one", planRef={"name": "other-plan"}, **PLAIN))
    down(ALICE).create(wish("two", planRef={"name": "other-plan"}, **PLAIN))
    down(ALICE).create(_plan("other-plan"))
    async with operating(down) as run:
        await run.settle()
        messages = {name: down.get(name)["status"]["message"] for name in ("planless", "one", "two")}
    assert "HibernatePlan no-plan does not exist, so this exception has no effect" in messages["planless"]
    waiting = "Plan other-plan already has active exception {} (expires at 2026-03-20T00:00:00Z)"
    assert {waiting.format("one"), waiting.format("two")} & set(messages.values())


@pytest.mark.parametrize("rule", SHAPES)
async def test_while_the_webhook_is_down_rules_4_to_8_hold(down: Room, rule: str) -> None:
    spec, words = SHAPES[rule]
    assert words in await refused(down, wish("shape", **PLAIN | spec))


async def test_while_the_webhook_is_down_rules_2_and_9_hold(down: Room) -> None:
    far = wish("far", planRef={"name": "dev-plan", "namespace": "default"}, **PLAIN)
    assert "spec.planRef.namespace must be the exception's own namespace" in await refused(down, far)
    down(ALICE).create(wish("again", draft=True))
    with pytest.raises(KubectlError, match="already exists"):
        down(ALICE).create(wish("again", draft=True))


async def test_while_the_webhook_is_down_people_write_their_own_names(down: Room) -> None:
    assert f"requested-by: {ALICE}" in await refused(down, wish("silent", None))
    down(ALICE).create(wish("named", ALICE))


def _plan(name: str) -> dict[str, Any]:
    window = {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON"]}
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "HibernatePlan",
        "metadata": {"name": name},
        "spec": {
            "schedule": {"timezone": "UTC", "offHours": [window]},
            "targets": [{"name": "nothing", "type": "noop", "parameters": {}}],
        },
    }
