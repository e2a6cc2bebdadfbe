"""Who creates, changes, suspends or retries something is in the audit trail by name, or as unknown."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from admission.acting import KINDS, actors, admin
from hibernator.controlplane.cluster import KubectlError
from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.journal import CHANGED_BY, RETRIED_BY
from hibernator.decisions.planrequest import CARRIED_OUT
from support.command import hibernator
from support.operators import Running
from support.plan_scenes import noop, plan
from support.policed import ALICE, BOB, Room, Somebody
from support.remediation_scenes import REQUESTS, analysis, remediation
from support.scaler_scenes import scaler, workload

ROBOT = "system:serviceaccount:argocd:argocd"


def noted(room: Room, name: str, of: str = "hplan", key: str = CHANGED_BY) -> str:
    return str(room.get(name, of)["metadata"].get("annotations", {}).get(key, ""))


async def planned(run: Running, room: Room, name: str, **spec: Any) -> None:
    await asyncio.to_thread(room(ALICE).create, plan(noop("nothing"), name=name, **spec))
    await observed(run, room, name)


async def observed(run: Running, room: Room, name: str, of: str = "hplan") -> None:
    def is_seen() -> bool:
        found = room.get(name, of)
        return bool(found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"])

    await run.until(is_seen)
    await run.settle()  # so that nobody writes between a look and a replace


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_is_made_and_changed_by_someone(room: Room, up: Running, kind: str) -> None:
    up.forbidden = frozenset({"secrets"})  # those of the connectors, which are not there anyway
    of, document, spec = KINDS[kind]
    alice, robot = admin(room, ALICE), admin(room, ALICE if kind == "scheduleexception" else ROBOT)
    await asyncio.to_thread(alice.create, document)
    assert await asyncio.to_thread(noted, room, "kind", of) == f"1 {ALICE}"
    created = "drafted" if kind == "scheduleexception" else "created"
    assert await actors(up, f"{kind}.{created}", "kind") == [("user", ALICE, "api")]
    await asyncio.to_thread(robot.patch, "kind", {"spec": spec}, of=of)
    assert await asyncio.to_thread(noted, room, "kind", of) == f"2 {robot.name}"
    type_ = "user" if robot.name == ALICE else "serviceaccount"
    assert await actors(up, f"{kind}.changed", "kind") == [(type_, robot.name, "api")]


async def test_an_analysis_has_an_author_and_the_request_about_it_is_the_operators(
    room: Room, up: Running
) -> None:
    alice = admin(room, ALICE)
    await asyncio.to_thread(alice.create, remediation("oom"))
    await asyncio.to_thread(alice.create, analysis())
    assert await actors(up, "aianalysis.created", "oom") == [("user", ALICE, "api")]
    await up.until(lambda: json.loads(alice.kubectl("get", REQUESTS, "-o", "json"))["items"])
    found = json.loads(await asyncio.to_thread(alice.kubectl, "get", REQUESTS, "-o", "json"))
    [request] = found["items"]
    assert CHANGED_BY not in request["metadata"].get("annotations", {})
    name = request["metadata"]["name"]
    assert await actors(up, "remediationapprovalrequest.created", name) == [
        ("operator", "hibernator", "operator")
    ]


async def test_who_suspends_and_resumes_by_the_command_line_is_named(
    room: Room, up: Running, tmp_path: Path
) -> None:
    await planned(up, room, "frozen")
    mine = room.kubeconfig(ALICE, tmp_path)
    theirs = room.kubeconfig(BOB, tmp_path, "system:masters")
    place = ("-n", room.namespace)
    done = await asyncio.to_thread(
        hibernator, "plan", "suspend", "frozen", "--reason=audit", f"--kubeconfig={mine}", *place
    )
    assert (done.code, done.err) == (0, "")
    assert await actors(up, "hibernateplan.suspended", "frozen") == [("user", ALICE, "api")]
    done = await asyncio.to_thread(hibernator, "plan", "resume", "frozen", f"--kubeconfig={theirs}", *place)
    assert (done.code, done.err) == (0, "")
    assert await actors(up, "hibernateplan.resumed", "frozen") == [("user", BOB, "api")]
    told = [one for one in await up.trail("hibernateplan.suspended") if one.resource.name == "frozen"]
    assert (told[0].actor.email, json.loads(bytes(told[0].data))) == (ALICE, {"message": "audit"})


async def test_who_pauses_a_scaler_and_who_lets_it_go_on_is_named(room: Room, up: Running) -> None:
    await asyncio.to_thread(admin(room, ALICE).create, workload(name="held"))
    held = scaler("held", targetRef={"kind": "Deployment", "name": "held"})
    await asyncio.to_thread(admin(room, ALICE).create, held)
    await observed(up, room, "held", "tws")
    await asyncio.to_thread(admin(room, BOB).patch, "held", {"spec": {"pause": True}}, of="tws")
    assert await actors(up, "timewindowscaler.paused", "held") == [("user", BOB, "api")]
    await asyncio.to_thread(admin(room, ALICE).patch, "held", {"spec": {"pause": False}}, of="tws")
    assert await actors(up, "timewindowscaler.resumed", "held") == [("user", ALICE, "api")]


async def test_who_asks_for_a_retry_is_named(room: Room, up: Running) -> None:
    await planned(up, room, "again")
    asked = {"metadata": {"annotations": {RETRY: "2026-03-02T08:00:00Z"}}}
    await asyncio.to_thread(admin(room, BOB).patch, "again", asked, of="hplan")
    assert await asyncio.to_thread(noted, room, "again", key=RETRIED_BY) == f"2026-03-02T08:00:00Z {BOB}"
    assert await actors(up, "hibernateplan.retried", "again") == [("user", BOB, "api")]


async def test_a_change_that_the_webhook_did_not_see_was_made_by_no_one_known(
    room: Room, up: Running
) -> None:
    """By the one user for whom it is not asked, with the note of the last change still there."""
    await planned(up, room, "unseen")
    await asyncio.to_thread(room.operator.patch, "unseen", {"spec": {"suspend": True}}, of="hplan")
    assert await actors(up, "hibernateplan.suspended", "unseen") == [("unknown", "", "api")]
    assert await actors(up, "hibernateplan.changed", "unseen") == [("unknown", "", "api")]
    assert await asyncio.to_thread(noted, room, "unseen") == f"1 {ALICE}"


@pytest.mark.parametrize("how", ["replace", "apply", "server-side"])
async def test_a_manifest_may_leave_the_note_out_or_carry_an_old_one(
    room: Room, up: Running, how: str
) -> None:
    name, bob = f"carried-{how}", admin(room, BOB)
    command = {
        "replace": ("replace", "-f", "-"),
        "apply": ("apply", "-f", "-"),
        "server-side": ("apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-"),
    }[how]
    plain = plan(noop("nothing"), name=name)
    alice = room(ALICE)
    await asyncio.to_thread(
        alice.kubectl, *(("create", "-f", "-") if how == "replace" else command), document=plain
    )
    await observed(up, room, name)
    done = {"metadata": {"annotations": {CARRIED_OUT: "what the operator has done"}}}
    await asyncio.to_thread(room.operator.patch, name, done, of="hplan")
    before = await asyncio.to_thread(room.get, name, "hplan")
    await asyncio.to_thread(bob.kubectl, *command, document=plain)
    await up.settle()
    stale = plan(noop("nothing"), name=name)
    stale["metadata"]["annotations"] = {CHANGED_BY: "9 mallory@company.com", CARRIED_OUT: "forged"}
    await asyncio.to_thread(bob.kubectl, *command, document=stale)
    await up.settle()
    after = await asyncio.to_thread(room.get, name, "hplan")
    assert after["metadata"]["annotations"][CHANGED_BY] == f"1 {ALICE}"
    assert after["metadata"]["annotations"][CARRIED_OUT] == "what the operator has done"
    assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
    stale["spec"]["dryRun"] = True
    await asyncio.to_thread(bob.kubectl, *command, document=stale)
    assert await asyncio.to_thread(noted, room, name) == f"2 {BOB}"


@pytest.mark.parametrize("how", [(), ("--server-side",)])
async def test_to_look_for_differences_finds_none(room: Room, up: Running, how: tuple[str, ...]) -> None:
    name = f"quiet{len(how)}"
    plain, alice = plan(noop("nothing"), name=name), room(ALICE)
    await asyncio.to_thread(alice.kubectl, "apply", *how, "-f", "-", document=plain)
    await observed(up, room, name)
    before = (await asyncio.to_thread(room.get, name, "hplan"))["metadata"]["resourceVersion"]
    # kubectl ends with 1 when something differs, and that is an error here.
    assert await asyncio.to_thread(alice.kubectl, "diff", *how, "-f", "-", document=plain) == ""
    await asyncio.to_thread(alice.kubectl, "apply", *how, "-f", "-", document=plain)
    await up.settle()
    assert (await asyncio.to_thread(room.get, name, "hplan"))["metadata"]["resourceVersion"] == before


async def test_a_scaler_in_its_newer_version_is_signed_as_well(room: Room, up: Running) -> None:
    def write(share: str, who: Somebody, command: str) -> bool:
        document = scaler("beta")
        document["apiVersion"] = "kyklos.io/v1beta1"
        document["spec"]["windows"][0]["replicas"] = share
        try:
            who.kubectl(command, "-f", "-", document=document)
        except KubectlError as error:
            if "conver" in str(error):  # not registered yet
                return False
            raise
        return True

    await up.until(lambda: write("50%", admin(room, ALICE), "create"))
    assert await asyncio.to_thread(noted, room, "beta", "tws") == f"1 {ALICE}"
    # To v1alpha1 this is no change of the spec: the share is in an annotation.
    await asyncio.to_thread(write, "60%", admin(room, BOB), "apply")
    found = await asyncio.to_thread(room.get, "beta", "timewindowscalers.v1beta1.kyklos.io")
    assert found["spec"]["windows"][0]["replicas"] == "60%"
    assert (found["metadata"]["generation"], found["metadata"]["annotations"][CHANGED_BY]) == (2, f"2 {BOB}")
    assert await actors(up, "timewindowscaler.changed", "beta") == [("user", BOB, "api")]
