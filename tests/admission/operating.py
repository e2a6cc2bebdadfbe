"""The whole operator with its webhooks, in a cluster where `hibernator manifests` was applied."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from support.account import HOME
from support.operators import Running, running
from support.plan_scenes import noop, plan
from support.policed import Room


@asynccontextmanager
async def operating(room: Room, address: str = "", **settings: Any) -> AsyncIterator[Running]:
    """The operator with its webhooks, once the API server asks them."""
    address = address or free_address()
    webhooks: dict[str, Any] = {"webhook_listen": address, "webhook_url": f"https://{address}"}
    async with running(
        room.cluster.kubeconfig, room.namespace, home=HOME.namespace, **webhooks, **settings
    ) as run:
        await run.until(lambda: answers(room))
        yield run


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def answers(room: Room) -> bool:
    """Whether a plan with a mistake that only the webhook knows is refused by it."""
    wrong = plan(noop("nothing"), name="probe")
    wrong["spec"]["schedule"]["timezone"] = "Mars/Olympus"
    wrong["metadata"]["namespace"] = room.namespace
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{room.namespace}/hibernateplans?dryRun=All"
    try:
        room.cluster.request("POST", path, wrong)
    except Exception as error:  # noqa: BLE001  whatever stands in the way now may be gone soon
        return "admission webhook" in str(error) and "denied" in str(error)
    return False
