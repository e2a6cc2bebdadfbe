"""Who made a change is noted down truly or not at all, also while no webhook answers."""

import json
from typing import Any

import pytest
import yaml

from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.journal import CHANGED_BY, RETRIED_BY
from support.cluster import CRDS
from support.plan_scenes import noop, plan
from support.policed import ALICE, BOB, Room, Somebody

SPEC = {"spec": {"suspend": True}}


def noted(name: str, **notes: str) -> dict[str, Any]:
    """A plan with what somebody wrote into its annotations."""
    keys = {"changed": CHANGED_BY, "retried": RETRIED_BY, "retry": RETRY}
    document = plan(noop("nothing"), name=name)
    document["metadata"]["annotations"] = {keys[key]: value for key, value in notes.items()}
    return document


def notes(**more: str | None) -> dict[str, Any]:
    keys = {"changed": CHANGED_BY, "retried": RETRIED_BY, "retry": RETRY}
    return {"metadata": {"annotations": {keys[key]: value for key, value in more.items()}}}


def note(room: Room, name: str, key: str = CHANGED_BY) -> str:
    return str(room.get(name, "hplan")["metadata"].get("annotations", {}).get(key, ""))


def admin(room: Room, name: str) -> Somebody:
    """Somebody with every right but that to be another."""
    return room(name, "system:masters")


@pytest.mark.parametrize("claimed", [f"1 {BOB}", f"2 {ALICE}", f"0 {ALICE}", ALICE, "1", "1  "])
async def test_who_creates_says_nothing_but_the_truth(room: Room, claimed: str) -> None:
    said = await room(ALICE).refused("create", noted("lie", changed=claimed))
    assert f'The annotation {CHANGED_BY} is "{claimed}", and you are {ALICE}: leave it out' in said


async def test_the_truth_may_be_written_by_hand(room: Room) -> None:
    room(ALICE).create(noted("truth", changed=f"1 {ALICE}"))
    room(ALICE).patch("truth", SPEC | notes(changed=f"2 {ALICE}"), of="hplan")
    assert note(room, "truth") == f"2 {ALICE}"


@pytest.mark.parametrize("claimed", [f"2 {BOB}", f"3 {ALICE}", f"1 {BOB}"])
async def test_a_change_is_signed_with_the_own_name_and_its_number(room: Room, claimed: str) -> None:
    name = f"change-{claimed[0]}-{claimed[2]}"
    room(ALICE).create(noted(name))
    said = await room(ALICE).refused("patch", name, SPEC | notes(changed=claimed), of="hplan")
    assert f'is "{claimed}", and you are {ALICE}' in said


async def test_what_another_did_is_not_claimed_afterwards(room: Room) -> None:
    room(ALICE).create(noted("claimed", changed=f"1 {ALICE}"))
    for claimed in (f"1 {BOB}", f"2 {BOB}"):
        assert CHANGED_BY in await admin(room, BOB).refused(
            "patch", "claimed", notes(changed=claimed), of="hplan"
        )


async def test_a_note_may_be_dropped_or_carried_along(room: Room) -> None:
    bob = admin(room, BOB)
    room(ALICE).create(noted("carried", changed=f"1 {ALICE}"))
    bob.patch("carried", SPEC, of="hplan")  # as `kubectl apply` does
    assert (note(room, "carried"), room.get("carried", "hplan")["metadata"]["generation"]) == (
        f"1 {ALICE}",
        2,
    )
    carried = room.get("carried", "hplan")
    carried["spec"]["suspend"] = False
    bob.kubectl("replace", "-f", "-", document=carried)
    serverside = ("apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-")
    bob.kubectl(*serverside, document=noted("carried", changed=f"1 {ALICE}"))
    assert note(room, "carried") == f"1 {ALICE}"
    bob.kubectl("replace", "-f", "-", document=noted("carried"))
    assert note(room, "carried") == ""


async def test_the_operator_is_not_asked(room: Room) -> None:
    room.operator.create(noted("ours", changed=f"1 {BOB}"))
    assert note(room, "ours") == f"1 {BOB}"


async def test_who_asks_for_a_retry_signs_only_their_own(room: Room) -> None:
    room(ALICE).create(noted("again"))
    signed = notes(retry="first", retried=f"first {BOB}")
    assert f"and you are {ALICE}" in await room(ALICE).refused("patch", "again", signed, of="hplan")
    room(ALICE).patch("again", notes(retry="first", retried=f"first {ALICE}"), of="hplan")
    claimed = notes(retried=f"first {BOB}")
    assert RETRIED_BY in await admin(room, BOB).refused("patch", "again", claimed, of="hplan")
    admin(room, BOB).patch("again", notes(retry="second"), of="hplan")
    assert note(room, "again", RETRIED_BY) == f"first {ALICE}"
    said = await admin(room, BOB).refused("patch", "again", notes(retry="first"), of="hplan")
    assert "has a value that another user has used: write another" in said


async def test_every_kind_is_guarded(room: Room) -> None:
    out = room.cluster.kubectl("get", "validatingadmissionpolicy", "hibernator-authors", "-o", "json").stdout
    rules = json.loads(out)["spec"]["matchConstraints"]["resourceRules"]
    found = {(rule["resources"][0], rule["apiVersions"][0]) for rule in rules}
    served = {
        (crd["spec"]["names"]["plural"], version["name"])
        for crd in map(yaml.safe_load, (file.read_text() for file in CRDS.glob("*.yaml")))
        if crd["kind"] == "CustomResourceDefinition"
        for version in crd["spec"]["versions"]
    }
    assert found == served
