"""A decision is added in one's own name or not at all: attacks on approvals while nothing of ours runs."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from hibernator.controlplane.cluster import KubectlError
from support.policed import ALICE, BOB, CAROL, DAVE, MALLORY, Room, Somebody, wish, yes

_names = (f"asked-{number}" for number in itertools.count())
NOT_YOURS = "You are {}: decide in your own name only"
NOT_PEOPLES = "Only the operator writes this status"
AT = "2026-03-02T09:00:00Z"


@pytest.fixture
def asked(room: Room) -> str:
    """The name of a request of Alice that waits for Bob and Carol, as the operator has noted down."""
    name = next(_names)
    room(ALICE).create(wish(name))
    requested = {"action": "requested", "actor": ALICE, "timestamp": "2026-03-02T08:00:00Z"}
    status = {"state": "Pending", "approvalState": "Pending", "requestedBy": ALICE, "history": [requested]}
    room.operator.patch(name, {"status": status}, status=True)
    return name


def no(by: str = BOB, **more: Any) -> dict[str, Any]:
    return {"rejectedBy": by, "rejectedAt": AT} | more


def merged(who: Somebody, name: str, entry: dict[str, Any]) -> None:
    who.patch(name, {"status": {"approvals": [entry]}}, status=True)


def added(who: Somebody, name: str, entry: dict[str, Any]) -> None:
    change = [{"op": "add", "path": "/status/approvals", "value": [entry]}]
    who.patch(name, change, status=True, kind="json")


def replaced(who: Somebody, name: str, entry: dict[str, Any]) -> None:
    document = json.loads(who.kubectl("get", "schedex", name, "-o", "json"))
    document["status"]["approvals"] = [entry]
    who.kubectl("replace", "--subresource=status", "-f", "-", document=document)


def applied(who: Somebody, name: str, entry: dict[str, Any]) -> None:
    document = {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": name},
        "status": {"approvals": [entry]},
    }
    who.kubectl("apply", "--server-side", "--subresource=status", "-f", "-", document=document)


Way = Callable[[Somebody, str, dict[str, Any]], None]
WAYS = (merged, added, replaced, applied)


@pytest.mark.parametrize("way", WAYS)
async def test_an_approver_approves_in_their_own_name_by_any_way_of_writing(
    room: Room, asked: str, way: Way
) -> None:
    scribe = room(BOB)
    if way is replaced:  # needs update, which approvers do not have: they may only add
        with pytest.raises(KubectlError, match="cannot update resource"):
            way(scribe, asked, yes(room, asked))
        return
    way(scribe, asked, yes(room, asked))
    assert [entry["approvedBy"] for entry in room.get(asked)["status"]["approvals"]] == [BOB]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("user", [DAVE, "hibernator-admin"])
async def test_no_one_approves_in_the_name_of_another_by_any_way_of_writing(
    room: Room, asked: str, way: Way, user: str
) -> None:
    who = room("" if user == "hibernator-admin" else user)  # the admin of the cluster is nobody special here
    with pytest.raises(KubectlError, match=NOT_YOURS.format(user)):
        way(who, asked, yes(room, asked))
    assert "approvals" not in room.get(asked)["status"]


@pytest.mark.parametrize("name", ["BOB@company.com", "bob+ops@company.com", "bob@company.com ", "bob", CAROL])
async def test_a_name_that_is_nearly_ones_own_is_another(room: Room, asked: str, name: str) -> None:
    change = {"status": {"approvals": [yes(room, asked, name)]}}
    assert NOT_YOURS.format(BOB) in await room(BOB).refused("patch", asked, change, status=True)
    change = {"status": {"rejections": [no(name)]}}
    assert NOT_YOURS.format(BOB) in await room(BOB).refused("patch", asked, change, status=True)


async def test_to_write_the_status_is_not_to_approve(room: Room, asked: str) -> None:
    change = {"status": {"approvals": [yes(room, asked, DAVE)]}}
    said = await room(DAVE).refused("patch", asked, change, status=True)
    wanted = (
        f"{DAVE} may not approve or reject here: ask for the ClusterRole hibernator-approver in the namespace"
    )
    assert f"{wanted} {room.namespace}" in said


async def test_to_ask_is_not_to_write_the_status(room: Room, asked: str) -> None:
    said = await room(ALICE).refused("patch", asked, {"status": {"approvals": []}}, status=True)
    assert 'resource "scheduleexceptions/status"' in said


async def test_an_impersonator_needs_the_right_to_impersonate(room: Room, asked: str) -> None:
    """Bob's own token, with Carol's name on the request."""
    room.cluster.kubectl("create", "serviceaccount", f"bot-{asked}", "-n", room.namespace)
    token = room.cluster.kubectl("create", "token", f"bot-{asked}", "-n", room.namespace).stdout.strip()
    own = (f"--token={token}", f"--server={room.cluster.url}", f"--certificate-authority={room.cluster.ca}")
    change = json.dumps({"status": {"approvals": [yes(room, asked, CAROL)]}})
    arguments = (
        "patch",
        "schedex",
        asked,
        "-n",
        room.namespace,
        "--type=merge",
        "--subresource=status",
        "-p",
        change,
    )
    with pytest.raises(KubectlError, match="cannot impersonate"):
        room.cluster.kubectl("--kubeconfig=/dev/null", *own, *arguments, as_user=CAROL)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "Active"},
        {"approvalState": "Approved"},
        {"requestedBy": MALLORY},
        {"requestedAt": "2020-01-01T00:00:00Z"},
        {"history": []},
        {"history": [{"action": "approved", "actor": BOB, "timestamp": AT}]},
        {"requiredApprovals": [{"email": BOB, "status": "approved"}]},
        {"conditions": [{"type": "Ready", "status": "True", "reason": "Active", "lastTransitionTime": AT}]},
        {"message": "all is well"},
    ],
)
async def test_no_one_but_the_operator_writes_what_follows_from_decisions(
    room: Room, asked: str, change: dict[str, Any]
) -> None:
    assert NOT_PEOPLES in await room(BOB).refused("patch", asked, {"status": change}, status=True)
    hidden = {"status": change | {"approvals": [yes(room, asked)]}}
    assert NOT_PEOPLES in await room(BOB).refused("patch", asked, hidden, status=True)


async def test_no_one_wipes_a_status(room: Room, asked: str) -> None:
    whole = [{"op": "remove", "path": "/status"}]
    assert NOT_PEOPLES in await room(CAROL).refused("patch", asked, whole, status=True, kind="json")


async def test_a_decision_is_final(room: Room, asked: str) -> None:
    merged(room(BOB), asked, yes(room, asked))
    for entries in ([], None, [yes(room, asked, reason="on second thought")]):
        said = await room(BOB).refused("patch", asked, {"status": {"approvals": entries}}, status=True)
        assert "neither changed nor taken back" in said or "You have approved this already" in said
    said = await room(BOB).refused("patch", asked, {"status": {"rejections": [no()]}}, status=True)
    assert "You have approved this already, and that is final" in said
    removed = [{"op": "remove", "path": "/status/approvals/0"}]
    assert "neither" in await room(CAROL).refused("patch", asked, removed, status=True, kind="json")


async def test_not_even_the_operator_takes_a_decision_back(room: Room, asked: str) -> None:
    merged(room(BOB), asked, yes(room, asked))
    said = await room.operator.refused("patch", asked, {"status": {"approvals": []}}, status=True)
    assert "An approval or rejection can be neither changed nor taken back" in said


async def test_one_request_carries_one_decision(room: Room, asked: str) -> None:
    both = {"status": {"approvals": [yes(room, asked)], "rejections": [no()]}}
    assert "Approve or reject, not both" in await room(BOB).refused("patch", asked, both, status=True)


async def test_an_approval_of_something_else_is_refused(room: Room, asked: str) -> None:
    """Replayed from a request of the same name that was deleted, or from another one."""
    merged(room(BOB), asked, yes(room, asked))
    old = room.get(asked)["status"]["approvals"][0]
    room(MALLORY).kubectl("delete", "schedex", asked)
    room(MALLORY).create(wish(asked, MALLORY))
    assert "status" not in room.get(asked)
    said = await room(BOB).refused("patch", asked, {"status": {"approvals": [old]}}, status=True)
    assert "An approval says what was approved, by uid and specHash of this very exception" in said
    mine = {"status": {"approvals": [old]}}
    assert NOT_YOURS.format(MALLORY) in await room(MALLORY).refused("patch", asked, mine, status=True)
    hashless = {"status": {"approvals": [yes(room, asked, specHash="")]}}
    assert "specHash" in await room(BOB).refused("patch", asked, hashless, status=True)


async def test_no_one_claims_a_group_that_is_not_theirs(room: Room, asked: str) -> None:
    change = {"status": {"approvals": [yes(room, asked, groups=["leads"])]}}
    said = await room(BOB).refused("patch", asked, change, status=True)
    assert "The groups of a decision must be groups of yours, and none of Kubernetes itself" in said
    merged(room(BOB, "leads", "developers"), asked, yes(room, asked, groups=["leads"]))
    assert room.get(asked)["status"]["approvals"][0]["groups"] == ["leads"]


async def test_no_one_claims_an_address_that_did_not_come_with_the_log_in(room: Room, asked: str) -> None:
    change = {"status": {"approvals": [yes(room, asked, extra={"email": CAROL})]}}
    told = "What a decision says in extra must be all addresses that the cluster knows of you"
    said = await room(BOB).refused("patch", asked, change, status=True)
    assert f"{told}. It knows none: leave extra out" in said
    assert told in await room(BOB, email=BOB).refused("patch", asked, change, status=True)
    merged(room(BOB, email=BOB), asked, yes(room, asked, extra={"email": BOB}))
    assert room.get(asked)["status"]["approvals"][0]["extra"] == {"email": BOB}


async def test_no_one_hides_an_address_under_which_they_may_have_asked(room: Room, asked: str) -> None:
    bob = room(BOB, email=BOB, upn="b@x.example")
    for extra in ({}, {"email": BOB}):
        change = {"status": {"approvals": [yes(room, asked, extra=extra)]}}
        said = await bob.refused("patch", asked, change, status=True)
        assert "Where you leave it out, the webhook notes them down, if it answers" in said
        assert f"email={BOB}" in said
    merged(bob, asked, yes(room, asked, extra={"email": BOB, "upn": "b@x.example"}))


async def test_the_second_address_under_a_key_is_no_less_someones(room: Room, asked: str) -> None:
    bob = room(BOB, email=f"{BOB} b@x.example")
    for extra in ({}, {"email": BOB}, {"email": "b@x.example"}, {"email": f"b@x.example {BOB}"}):
        change = {"status": {"approvals": [yes(room, asked, extra=extra)]}}
        assert f"Add email={BOB} b@x.example" in await bob.refused("patch", asked, change, status=True)
    merged(bob, asked, yes(room, asked, extra={"email": f"{BOB} b@x.example"}))


async def test_no_one_fills_a_role_by_a_group_that_everybody_has(room: Room) -> None:
    name = next(_names)
    room(ALICE).create(wish(name, approverEmails=[], approvalRequiredRoles=["system:authenticated"]))
    change = {"status": {"approvals": [yes(room, name, groups=["system:authenticated"])]}}
    said = await room(BOB).refused("patch", name, change, status=True)
    assert "none of Kubernetes itself (system:*)" in said


async def test_no_one_wastes_their_word_where_a_role_may_go_by_their_groups(room: Room) -> None:
    """It is final, and without the groups it would count for nothing."""
    name = next(_names)
    room(ALICE).create(wish(name, approverEmails=[], approvalRequiredRoles=["leads"]))
    bob = room(BOB, "leads", "system:authenticated")
    said = await bob.refused("patch", name, {"status": {"approvals": [yes(room, name)]}}, status=True)
    assert "A role may go by your groups, and the webhook that notes them down does not answer" in said
    assert "or use `hibernator exception approve`" in said
    merged(bob, name, yes(room, name, groups=["leads"]))
    none_to_name = room(CAROL, "system:authenticated")
    none_to_name.patch(name, {"status": {"rejections": [no(CAROL)]}}, status=True)


@pytest.mark.parametrize("channel", ["slack", "dashboard", "operator", "link"])
async def test_no_one_claims_a_channel_that_knows_people_by_itself(
    room: Room, asked: str, channel: str
) -> None:
    change = {"status": {"approvals": [yes(room, asked, channel=channel)]}}
    said = await room(BOB).refused("patch", asked, change, status=True)
    assert "The channel of a decision that you write yourself is cli, kubectl or api" in said


@pytest.mark.parametrize(
    "status",
    [
        {"approvalState": "Approved", "state": "Active"},
        {"approvalState": "Rejected", "state": "Rejected"},
        {"approvalState": "Pending", "state": "Cancelled"},
        {"approvalState": "Pending", "state": "Expired"},
    ],
)
async def test_no_one_decides_after_the_end(room: Room, asked: str, status: dict[str, Any]) -> None:
    room.operator.patch(asked, {"status": status}, status=True)
    change = {"status": {"rejections": [no()]}}
    said = await room(BOB).refused("patch", asked, change, status=True)
    assert "This exception does not wait for a decision (any more)" in said
    history = [{"action": "rejected", "actor": CAROL, "timestamp": AT}]
    room.operator.patch(asked, {"status": {"history": history}}, status=True)
    said = await room(BOB).refused("patch", asked, change, status=True)
    assert f"This exception was rejected by {CAROL} at {AT}: it does not wait" in said


@pytest.mark.parametrize("spec", [{"draft": True}, {"approvalRequired": False, "approverEmails": []}])
async def test_no_one_decides_what_was_not_asked(room: Room, spec: dict[str, Any]) -> None:
    name = next(_names)
    room(ALICE).create(wish(name, **spec))
    change = {"status": {"approvals": [yes(room, name)]}}
    assert "does not wait for a decision" in await room(BOB).refused("patch", name, change, status=True)
