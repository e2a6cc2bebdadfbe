"""Who asks is who asks: what the API server lets people write of a request, while no process of ours runs."""

from typing import Any

import pytest

from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, REQUESTER_CLAIMS, REQUESTER_GROUPS
from support.policed import ALICE, BOB, MALLORY, Room, wish


async def test_people_ask_in_their_own_name(room: Room) -> None:
    room(ALICE).create(wish("own-name"))
    assert room.get("own-name")["metadata"]["annotations"][REQUESTED_BY] == ALICE


@pytest.mark.parametrize("name", [BOB, "ALICE@company.com", "alice+x@company.com", "system:masters"])
async def test_no_one_asks_in_another_name(room: Room, name: str) -> None:
    said = await room(ALICE).refused("create", wish("forged", name))
    assert "(Forbidden)" in said
    assert f"is {name}, and you are {ALICE}: write your own name, or leave it out" in said


async def test_who_cannot_be_named_by_the_webhook_is_told_how_to_do_it(room: Room) -> None:
    said = await room(ALICE).refused("create", wish("nameless", None))
    assert "The requester is unknown: the webhook that records it does not answer" in said
    assert f"Add the annotation {REQUESTED_BY}: {ALICE}, or use `hibernator exception create`" in said


async def test_what_no_one_has_to_approve_needs_no_name(room: Room) -> None:
    room(ALICE).create(wish("plain", None, approvalRequired=False, approverEmails=[]))
    said = await room(MALLORY).refused(
        "patch", "plain", {"spec": {"approvalRequired": True, "approverEmails": [BOB]}}
    )
    assert "The requester is unknown" in said


@pytest.mark.parametrize("change", [{REQUESTED_BY: BOB}, {REQUESTED_BY: MALLORY}, {REQUESTED_BY: None}])
@pytest.mark.parametrize("user", [ALICE, MALLORY])
async def test_who_asked_never_changes(room: Room, change: dict[str, Any], user: str) -> None:
    _ensure(room, wish("stays"))
    said = await room(user).refused("patch", "stays", {"metadata": {"annotations": change}})
    assert "says who asked for this, and never changes" in said


@pytest.mark.parametrize(
    "claims", ["", "mail=bob@company.com", "mail=a@x.example\nupn=b@x.example", "a@x.example"]
)
async def test_who_asks_says_all_addresses_of_their_log_in_and_no_other(room: Room, claims: str) -> None:
    """Else they could approve their own request under another log-in that has the same one."""
    alice = room(ALICE, mail="a@x.example", **{"example.com/team": "no address"})
    said = await alice.refused("create", wish("unclaimed", claims=claims))
    assert "(Forbidden)" in said
    assert f"The annotation {REQUESTER_CLAIMS} must have the addresses that your log-in brings" in said
    assert "Write, each on a line, mail=a@x.example, or use `hibernator exception create`" in said


async def test_who_has_no_address_claims_none(room: Room) -> None:
    said = await room(ALICE, team="shop").refused("create", wish("claimed", claims="mail=bob@company.com"))
    assert f"Your log-in brings no address: leave the annotation {REQUESTER_CLAIMS} out" in said


@pytest.mark.parametrize("claims", ["mail=a@x.example\nupn=b@x.example", "upn=b@x.example\nmail=a@x.example"])
async def test_what_is_known_of_who_asks_never_changes(room: Room, claims: str) -> None:
    name = f"claims-{claims[0]}"
    alice = room(ALICE, mail="a@x.example", upn="b@x.example")
    alice.create(wish(name, claims=claims, draft=True))
    for user in (alice, room(ALICE), room(MALLORY)):
        for change in ({REQUESTER_CLAIMS: "mail=bob@company.com"}, {REQUESTER_CLAIMS: None}):
            said = await user.refused("patch", name, {"metadata": {"annotations": change}})
            assert f"The annotation {REQUESTER_CLAIMS} says who asked for this, and never changes" in said
    room(ALICE).patch(name, {"spec": {"draft": False}})  # from another log-in of the same name


