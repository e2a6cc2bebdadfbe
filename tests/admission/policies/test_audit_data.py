"""What waits for the audit trail was written by the operator: the API server refuses it from anybody else."""

import asyncio
from typing import Any

import pytest

from hibernator.audit import memory, spool as audit_spool
from support.policed import Room, Somebody
from support.rights import may, until

EDITOR = "auditeditor@company.com"
REFUSAL = "belong to the audit trail: only the operator writes them"


def spool(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


@pytest.fixture(scope="module")
def editor(room: Room) -> Somebody:
    """Somebody with the most that a namespace gives, be it the operator's own."""
    room.cluster.kubectl(
        "create",
        "rolebinding",
        "auditeditor",
        "-n",
        room.namespace,
        "--clusterrole=admin",
        f"--user={EDITOR}",
    )
    until(lambda: may(room.cluster, room.namespace, EDITOR, "create", "configmaps"))
    return room(EDITOR)


@pytest.mark.parametrize("name", [audit_spool.NAME, memory.NAME])
async def test_no_one_else_writes_what_waits_for_the_trail(room: Room, editor: Somebody, name: str) -> None:
    assert REFUSAL in await editor.refused("create", spool(name, forged="{}"))
    await asyncio.to_thread(room.operator.create, spool(name, event="{}"))
    assert REFUSAL in await editor.refused("patch", name, {"data": {"forged": "{}"}}, of="configmap")
    assert REFUSAL in await editor.refused("kubectl", "delete", "configmap", name)
    await asyncio.to_thread(room("boss", "system:masters").kubectl, "delete", "configmap", name)


async def test_other_config_maps_are_no_ones_business(editor: Somebody) -> None:
    await asyncio.to_thread(editor.create, spool("hibernator-audit-spools", own="data"))
