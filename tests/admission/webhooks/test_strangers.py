"""What a pod can do that reaches the webhooks' port and is no API server: nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from admission.operating import free_address, operating
from hibernator.admission.pathsecret import NAME
from hibernator.admission.server import REQUESTS
from support.account import HOME
from support.operators import Running
from support.policed import ALICE, BOB, Room
from support.rights import may, until

STRANGER = "mallory"  # reads and writes everything in one namespace


@pytest.fixture(scope="module")
def address() -> str:
    return free_address()


@pytest.fixture(scope="module")
async def up(room: Room, address: str) -> AsyncIterator[Running]:
    async with operating(room, address) as run:
        yield run


@pytest.fixture(scope="module")
def admin_of_one_namespace(room: Room) -> Room:
    place = ("-n", room.namespace)
    room.cluster.kubectl("create", "rolebinding", "all", *place, "--clusterrole=admin", f"--user={STRANGER}")
    until(lambda: may(room.cluster, room.namespace, STRANGER, "create", "deployments.apps"))
    return room


def forged(room: Room, plan: dict[str, Any], operation: str) -> dict[str, Any]:
    """A review in Bob's name: the deletion of Alice's plan, or a plan that would be refused."""
    schedule = plan["spec"].get("schedule", {}) | {"timezone": "Mars/Olympus"}
    wrong = plan | {"spec": plan["spec"] | {"schedule": schedule}}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": f"forged-{operation}",
            "operation": operation,
            "resource": {
                "group": "hibernator.ardikabs.com",
                "version": "v1alpha1",
                "resource": "hibernateplans",
            },
            "userInfo": {"username": BOB},
            "namespace": room.namespace,
            "name": "dev-plan",
            "object": None if operation == "DELETE" else wrong,
            "oldObject": plan if operation == "DELETE" else None,
        },
    }


async def post(address: str, path: str, review: Any) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"https://{address}{path}", json=review, ssl=False) as answer,
    ):
        return answer.status, await answer.read()


async def test_a_forged_review_is_not_found_and_not_in_the_trail(
    room: Room, up: Running, address: str
) -> None:
    plan = await asyncio.to_thread(room.get, "dev-plan", "hplan")
    before = up.metric(REQUESTS, "unknown", "404")
    for path, operation in (("/validate", "CREATE"), ("/delete", "DELETE"), ("/stamp", "CREATE")):
        assert await post(address, path, forged(room, plan, operation)) == (404, b"")
    assert up.metric(REQUESTS, "unknown", "404") == before + 3
    told = [*await up.trail("admission.deletion"), *await up.trail("admission.denied")]
    assert not [one for one in told if one.actor.id == BOB]


async def test_a_stranger_is_answered_the_same_whether_a_plan_exists_or_not(
    room: Room, up: Running, address: str
) -> None:
    exception = {"kind": "ScheduleException", "metadata": {"name": "x", "namespace": room.namespace}}
    answers = set()
    for plan in ("dev-plan", "no-such-plan"):
        review = forged(room, {"spec": {}}, "CREATE")
        review["request"]["object"] = exception | {"spec": {"planRef": {"name": plan}}}
        answers.add(await post(address, "/validate", review))
    assert answers == {(404, b"")}


async def test_who_runs_a_namespace_can_read_the_path_nowhere(
    admin_of_one_namespace: Room, up: Running
) -> None:
    room = admin_of_one_namespace
    mallory = room(STRANGER)
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations", "crds"):
        assert "forbidden" in await mallory.refused("kubectl", "get", kind)
    home = Room(room.cluster, HOME.namespace)
    assert "forbidden" in await home(STRANGER).refused("kubectl", "get", "secret", NAME)


async def test_the_api_server_is_let_in_by_the_registered_path(room: Room, up: Running, address: str) -> None:
    """The same review, at the path that only a reader of the configurations knows, is judged."""
    out = await asyncio.to_thread(
        room.cluster.kubectl, "get", "validatingwebhookconfigurations", "hibernator", "-o", "json"
    )
    urls = [hook["clientConfig"]["url"] for hook in json.loads(out.stdout)["webhooks"]]
    (path,) = [url.removeprefix(f"https://{address}") for url in urls if url.endswith("/validate")]
    plan = await asyncio.to_thread(room.get, "dev-plan", "hplan")
    review = forged(room, plan, "CREATE")
    review["request"] |= {"dryRun": True, "userInfo": {"username": ALICE}}
    status, body = await post(address, path, review)
    assert (status, json.loads(body)["response"]["allowed"]) == (200, False)
    assert await post(address, path.replace("/validate", "/delete"), review) == (404, b"")