@pytest.mark.parametrize("groups", ["on-call", "shop\non-call", "system:authenticated"])
async def test_no_one_claims_a_group_that_is_not_theirs_to_ask_in(room: Room, groups: str) -> None:
    """Else nobody would have to agree, where a policy relieves those on call."""
    alice, document = room(ALICE, "shop"), wish("grouped")
    forged = wish("grouped")
    forged["metadata"]["annotations"][REQUESTER_GROUPS] = groups
    assert f"{REQUESTER_GROUPS} must have groups of the requester" in await alice.refused("create", forged)
    unsigned = wish("grouped", None, approvalRequired=False, approverEmails=[])
    unsigned["metadata"]["annotations"] = {REQUESTER_GROUPS: "shop"}
    assert "must have groups of the requester" in await alice.refused("create", unsigned)
    document["metadata"]["annotations"][REQUESTER_GROUPS] = "shop"
    alice.create(document)
    for change in ({REQUESTER_GROUPS: groups}, {REQUESTER_GROUPS: None}):
        said = await room(ALICE, "on-call").refused("patch", "grouped", {"metadata": {"annotations": change}})
        assert "and never changes" in said
    room(ALICE).kubectl("delete", "schedex", "grouped")


async def test_who_makes_a_request_of_no_ones_exception_says_who_they_are(room: Room) -> None:
    _ensure(room, wish("nobodys", None, approvalRequired=False, approverEmails=[]))
    turned: dict[str, Any] = {"spec": {"approvalRequired": True, "approverEmails": [BOB]}}
    mallory = room(MALLORY, mail="m@x.example")
    named = turned | {"metadata": {"annotations": {REQUESTED_BY: MALLORY}}}
    assert "mail=m@x.example" in await mallory.refused("patch", "nobodys", named)
    notes = {REQUESTED_BY: MALLORY, REQUESTER_CLAIMS: "mail=m@x.example"}
    mallory.patch("nobodys", turned | {"metadata": {"annotations": notes}})


@pytest.mark.parametrize("name", ["draft", "draft-under-a-policy"])
@pytest.mark.parametrize(
    "change",
    [
        {"draft": False},
        {"validUntil": "2026-04-01T00:00:00Z"},
        {"approverEmails": [MALLORY]},
        {"approvalRequired": False, "approverEmails": []},
        {"cancelled": True},
    ],
)
async def test_no_one_changes_or_submits_the_draft_of_another(
    room: Room, change: dict[str, Any], name: str
) -> None:
    """Else one could put one's own wish into it, and approve it as if somebody else had asked.

    Also where only a policy will ask for approval: it does once the draft is submitted.
    """
    _ensure(room, wish(name, draft=True, approvalRequired=name == "draft"))
    said = await room(MALLORY).refused("patch", name, {"spec": change})
    assert f"Only {ALICE}, who asked for this exception, may change, submit or cancel it" in said


async def test_no_one_makes_a_request_of_what_another_wrote(room: Room) -> None:
    _ensure(room, wish("written", approvalRequired=False, approverEmails=[]))
    turned = {"spec": {"approvalRequired": True, "approverEmails": [MALLORY]}}
    assert f"Only {ALICE}" in await room(MALLORY).refused("patch", "written", turned)


async def test_no_one_puts_a_wish_of_their_own_into_what_another_asked_for(room: Room) -> None:
    """Of what no one had to approve so far, a policy may ask for approval as soon as it reads otherwise."""
    _ensure(room, wish("short", approvalRequired=False, approverEmails=[]))
    change = {"spec": {"validUntil": "2026-05-01T00:00:00Z"}}
    assert f"Only {ALICE}, who asked" in await room(MALLORY).refused("patch", "short", change)
    room(ALICE).patch("short", change)


async def test_the_requester_may_change_a_draft_and_nothing_after_it(room: Room) -> None:
    _ensure(room, wish("mine", draft=True))
    alice = room(ALICE)
    alice.patch("mine", {"spec": {"validUntil": "2026-03-25T00:00:00Z"}})
    alice.patch("mine", {"spec": {"draft": False}})
    said = await alice.refused("patch", "mine", {"spec": {"validUntil": "2026-03-26T00:00:00Z"}})
    assert "The spec is frozen once it was submitted for approval" in said
    alice.patch("mine", {"spec": {"cancelled": True}})


