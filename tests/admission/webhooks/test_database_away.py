"""While the audit database is away, what a webhook refuses stays refused, however many come at once."""

import asyncio
from pathlib import Path
from typing import Any

from admission.operating import operating
from hibernator.api.core import CONFIG_MAPS
from hibernator.audit.spool import NAME
from hibernator.controlplane.access import RequestError
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.account import HOME
from support.plan_scenes import noop, plan
from support.policed import Room

_PLANS = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/hibernateplans"


def wrong(name: str) -> dict[str, Any]:
    made = plan(noop("nothing"), name=name)
    made["spec"]["schedule"]["timezone"] = "Mars/Olympus"
    return made


def refused(room: Room, name: str) -> bool:
    try:
        room.cluster.request("POST", _PLANS.format(room.namespace), wrong(name))
    except RequestError as error:
        return "denied" in str(error)
    return False


async def test_sixty_refusals_at_once_are_sixty_refusals_and_all_of_them_are_kept(
    room: Room, tmp_path: Path
) -> None:
    (tmp_path / "volume").touch()  # a file where a folder is needed
    async with operating(room, database=f"sqlite:///{tmp_path}/volume/audit.db"):
        async with asyncio.TaskGroup() as group:
            tries = [
                group.create_task(asyncio.to_thread(refused, room, f"wrong-{number}")) for number in range(60)
            ]
        assert [one.result() for one in tries].count(True) == 60
    async with Client(find(str(room.cluster.kubeconfig))) as client:
        waiting = (await client.get(CONFIG_MAPS, NAME, HOME.namespace)).data
        assert sum('"admission.denied"' in text for text in waiting.values()) == 60
        await client.delete(CONFIG_MAPS, NAME, HOME.namespace)
