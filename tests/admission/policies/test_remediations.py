"""Who decides about a remediation is who says so, once: attacks while nothing of ours runs."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from support.policed import ALICE, BOB, CAROL, DAVE, Room, Somebody

_names = (f"asked-{number}" for number in itertools.count())
AT = "2026-03-02T09:00:00Z"
RAR = "remediationapprovalrequests"


@pytest.fixture
def asked(room: Room) -> str:
    name = next(_names)
    context = {"confidence": 0.7, "recommendedPlaybook": "restart", "reason": "it leaks"}
    document = {
        "apiVersion": "remediation.kubernaut.ai/v1alpha1",
        "kind": "RemediationApprovalRequest",
        "metadata": {"name": name},
        "spec": {
            "aiAnalysisRef": {"name": "analysis"},
            "approvalContext": context,
            "requiredBy": "2026-03-02T10:00:00Z",
        },
    }
    room.operator.create(document)
    room.operator.patch(name, {"status": {"message": "Waits."}}, status=True, of=RAR)
    return name


def decision(type_: str = "Approved", **more: Any) -> dict[str, Any]:
    reason = {"reason": "LooksGood", "message": "go ahead", "lastTransitionTime": AT}
    return {"type": type_, "status": "True"} | reason | more


def saying(*conditions: dict[str, Any], by: str | None = BOB, **status: Any) -> dict[str, Any]:
    name = {} if by is None else {"decidedBy": by}
    return {"status": {"conditions": list(conditions)} | name | status}


@pytest.mark.parametrize("type_", ["Approved", "Rejected"])
async def test_an_approver_decides_in_their_own_name(room: Room, asked: str, type_: str) -> None:
    room(BOB).patch(asked, saying(decision(type_), decidedVia="kubectl"), status=True, of=RAR)
    status = room.get(asked, RAR)["status"]
    assert (status["conditions"][0]["type"], status["decidedBy"]) == (type_, BOB)


async def test_groups_and_addresses_come_from_the_log_in_and_from_nowhere_else(
    room: Room, asked: str
) -> None:
    bob = Somebody(room, BOB, ("platform-team", "everybody"))
    for claim, said in (
        ({"deciderGroups": ["platform-team", "board"]}, "status.deciderGroups must be groups of yours"),
        ({"deciderGroups": ["system:authenticated"]}, "none of Kubernetes itself (system:*)"),
        (
            {"deciderExtra": {"email": BOB}},
            "must be all addresses that the cluster knows of you. It knows none",
        ),
    ):
        assert said in await bob.refused("patch", asked, saying(decision(), **claim), status=True, of=RAR)
        alone = {"status": claim}
        assert "Only the operator writes" in await bob.refused("patch", asked, alone, status=True, of=RAR)
    bob.patch(asked, saying(decision(), deciderGroups=["platform-team"]), status=True, of=RAR)
    assert room.get(asked, RAR)["status"]["deciderGroups"] == ["platform-team"]


async def test_an_address_of_the_log_in_may_be_named(room: Room, asked: str, tmp_path: Path) -> None:
    config = room.kubeconfig(BOB, tmp_path, email="b.ob@company.com")
    claim = saying(decision(), deciderExtra={"email": "b.ob@company.com"})
    room.cluster.kubectl(
        *("patch", RAR, asked, "-n", room.namespace, "--subresource=status", "--type=merge"),
        *("-p", json.dumps(claim), f"--kubeconfig={config}"),
    )
    assert room.get(asked, RAR)["status"]["deciderExtra"] == {"email": "b.ob@company.com"}


async def test_no_address_of_the_log_in_is_left_out(room: Room, asked: str) -> None:
    bob = room(BOB, email=f"{BOB} b@x.example")
    for claims in ({}, {"email": BOB}):
        change = saying(decision(), deciderExtra=claims)
        assert f"Add email={BOB} b@x.example" in await bob.refused(
            "patch", asked, change, status=True, of=RAR
        )
    bob.patch(asked, saying(decision(), deciderExtra={"email": f"{BOB} b@x.example"}), status=True, of=RAR)


@pytest.mark.parametrize("name", [CAROL, "BOB@company.com", "bob+ops@company.com", "", None])
async def test_no_one_decides_in_another_name_or_in_none(room: Room, asked: str, name: str | None) -> None:
    said = await room(BOB).refused("patch", asked, saying(decision(), by=name), status=True, of=RAR)
    assert f'status.decidedBy is "{name or ""}" and must be your own name, {BOB}: write it' in said


async def test_to_write_the_status_is_not_to_approve(room: Room, asked: str) -> None:
    said = await room(DAVE).refused("patch", asked, saying(decision(), by=DAVE), status=True, of=RAR)
    assert f"{DAVE} may not approve or reject here: ask for the ClusterRole hibernator-approver" in said


async def test_no_one_asks_but_the_operator(room: Room, asked: str) -> None:
    found = room.get(asked, RAR)
    document = {key: found[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": "forged"}}
    assert "cannot create resource" in await room(ALICE).refused("create", document)
    assert "cannot create resource" in await room(BOB).refused("create", document)


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "Approved"},
        {"decidedBy": BOB},
        {"decidedVia": "kubectl"},
        {"deciderGroups": ["platform-team"]},
        {"decidedAt": AT},
        {"decisionMessage": "go ahead"},
        {"message": "Approved."},
        {"conditions": [decision("Ready")]},
    ],
)
async def test_no_one_but_the_operator_writes_what_follows_from_a_decision(
    room: Room, asked: str, change: dict[str, Any]
) -> None:
    said = await room(BOB).refused("patch", asked, {"status": change}, status=True, of=RAR)
    assert "Only the operator writes this status" in said


@pytest.mark.parametrize("change", [{"decision": "Approved"}, {"decidedAt": AT}, {"decisionMessage": "x"}])
async def test_a_decision_brings_along_nothing_else(room: Room, asked: str, change: dict[str, Any]) -> None:
    said = await room(BOB).refused("patch", asked, saying(decision(), **change), status=True, of=RAR)
    assert "Only the operator writes this status" in said


async def test_a_decision_is_either_yes_or_no(room: Room, asked: str) -> None:
    both = saying(decision("Approved"), decision("Rejected"))
    assert "exclude each other" in await room(BOB).refused("patch", asked, both, status=True, of=RAR)
    undecided = saying(decision(status="Unknown"))
    said = await room(BOB).refused("patch", asked, undecided, status=True, of=RAR)
    assert 'the status of Approved and Rejected must be "True"' in said


async def test_the_first_decision_is_final(room: Room, asked: str) -> None:
    room(BOB).patch(asked, saying(decision()), status=True, of=RAR)
    for change in (saying(by=None), saying(decision(message="changed"))):
        assert "neither changed nor taken back" in await room(BOB).refused(
            "patch", asked, change, status=True, of=RAR
        )
    renamed = {"status": {"decidedBy": CAROL}}
    said = await room(CAROL).refused("patch", asked, renamed, status=True, of=RAR)
    assert "Only the operator writes this status" in said


async def test_no_one_rewrites_when_they_decided(room: Room, asked: str) -> None:
    """The controller goes by the API server's notes where nobody was there to see a decision come."""
    room(BOB).patch(asked, saying(decision()), status=True, of=RAR)
    shown = ("get", RAR, asked, "-n", room.namespace, "--show-managed-fields", "-o", "json")

    def noted() -> list[dict[str, Any]]:
        found: dict[str, Any] = json.loads(room.cluster.kubectl(*shown).stdout)
        return list(found["metadata"]["managedFields"])

    before = noted()
    earlier = [entry | {"time": "2026-03-02T08:00:00Z"} for entry in before]
    renamed = [entry | {"manager": f"my-{entry['manager']}"} for entry in earlier]
    forgeries: list[list[dict[str, Any]]] = [earlier, renamed, earlier[1:], [], [{}]]
    for forged in forgeries:
        room(BOB).patch(asked, {"metadata": {"managedFields": forged}}, status=True, of=RAR)
        assert noted() == before  # the API server takes no notice


