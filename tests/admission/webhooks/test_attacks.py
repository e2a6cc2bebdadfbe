"""What the API server must let through because only the operator knows better: it counts for nothing."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from support.account import HOME
from support.command import Ran, hibernator
from support.operators import Running
from support.policed import ALICE, BOB, CAROL, MALLORY, Room, wish, yes
from support.rights import may, until

ALIASES = ("MALLORY@Company.com", "mallory+boss@company.com")  # other log-ins of the same person
OTHER = "m.allory@company.com"  # one more, which has nothing in common but what it brings along
RAR = "remediationapprovalrequests"


@pytest.fixture(scope="module")
def approvers(room: Room) -> Room:
    names = (f"--user={name}" for name in (*ALIASES, OTHER))
    role = "--clusterrole=hibernator-approver"
    room.cluster.kubectl("create", "rolebinding", "aliases", "-n", room.namespace, role, *names)
    until(lambda: may(room.cluster, room.namespace, OTHER, "approve", RAR))
    return room


@pytest.fixture
def quiet() -> Iterator[None]:
    """The operator runs in this process, and would write into what commands print."""
    with capture_logs():
        yield


async def cli(room: Room, folder: Path, user: str, *arguments: str, groups: tuple[str, ...] = ()) -> Ran:
    given = (f"--kubeconfig={room.kubeconfig(user, folder, *groups, email=user)}", "-n", room.namespace)
    return await asyncio.to_thread(hibernator, "exception", *arguments, *given)


async def asked(room: Room, run: Running, document: dict[str, Any], by: str = ALICE) -> str:
    name = str(document["metadata"]["name"])
    await asyncio.to_thread(room(by).create, document)
    await run.until(lambda: room.get(name).get("status", {}).get("state") == "Pending")
    return name


def shown(room: Room) -> set[str]:
    """The exceptions that the plan shows."""
    status = room.get("dev-plan", "hplan")["status"]
    return {one["name"] for one in status.get("activeExceptions", [])}


async def message(room: Room, run: Running, name: str, words: str) -> str:
    """What the exception says about itself, once it has these words in it."""
    await run.until(lambda: words in room.get(name)["status"]["message"])
    return str(room.get(name)["status"]["message"])


async def test_those_who_were_asked_agree_and_it_is_active(
    approvers: Room, up: Running, tmp_path: Path, quiet: None
) -> None:
    name = await asked(approvers, up, wish("agreed", None))
    for user in (BOB, CAROL):
        done = await cli(approvers, tmp_path, user, "approve", "--yes", name)
        assert done.code == 0, done.err
    await up.until(lambda: approvers.get(name)["status"]["state"] == "Active")
    status = approvers.get(name)["status"]
    assert [(one["action"], one["actor"]) for one in status["history"]][:3] == [
        ("requested", ALICE),
        ("approved", BOB),
        ("approved", CAROL),
    ]
    await asyncio.to_thread(approvers(ALICE).patch, name, {"spec": {"cancelled": True}})
    await up.until(lambda: approvers.get(name)["status"]["state"] == "Cancelled")


async def test_a_role_is_held_by_a_group_of_which_the_api_server_knows(
    approvers: Room, up: Running, tmp_path: Path, quiet: None
) -> None:
    members = ("create", "configmap", "hibernator-roles", "-n", HOME.namespace, "--from-literal=lead=leads")
    await asyncio.to_thread(approvers.cluster.kubectl, *members)
    asking = wish("by-role", None, approverEmails=[], approvalRequiredRoles=["lead"])
    name = await asked(approvers, up, asking)
    await cli(approvers, tmp_path, CAROL, "approve", "--yes", name, groups=("developers",))
    assert "is not among those" in await message(approvers, up, name, "was not counted")
    assert (await cli(approvers, tmp_path, BOB, "approve", "--yes", name, groups=("leads",))).code == 0
    await up.until(lambda: approvers.get(name)["status"]["approvalState"] == "Approved")
    status = approvers.get(name)["status"]
    approved = [one for one in status["history"] if one["action"] == "approved"]
    assert [(one["actor"], one["role"]) for one in approved] == [(BOB, "lead")]
    known = [(one["groups"], one["extra"]) for one in status["approvals"]]
    assert known == [(["developers"], {"email": CAROL}), (["leads"], {"email": BOB})]
    await asyncio.to_thread(approvers(ALICE).patch, name, {"spec": {"cancelled": True}})
    await up.until(lambda: approvers.get(name)["status"]["state"] == "Cancelled")


@pytest.mark.parametrize(("number", "user"), list(enumerate((MALLORY, *ALIASES))))
async def test_no_one_approves_their_own_request_whatever_they_call_themselves(
    approvers: Room, up: Running, tmp_path: Path, quiet: None, number: int, user: str
) -> None:
    name = await asked(approvers, up, wish(f"own-{number}", None, approverEmails=[user]), MALLORY)
    # It is their own name, and they may approve things.
    await cli(approvers, tmp_path, user, "approve", "--yes", name)
    said = await message(approvers, up, name, "was not counted")
    assert f"{user} requested it and cannot approve it: ask another approver" in said
    assert approvers.get(name)["status"]["state"] == "Pending"


async def test_who_asked_is_known_by_an_address_that_both_log_ins_bring(approvers: Room, up: Running) -> None:
    """By kubectl alone; nothing but the log-in says who somebody is."""
    address = {"mail": "m@company.com"}
    wanted = wish("own-mail", None, approverEmails=[OTHER])
    await asyncio.to_thread(approvers(MALLORY, **address).create, wanted)
    await up.until(lambda: approvers.get("own-mail").get("status", {}).get("state") == "Pending")
    change = {"status": {"approvals": [yes(approvers, "own-mail", OTHER)]}}
    await asyncio.to_thread(approvers(OTHER, **address).patch, "own-mail", change, status=True)
    said = await message(approvers, up, "own-mail", "was not counted")
    assert f"{OTHER} requested it and cannot approve it: ask another approver" in said


async def test_the_roles_of_a_namespace_are_not_the_operators(approvers: Room, up: Running) -> None:
    """Whoever runs a namespace may write any ConfigMap there."""
    members = ("create", "configmap", "hibernator-roles", f"--from-literal=boss={CAROL}")
    await asyncio.to_thread(approvers.cluster.kubectl, *members, "-n", approvers.namespace)
    asking = wish("own-roles", None, approverEmails=[], approvalRequiredRoles=["boss"])
    name = await asked(approvers, up, asking)
    change = {"status": {"approvals": [yes(approvers, name, CAROL)]}}
    await asyncio.to_thread(approvers(CAROL).patch, name, change, status=True)
    assert f"{CAROL} is not among those" in await message(approvers, up, name, "was not counted")


async def test_a_plan_is_bent_by_exceptions_and_not_by_what_its_status_says(
    approvers: Room, up: Running
) -> None:
    kubectl, place = approvers.cluster.kubectl, ("-n", approvers.namespace)
    await up.until(lambda: approvers.get("dev-plan", "hplan").get("status", {}).get("phase") == "Active")
    validity = {"validFrom": "2026-03-01T00:00:00Z", "validUntil": "2026-03-20T00:00:00Z"}
    forged = {"name": "forged", "type": "replace", "state": "Active", **validity}
    change = json.dumps({"status": {"activeExceptions": [forged]}})
    patch = ("patch", "hplan", "dev-plan", *place, "--subresource=status", "--type=merge", "-p", change)
    before = approvers.get("dev-plan", "hplan")["status"]["nextTransition"]
    await asyncio.to_thread(kubectl, *patch)
    await up.until(lambda: "forged" not in shown(approvers))
    after = approvers.get("dev-plan", "hplan")["status"]
    assert (after["phase"], after["nextTransition"]) == ("Active", before)


async def test_who_was_not_asked_has_no_say(
    approvers: Room, up: Running, tmp_path: Path, quiet: None
) -> None:
    name = await asked(approvers, up, wish("not-asked", None))
    await cli(approvers, tmp_path, MALLORY, "reject", "--yes", name, "because")
    said = await message(approvers, up, name, "was not counted")
    assert f"{MALLORY} is not among those whose agreement is needed" in said
    assert approvers.get(name)["status"]["approvalState"] == "Pending"


async def test_an_approval_of_another_spec_counts_for_nothing(approvers: Room, up: Running) -> None:
    name = await asked(approvers, up, wish("stale", None))
    uid = approvers.get(name)["metadata"]["uid"]
    entry = {
        "approvedBy": BOB,
        "approvedAt": "2026-03-02T09:00:00Z",
        "uid": uid,
        "specHash": "sha256:" + "0" * 64,
    }
    change = {"status": {"approvals": [entry]}}
    await asyncio.to_thread(approvers(BOB).patch, name, change, status=True)
    assert "Something else was approved" in await message(approvers, up, name, "was not counted")


async def test_a_date_of_long_ago_does_not_go_into_the_history(approvers: Room, up: Running) -> None:
    name = await asked(approvers, up, wish("backdated", None))
    entry = {"rejectedBy": BOB, "rejectedAt": "1999-12-31T23:59:59Z"}
    await asyncio.to_thread(approvers(BOB).patch, name, {"status": {"rejections": [entry]}}, status=True)
    await up.until(lambda: approvers.get(name)["status"]["state"] == "Rejected")
    last = approvers.get(name)["status"]["history"][-1]
    assert (last["action"], last["actor"], last["timestamp"]) == ("rejected", BOB, "2026-03-02T08:00:00Z")


async def test_who_decides_about_a_remediation_is_noted_down_by_the_webhook(
    approvers: Room, up: Running
) -> None:
    context = {"confidence": 0.7, "recommendedPlaybook": "restart", "reason": "it leaks"}
    spec = {
        "aiAnalysisRef": {"name": "analysis"},
        "approvalContext": context,
        "requiredBy": "2026-03-02T10:00:00Z",
        "approvers": [{"level": "L1", "roles": ["on-call"]}],
    }
    document = {
        "apiVersion": "remediation.kubernaut.ai/v1alpha1",
        "kind": "RemediationApprovalRequest",
        "metadata": {"name": "rar"},
        "spec": spec,
    }
    await asyncio.to_thread(approvers.operator.create, document)
    at = "2026-03-02T09:00:00Z"
    decision = {"type": "Approved", "status": "True", "reason": "Fine", "lastTransitionTime": at}
    change = {"status": {"conditions": [decision]}}
    bob = approvers(BOB, "on-call", "system:authenticated", mail="b@x.example")
    await asyncio.to_thread(bob.patch, "rar", change, status=True, of=RAR)
    await up.until(lambda: approvers.get("rar", RAR)["status"].get("decision") == "Approved")
    status = approvers.get("rar", RAR)["status"]
    assert (status["decidedBy"], status["deciderGroups"]) == (BOB, ["on-call"])
    assert status["deciderExtra"] == {"mail": "b@x.example"}
