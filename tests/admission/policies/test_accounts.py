"""The account of the web process: what it may add in the name of people, and how little else.

It has nothing but its own token and the roles that are shipped, as anyone who broke into it would.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import pytest

from hibernator.api.approvaldelivery import DELIVERIES
from hibernator.api.core import CONFIG_MAPS, LEASES, SECRETS
from hibernator.api.crd import to_yaml
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.controlplane.cluster import KubectlError
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, VERIFIED_EMAIL
from hibernator.executors.workloads.kinds import BUILT_IN
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from hibernator.kube.errors import Forbidden, Invalid
from support.account import HOME, operator_kubeconfig, web_kubeconfig
from support.policed import ALICE, BOB, CAROL, DAVE, Room, wish, yes
from support.rights import until

_names = (f"door-{number}" for number in itertools.count())
AT = "2026-03-02T09:00:00Z"
_DRY_RUN = ("create", "--dry-run=server", "-n", HOME.namespace, "-f", "-")
KNOWN = {"issuer": "https://id.company.com", "subject": "17", "email": BOB, "session": "s"}


@pytest.fixture(scope="module")
async def web(room: Room) -> AsyncIterator[Client]:
    async with Client(find(str(web_kubeconfig(room.cluster.kubeconfig)))) as client:
        yield client


@pytest.fixture(scope="module")
async def operator(room: Room) -> AsyncIterator[Client]:
    async with Client(find(str(operator_kubeconfig(room.cluster.kubeconfig)))) as client:
        yield client


@pytest.fixture
def asked(room: Room) -> str:
    name = next(_names)
    room(ALICE).create(wish(name))
    return name


async def patched(
    client: Client, kind: Kind[Any], name: str, namespace: str, change: Any, *, subresource: str = ""
) -> None:
    await client.patch(kind, name, namespace, change, resource_version=None, subresource=subresource)


async def refused(writing: Awaitable[object]) -> str:
    with pytest.raises(Forbidden) as caught:
        await writing
    return str(caught.value)


def rar(name: str) -> dict[str, Any]:
    return {
        "apiVersion": APPROVAL_REQUESTS.api_version,
        "kind": APPROVAL_REQUESTS.kind,
        "metadata": {"name": name},
        "spec": {
            "aiAnalysisRef": {"name": name},
            "approvalContext": {
                "confidence": 0.7,
                "reason": "oom",
                "recommendedPlaybook": "restart",
            },
            "requiredBy": "2030-01-01T00:00:00Z",
        },
    }


def decided(verdict: str = "Approved", **more: Any) -> dict[str, Any]:
    word = {"type": verdict, "status": "True", "reason": "Said", "message": "", "lastTransitionTime": AT}
    status = {"decidedBy": BOB, "decidedVia": "link", "deciderKnownBy": KNOWN, "conditions": [word]} | more
    return {"status": {key: value for key, value in status.items() if value is not None}}


async def test_the_web_process_adds_decisions_of_people_and_the_link_and_nothing_else(
    room: Room, web: Client, asked: str
) -> None:
    async def patch(**status: Any) -> None:
        await patched(web, EXCEPTIONS, asked, room.namespace, {"status": status}, subresource="status")

    entry = yes(room, asked, BOB, channel="link", knownBy=KNOWN)
    for wrong, why in (
        ({"channel": "kubectl"}, "The web process decides through slack, link, dashboard"),
        ({"channel": "api"}, "The web process decides through"),
        ({"knownBy": None}, "knownBy"),
        ({"approvedBy": HOME.user}, "own name"),
        ({"approvedBy": "system:admin"}, "own name"),
        ({"groups": ["system:masters"]}, "none of Kubernetes itself"),
        ({"extra": {"mail": BOB}}, "extra"),
        ({"specHash": ""}, "what was approved"),
    ):
        bad = {key: value for key, value in (entry | wrong).items() if value is not None}
        assert why in await refused(patch(approvals=[bad]))
    changes: tuple[dict[str, Any], ...] = (
        {"state": "Active"},
        {"approvalState": "Approved"},
        {"history": []},
        {"message": "x"},
    )
    for change in changes:
        told = await refused(patch(**change))
        assert "Only the operator writes this status" in told
    await patch(approvalUrl="https://hibernator.company.com/approve/1", approvals=[entry])
    found = room.get(asked)["status"]
    assert found["approvals"][0]["knownBy"]["email"] == BOB
    assert found["approvalUrl"].startswith("https://")
    again = {"rejectedBy": BOB, "rejectedAt": AT, "channel": "slack", "knownBy": KNOWN}
    assert "that is final" in await refused(patch(rejections=[again]))
    await patch(rejections=[again | {"rejectedBy": CAROL}])


async def test_no_other_account_writes_as_a_door_or_for_another(
    room: Room, operator: Client, asked: str
) -> None:
    for user in (BOB, DAVE):
        for wrong in ({"channel": "link"}, {"channel": "slack", "knownBy": KNOWN}, {"knownBy": KNOWN}):
            change = {"status": {"approvals": [yes(room, asked, user, **wrong)]}}
            assert "denied request" in await room(user).refused("patch", asked, change, status=True)
    forged = {"status": {"approvalUrl": "https://evil.example"}}
    assert "Only the operator" in await room(BOB).refused("patch", asked, forged, status=True)
    for channel in ("link", "kubectl", ""):
        entry = yes(room, asked, HOME.user if channel else BOB, channel=channel)
        writing = patched(
            operator,
            EXCEPTIONS,
            asked,
            room.namespace,
            {"status": {"approvals": [entry]}},
            subresource="status",
        )
        assert "The operator decides nothing" in await refused(writing)


async def test_a_remediation_is_decided_at_a_door_by_the_same_rules(
    room: Room, web: Client, operator: Client
) -> None:
    name = next(_names)
    path = APPROVAL_REQUESTS.path(room.namespace)
    room.cluster.request(
        "POST",
        path,
        rar(name) | {"apiVersion": APPROVAL_REQUESTS.api_version, "kind": APPROVAL_REQUESTS.kind},
    )

    async def patch(client: Client, change: dict[str, Any]) -> None:
        await patched(client, APPROVAL_REQUESTS, name, room.namespace, change, subresource="status")

    for change, why in (
        (decided(decidedVia="kubectl"), "The web process decides through"),
        (decided(deciderKnownBy=None), "deciderKnownBy"),
        (decided(decidedBy="system:admin"), "your own name"),
        (decided(deciderGroups=["system:masters"]), "none of Kubernetes itself"),
        (decided(deciderExtra={"mail": BOB}), "deciderExtra"),
        ({"status": {"decision": "Approved"}}, "Only the operator writes this status"),
        ({"status": {"deciderKnownBy": KNOWN}}, "Only the operator writes this status"),
    ):
        assert why in await refused(patch(web, change))
    assert "The operator decides nothing" in await refused(patch(operator, decided()))
    for change in (decided(), decided(deciderKnownBy=None), decided(decidedVia="kubectl")):
        told = await room(BOB).refused("patch", name, change, status=True, of="rar")
        assert "denied request" in told
    await patch(web, {"status": {"approvalUrl": "https://hibernator.company.com/approve/2"}})
    await patch(web, decided())
    status = room.get(name, "rar")["status"]
    assert status["deciderKnownBy"]["subject"] == "17"
    # Where policies want more than one, the operator keeps what was approved, and nothing else.
    at = "2026-03-02T08:05:00Z"
    made_up = {"status": {"approvals": [{"approvedBy": "mallory@company.com", "approvedAt": at}]}}
    assert "The operator decides nothing" in await refused(patch(operator, made_up))
    kept = [{"approvedBy": status["decidedBy"], "approvedAt": at}]
    none: dict[str, Any] = {"conditions": [], "decidedBy": None, "decidedVia": None, "deciderKnownBy": None}
    await patch(operator, {"status": {"approvals": kept} | none})
    with pytest.raises(Invalid, match="neither changed nor taken back"):
        await patch(operator, {"status": {"approvals": []}})


async def test_exceptions_of_people_who_logged_in_carry_their_name(room: Room, web: Client) -> None:
    verified = f"{VERIFIED_EMAIL}={ALICE}"
    for by, claims in (
        (HOME.web_user, verified),
        ("", ""),
        ("", verified),
        (ALICE, ""),
        (ALICE, f"mail={ALICE}"),
        (ALICE, f"{verified}\nmail={BOB}"),
        ("system:admin", verified),
    ):
        await refused(web.create(EXCEPTIONS, wish(next(_names), by, claims), room.namespace))
    name = next(_names)
    await web.create(EXCEPTIONS, wish(name, ALICE, verified), room.namespace)
    # Alice has it as if she had asked for it herself; nobody else can write such a note.
    room(ALICE).patch(name, {"spec": {"cancelled": True}})
    assert "denied request" in await room(ALICE).refused("create", wish(next(_names), ALICE, verified))
    await refused(patched(web, EXCEPTIONS, name, room.namespace, {"spec": {"cancelled": True}}))


async def test_only_the_web_process_writes_what_it_keeps_about_links(
    room: Room, web: Client, operator: Client
) -> None:
    name, token = next(_names), {"hash": f"sha256:{'0' * 64}", "createdAt": AT, "expiresAt": AT}
    kept = {
        "apiVersion": DELIVERIES.api_version,
        "kind": DELIVERIES.kind,
        "metadata": {"name": name},
        "spec": {
            "request": {"kind": "ScheduleException", "name": "x", "uid": "1"},
            "recipient": BOB,
            "asked": True,
        },
    }
    change = {"status": {"tokens": [token]}}
    await refused(operator.create(DELIVERIES, kept, room.namespace))
    admin = room("")
    assert "only the web process writes them" in await admin.refused("create", kept)
    await web.create(DELIVERIES, kept, room.namespace)
    await patched(web, DELIVERIES, name, room.namespace, change, subresource="status")
    forged = {"status": {"tokens": [token | {"expiresAt": "2040-01-01T00:00:00Z"}]}}
    told = await admin.refused("patch", name, forged, status=True, of=DELIVERIES.resource)
    assert "only the web process writes them" in told
    admin.kubectl("delete", DELIVERIES.resource, name)  # administrators may


async def test_only_the_web_process_asks_for_changes_of_plans_and_only_the_operator_answers(
    room: Room, web: Client, operator: Client
) -> None:
    """Also not a planner, who may patch the plan: they use the command, in their own name."""
    name, spec = next(_names), {"plan": {"name": "dev-plan", "uid": "1"}, "action": "Suspend"}
    asked = {
        "apiVersion": PLAN_REQUESTS.api_version,
        "kind": PLAN_REQUESTS.kind,
        "metadata": {"name": name, "annotations": {REQUESTED_BY: ALICE}},
        "spec": spec,
    }
    done = {"status": {"state": "Done"}}
    admin, of = room(""), PLAN_REQUESTS.resource
    await room(ALICE).refused("create", asked)
    assert "filed by the web process" in await admin.refused("create", asked)
    await refused(operator.create(PLAN_REQUESTS, asked, room.namespace))
    nobodys = {"name": name}
    machines = {"name": name, "annotations": {REQUESTED_BY: "system:serviceaccount:kube-system:deployer"}}
    for metadata in (nobodys, machines):
        forged = asked | {"metadata": metadata}
        assert "say whose" in await refused(web.create(PLAN_REQUESTS, forged, room.namespace))
    await web.create(PLAN_REQUESTS, asked, room.namespace)
    in_his_name: dict[str, Any] = {"metadata": {"annotations": {REQUESTED_BY: BOB}}}
    assert "filed by the web process" in await admin.refused("patch", name, in_his_name, of=of)
    for change in (in_his_name, {"spec": {"reason": "x"}}):
        for client in (web, operator):
            await refused(patched(client, PLAN_REQUESTS, name, room.namespace, change))
    assert "Only the operator says" in await admin.refused("patch", name, done, status=True, of=of)
    await refused(patched(web, PLAN_REQUESTS, name, room.namespace, done, subresource="status"))
    await patched(operator, PLAN_REQUESTS, name, room.namespace, done, subresource="status")
    await refused(web.delete(PLAN_REQUESTS, name, room.namespace))
    await operator.delete(PLAN_REQUESTS, name, room.namespace)
    await web.create(PLAN_REQUESTS, asked, room.namespace)
    admin.kubectl("delete", of, name)  # administrators may


async def test_what_the_web_process_files_is_let_go_by_an_owner_that_goes_alone(
    room: Room, web: Client
) -> None:
    """Else `kubectl delete --cascade=orphan` of the plan, or of the request, would not come to an end."""
    name, collector = next(_names), room("system:serviceaccount:kube-system:generic-garbage-collector")
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": room.namespace}
    owner["uid"] = json.loads(room("").kubectl("get", "ns", room.namespace, "-o", "json"))["metadata"]["uid"]
    metadata = {"name": name, "ownerReferences": [owner], "annotations": {REQUESTED_BY: ALICE}}
    about = {"kind": "ScheduleException", "name": "x", "uid": "1"}
    specs: tuple[tuple[Kind[Any], Any], ...] = (
        (DELIVERIES, {"request": about, "recipient": BOB}),
        (PLAN_REQUESTS, {"plan": {"name": "dev-plan", "uid": "1"}, "action": "Suspend"}),
    )
    let_go: dict[str, Any] = {"metadata": {"ownerReferences": None}}
    for kind, spec in specs:
        await web.create(kind, {"metadata": metadata, "spec": spec}, room.namespace)
        await asyncio.to_thread(collector.patch, name, let_go, of=kind.resource)
        assert "ownerReferences" not in room.get(name, kind.resource)["metadata"]


async def test_the_web_process_can_write_and_read_nothing_else(room: Room, web: Client) -> None:
    space = room.namespace
    hidden: tuple[Kind[Any], ...] = (*(kind.api for kind in BUILT_IN), CONFIG_MAPS, SECRETS)
    for kind in (*hidden, PLANS, SCALERS):
        document = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "x"},
            "spec": {},
        }
        await refused(web.create(kind, document, space))
        await refused(patched(web, kind, "x", space, {"metadata": {"labels": {"a": "b"}}}))
        await refused(web.delete(kind, "x", space))
    for kind in hidden:
        await refused(web.get(kind, "x", space))
        await refused(web.list(kind, space))
    requests: tuple[Kind[Any], ...] = (EXCEPTIONS, APPROVAL_REQUESTS)
    for kind in requests:
        await refused(patched(web, kind, "x", space, {"spec": {}}))
        await refused(web.delete(kind, "x", space))
    await refused(web.get(SECRETS, "hibernator-webhook-certificates", HOME.namespace))
    await refused(web.get(CONFIG_MAPS, "hibernator-remediation-policy", HOME.namespace))
    cluster_wide: Kind[Any] = Kind(
        DELIVERIES.type, "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
    )
    await refused(web.get(cluster_wide, "hibernator-web"))


async def test_the_web_process_leads_no_one_but_itself(room: Room, web: Client) -> None:
    """Its own Leases are in the namespace of the operator, where the operator's is."""
    await refused(patched(web, LEASES, "hibernator", HOME.namespace, {"spec": {"holderIdentity": "me"}}))
    lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": {"name": "other"}}

    def is_policed() -> bool:
        """Whether the API server has heard of the label: it does a moment later."""
        try:
            room.cluster.kubectl(*_DRY_RUN, input=to_yaml(lease), as_user=HOME.web_user)
        except KubectlError:
            return True
        return False

    room.cluster.kubectl("label", "namespace", HOME.namespace, "hibernator-tests/policies=on", "--overwrite")
    try:
        await asyncio.to_thread(until, is_policed)
        told = await refused(web.delete(LEASES, "hibernator", HOME.namespace))
        assert "by others, others lead" in told
        await refused(web.create(LEASES, lease, HOME.namespace))
        for name in ("hibernator-saml-1", "hibernator-ended-1"):
            own = lease | {"metadata": {"name": name}}
            await web.create(LEASES, own, HOME.namespace)
            await web.delete(LEASES, name, HOME.namespace)
    finally:
        room.cluster.kubectl("label", "namespace", HOME.namespace, "hibernator-tests/policies-")
