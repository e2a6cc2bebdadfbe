"""Plain manifests and bare patches get through: what they leave out is noted down, and put back."""

import asyncio
from typing import Any

import pytest

from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, REQUESTER_CLAIMS, REQUESTER_GROUPS
from support.operators import Running
from support.policed import ALICE, BOB, MALLORY, Room, Somebody, wish, yes


async def asked(run: Running, who: Somebody, document: dict[str, Any]) -> str:
    """The name of an exception that the operator has seen, label and finalizer included."""
    name, room = str(document["metadata"]["name"]), who.room
    await asyncio.to_thread(who.create, document)
    await run.until(lambda: room.get(name).get("status", {}).get("state"))
    await run.settle()  # so that nobody writes between a look and a replace
    return name


def stamps(room: Room, name: str) -> dict[str, Any]:
    metadata = room.get(name)["metadata"]
    return {
        "by": metadata["annotations"][REQUESTED_BY],
        "claims": metadata["annotations"].get(REQUESTER_CLAIMS, ""),
        "plan": metadata["labels"][PLAN_LABEL],
        "finalizers": metadata["finalizers"],
    }


async def test_who_asks_is_noted_down_with_the_addresses_of_their_log_in(room: Room, up: Running) -> None:
    alice = room(ALICE, "on-call", "night shift", mail="a@x.example", upn="b@x.example", team="shop")
    name = await asked(up, alice, wish("noted", None))
    found = stamps(room, name)
    assert (found["by"], set(found["claims"].splitlines())) == (
        ALICE,
        {"mail=a@x.example", "upn=b@x.example"},
    )
    assert room.get(name)["metadata"]["annotations"][REQUESTER_GROUPS] == "on-call\nnight shift"
    named = await asked(up, room(ALICE, mail="a@x.example"), wish("named", ALICE))
    assert stamps(room, named)["claims"] == "mail=a@x.example"
    forged = wish("forged", None, claims="mail=bob@company.com")
    assert "must have the addresses that your log-in brings" in await alice.refused("create", forged)


@pytest.mark.parametrize("how", ["replace", "apply", "server-side", "edit"])
async def test_a_plain_manifest_loses_nothing_that_was_stamped(room: Room, up: Running, how: str) -> None:
    alice = room(ALICE, mail="a@x.example")
    plain = wish(f"plain-{how}", None, draft=True)
    name = await asked(up, alice, plain)
    before = stamps(room, name)
    assert before == {
        "by": ALICE,
        "claims": "mail=a@x.example",
        "plan": "dev-plan",
        "finalizers": [FINALIZER],
    }
    changed = wish(name, None, draft=True, reason="changed")
    commands = {
        "replace": ("replace", "-f", "-"),
        "apply": ("apply", "--force", "-f", "-"),
        "server-side": ("apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-"),
    }
    if how == "edit":  # everything that is not theirs is taken out by hand
        empty: dict[str, Any] = {"metadata": {"finalizers": None, "labels": None, "annotations": None}}
        await asyncio.to_thread(alice.patch, name, empty | {"spec": {"reason": "changed"}})
    else:
        await asyncio.to_thread(alice.kubectl, *commands[how], document=changed)
    assert (stamps(room, name), room.get(name)["spec"]["reason"]) == (before, "changed")


async def test_to_replace_is_not_to_take_over(room: Room, up: Running) -> None:
    name = await asked(up, room(ALICE), wish("taken", None, draft=True))
    theirs = wish(name, None, draft=True, approverEmails=[MALLORY])
    said = await room(MALLORY).refused("kubectl", "replace", "-f", "-", document=theirs)
    assert f"Only {ALICE}, who asked for this exception, may change, submit or cancel it" in said
    mine = wish(name, MALLORY, draft=True)
    said = await room(MALLORY).refused("kubectl", "replace", "-f", "-", document=mine)
    assert "says who asked for this, and never changes" in said


async def test_replace_with_force_makes_another_exception(room: Room, up: Running) -> None:
    name = await asked(up, room(ALICE), wish("forced", None))
    old = room.get(name)["metadata"]["uid"]
    replacing = ("replace", "--force", "-f", "-")
    await asyncio.to_thread(room(ALICE).kubectl, *replacing, document=wish(name, None, reason="again"))
    await up.until(lambda: room.get(name).get("status", {}).get("state") == "Pending")
    assert (room.get(name)["metadata"]["uid"] != old, stamps(room, name)["by"]) == (True, ALICE)


async def test_a_bare_patch_counts_for_the_role_of_a_group(room: Room, up: Running) -> None:
    asking = wish("bare", None, approverEmails=[], approvalRequiredRoles=["on-call"])
    name = await asked(up, room(ALICE), asking)
    bob = room(BOB, "on-call", "system:authenticated", mail="b@x.example")
    await asyncio.to_thread(bob.patch, name, {"status": {"approvals": [yes(room, name)]}}, status=True)
    [stored] = room.get(name)["status"]["approvals"]
    assert (stored["groups"], stored["extra"]) == (["on-call"], {"mail": "b@x.example"})
    await up.until(lambda: room.get(name)["status"]["approvalState"] == "Approved")
    await asyncio.to_thread(room(ALICE).kubectl, "delete", "schedex", name)


async def test_a_bare_rejection_is_signed_too(room: Room, up: Running) -> None:
    asking = wish("no", None, approverEmails=[], approvalRequiredRoles=["on-call"])
    name = await asked(up, room(ALICE), asking)
    entry = {"rejectedBy": BOB, "rejectedAt": "2026-03-02T09:00:00Z"}
    change = [{"op": "add", "path": "/status/rejections", "value": [entry]}]
    await asyncio.to_thread(room(BOB, "on-call").patch, name, change, status=True, kind="json")
    await up.until(lambda: room.get(name)["status"]["state"] == "Rejected")
    assert room.get(name)["status"]["rejections"][0]["groups"] == ["on-call"]
