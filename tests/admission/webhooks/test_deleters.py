"""Who deletes something is in the audit trail by name, or as unknown, and no deletion fails for that."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from admission.acting import KINDS, actors, admin, delete, made, named
from hibernator.audit.asked import TYPE as ASKED
from hibernator.controlplane.cluster import KubectlError
from support.operators import Running
from support.policed import ALICE, BOB, Room
from support.remediation_scenes import ANALYSES, REMEDIATIONS, REQUESTS, analysis, remediation
from support.scaler_scenes import scaler

HELD = "tests/held"  # a finalizer by which an object waits for the test


async def asked(run: Running, name: str) -> list[str]:
    """Who asked for it, in the order in which they did."""
    return [one.actor.id for one in await run.trail(ASKED) if one.resource.name == name]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_kind_is_deleted_by_someone(room: Room, up: Running, kind: str) -> None:
    up.forbidden = frozenset({"secrets"})  # those of the connectors, which are not there anyway
    of, document, _spec = KINDS[kind]
    name, bob = f"gone-{kind}", admin(room, BOB)
    await made(up, room, document | {"metadata": {**document["metadata"], "name": name}})
    await delete(bob, of, name)
    assert await actors(up, f"{kind}.deleted", name) == [named(bob)]
    [wish] = [one for one in await up.trail(ASKED) if one.resource.name == name]
    [end] = [one for one in await up.trail(f"{kind}.deleted") if one.resource.name == name]
    assert (wish.resource, wish.actor) == (end.resource, end.actor)
    assert wish.sequence < end.sequence


async def test_whoever_deletes_all_at_once_has_deleted_each(room: Room, up: Running) -> None:
    for name in ("first", "second"):
        labelled = scaler(name)
        labelled["metadata"]["labels"] = {"sort": "many"}
        await made(up, room, labelled)
    path = f"/apis/kyklos.io/v1alpha1/namespaces/{room.namespace}/timewindowscalers?labelSelector=sort%3Dmany"
    await asyncio.to_thread(room.cluster.request, "DELETE", path)
    for name in ("first", "second"):
        assert await actors(up, "timewindowscaler.deleted", name) == [("user", "hibernator-admin", "api")]


async def test_what_goes_along_with_another_is_deleted_by_kubernetes(room: Room, up: Running) -> None:
    alice, bob = admin(room, ALICE), admin(room, BOB)
    await made(up, room, remediation("oom"))
    await made(up, room, analysis())
    await up.until(lambda: json.loads(alice.kubectl("get", REQUESTS, "-o", "json"))["items"])
    [request] = json.loads(await asyncio.to_thread(alice.kubectl, "get", REQUESTS, "-o", "json"))["items"]
    await delete(bob, REMEDIATIONS, "oom")
    assert await actors(up, "remediationrequest.deleted", "oom") == [named(bob)]
    for type_, name in (("aianalysis", "oom"), ("remediationapprovalrequest", request["metadata"]["name"])):
        [(_, who, _)] = await actors(up, f"{type_}.deleted", name)
        assert who.startswith(("system:serviceaccount:kube-system:", "system:kube-controller-manager"))
    assert json.loads(await asyncio.to_thread(alice.kubectl, "get", ANALYSES, "-o", "json"))["items"] == []


async def test_a_deletion_that_is_only_tried_leaves_no_trace(room: Room, up: Running) -> None:
    await made(up, room, scaler("tried"))
    before = await asyncio.to_thread(room.get, "tried", "tws")
    await delete(admin(room, BOB), "tws", "tried", "--dry-run=server")
    assert await asyncio.to_thread(room.get, "tried", "tws") == before
    assert await asked(up, "tried") == []


async def test_who_deletes_what_is_going_already_is_not_who_did_it(room: Room, up: Running) -> None:
    held = scaler("going")
    held["metadata"]["finalizers"] = [HELD]
    await made(up, room, held)
    alice, bob = admin(room, ALICE), admin(room, BOB)
    for who in (bob, alice):
        await delete(who, "tws", "going", "--wait=false")
    assert await asked(up, "going") == [BOB]
    await asyncio.to_thread(alice.patch, "going", {"metadata": {"finalizers": None}}, of="tws")
    assert await actors(up, "timewindowscaler.deleted", "going") == [named(bob)]


async def test_whoever_was_refused_has_not_done_it(room: Room, up: Running) -> None:
    await made(up, room, scaler("kept"))
    alice, bob = admin(room, ALICE), admin(room, BOB)
    async with protected(up, room, BOB):
        said = await bob.refused("kubectl", "delete", "tws", "kept")
        assert "Bob deletes nothing" in said
        await delete(alice, "tws", "kept")
    assert await actors(up, "timewindowscaler.deleted", "kept") == [named(alice)]


async def test_whoever_names_a_version_gets_it_deleted_and_is_named(room: Room, up: Running) -> None:
    await made(up, room, scaler("versioned"))
    version = (await asyncio.to_thread(room.get, "versioned", "tws"))["metadata"]["resourceVersion"]
    path = f"/apis/kyklos.io/v1alpha1/namespaces/{room.namespace}/timewindowscalers/versioned"
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": version}}
    await asyncio.to_thread(room.cluster.request, "DELETE", path, options)
    assert await actors(up, "timewindowscaler.deleted", "versioned") == [("user", "hibernator-admin", "api")]


@asynccontextmanager
async def protected(run: Running, room: Room, user: str) -> AsyncIterator[None]:
    """Somebody else's policy, by which a user may not delete scalers here."""
    name = f"protected-{room.namespace}"
    rule = {"apiGroups": ["kyklos.io"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]}
    checks = [{"expression": f"request.userInfo.username != '{user}'", "message": "Bob deletes nothing"}]
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    policy = {"matchConstraints": {"resourceRules": [rule]}, "validations": checks}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    boss = admin(room, ALICE)
    documents = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
    for kind, spec in documents.items():
        await asyncio.to_thread(boss.create, {**api, "kind": kind, "spec": spec})
    try:
        await run.until(lambda: _is_refused(room, user))
        yield
    finally:
        for kind in documents:
            await asyncio.to_thread(boss.kubectl, "delete", kind, name)


def _is_refused(room: Room, user: str) -> bool:
    try:
        admin(room, user).kubectl("delete", "tws", "kept", "--dry-run=server")
    except KubectlError as error:
        return "Bob deletes nothing" in str(error)
    return False