async def test_only_the_requester_cancels(room: Room) -> None:
    _ensure(room, wish("running", approvalRequired=False, approverEmails=[]))
    said = await room(MALLORY).refused("patch", "running", {"spec": {"cancelled": True}})
    assert f"Only {ALICE}, who asked for this exception, may change, submit or cancel it" in said
    room(ALICE).patch("running", {"spec": {"cancelled": True}})


async def test_a_label_cannot_point_at_another_plan(room: Room) -> None:
    lying = wish("labelled")
    lying["metadata"]["labels"] = {PLAN_LABEL: "other-plan"}
    assert f"The label {PLAN_LABEL} is set by the operator" in await room(ALICE).refused("create", lying)
    _ensure(room, wish("unlabelled"))
    change = {"metadata": {"labels": {PLAN_LABEL: "other-plan"}}}
    assert "leave it out" in await room(ALICE).refused("patch", "unlabelled", change)


async def test_the_finalizer_is_removed_by_the_operator_or_by_who_may(room: Room) -> None:
    _ensure(room, wish("held"))
    room.operator.patch("held", {"metadata": {"finalizers": [FINALIZER]}})
    said = await room(ALICE).refused("patch", "held", {"metadata": {"finalizers": None}})
    assert f"The finalizer {FINALIZER} is for the operator to remove" in said
    assert "does not answer: write it, or use `kubectl apply`" in said
    room.cluster.kubectl("patch", "schedex", "held", "-n", room.namespace, "--type=merge", "-p", _FREE)
    assert "finalizers" not in room.get("held")["metadata"]


async def test_a_plain_manifest_in_place_of_everything_is_told_what_to_do(room: Room) -> None:
    """Where the webhook answers, it is put back, and nobody is told anything."""
    _ensure(room, wish("whole"))
    room.operator.patch("whole", {"metadata": {"finalizers": [FINALIZER]}})
    plain = wish("whole", None)
    said = await room(ALICE).refused("kubectl", "replace", "-f", "-", document=plain)
    assert (
        f"The annotation {REQUESTED_BY} says who asked for this, and never changes; the webhook that puts"
        in said
    )
    room(ALICE).kubectl("apply", "-f", "-", document=plain)
    metadata = room.get("whole")["metadata"]
    assert (metadata["finalizers"], metadata["annotations"][REQUESTED_BY]) == ([FINALIZER], ALICE)


_FREE = '{"metadata":{"finalizers":null}}'


async def test_the_plan_is_in_the_same_namespace(room: Room) -> None:
    said = await room(ALICE).refused(
        "create", wish("far", planRef={"name": "dev-plan", "namespace": "default"})
    )
    assert "spec.planRef.namespace must be the exception's own namespace: leave it out" in said
    room(ALICE).create(wish("near", planRef={"name": "dev-plan", "namespace": room.namespace}))


@pytest.mark.parametrize("letter", ["\u200b", "\u202e", "\ufeff", "\x07", "\u00ad"])
async def test_no_one_is_asked_under_a_name_with_letters_that_are_not_seen(room: Room, letter: str) -> None:
    """To whoever looks, `bob` with a space of no width is Bob."""
    unseen: tuple[dict[str, Any], ...] = (
        {"approverEmails": [f"bob{letter}@company.com"]},
        {"approvalRequiredRoles": [f"lead{letter}"]},
    )
    for people in unseen:
        said = await room(ALICE).refused("create", wish("unseen", **people))
        assert "have invisible characters, so that one would be taken for another" in said
    room(ALICE).kubectl(
        "create", "--dry-run=server", "-f", "-", document=wish("seen", approverEmails=["jürgen@company.com"])
    )


async def test_nothing_is_agreed_to_before_it_exists(room: Room) -> None:
    room(ALICE).create(wish("prefilled") | {"status": {"state": "Active", "approvalState": "Approved"}})
    assert "status" not in room.get("prefilled")


async def test_metadata_that_is_no_ones_business_may_change(room: Room) -> None:
    _ensure(room, wish("noted"))
    room(MALLORY).patch("noted", {"metadata": {"annotations": {"example.com/note": "seen"}}})


def _ensure(room: Room, document: dict[str, Any]) -> None:
    """Made by Alice, by the first of several cases that need it."""
    found = room.cluster.kubectl("get", "schedex", "-n", room.namespace, "-o", "name").stdout
    if f"/{document['metadata']['name']}\n" not in found:
        room(ALICE).create(document)