async def test_no_one_decides_what_has_expired(room: Room, asked: str) -> None:
    room.operator.patch(asked, {"status": {"decision": "Expired"}}, status=True, of=RAR)
    said = await room(BOB).refused("patch", asked, saying(decision()), status=True, of=RAR)
    assert "decided already" in said


async def test_no_one_claims_a_channel_that_knows_people_by_itself(room: Room, asked: str) -> None:
    slack = saying(decision(), decidedVia="slack")
    said = await room(BOB).refused("patch", asked, slack, status=True, of=RAR)
    assert "is cli, kubectl or api" in said


@pytest.mark.parametrize(
    ("kind", "group", "plural"),
    [
        ("AIAnalysis", "aianalysis.kubernaut.ai", "aianalyses"),
        ("RemediationRequest", "remediation.kubernaut.ai", "remediationrequests"),
    ],
)
async def test_no_one_makes_ready_by_hand_what_people_would_have_to_agree_to(
    room: Room, kind: str, group: str, plural: str
) -> None:
    metadata = {"name": "unasked"}
    room.operator.create({"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": metadata, "spec": {}})
    root = Somebody(room, "root", ("system:masters",))
    ready = {"status": {"phase": "Ready", "message": "Trust me."}}
    said = await root.refused("patch", "unasked", ready, status=True, of=plural)
    assert "Only the operator writes this status" in said
    room.operator.patch("unasked", ready, status=True, of=plural)
    undone = {"status": {"phase": None}}  # or the spec could be changed after it was judged
    assert "Only the operator" in await root.refused("patch", "unasked", undone, status=True, of=plural)
    await asyncio.to_thread(root.patch, "unasked", {"metadata": {"labels": {"team": "shop"}}}, of=plural)
