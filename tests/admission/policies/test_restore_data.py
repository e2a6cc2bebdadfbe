"""What the operator wakes is what it wrote itself: the API server refuses restore data from anybody else."""

import asyncio
from typing import Any

import pytest

from hibernator.decisions.hibernateplan_restore import FINALIZER, LABEL, name_of
from support.policed import Room, Somebody
from support.rights import may, until

EDITOR, CLUSTER_ADMIN = "editor@company.com", "root@company.com"
NAME = name_of("nights", "shop", 0)
REFUSAL = "ConfigMaps named hibernator-restore-* or labelled hibernator.ardikabs.com/restore-data"


def config_map(name: str, labels: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    known = {"name": name} if name else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": known | {"labels": labels or {}} | metadata,
        "data": {"items.json": "{}"},
    }


@pytest.fixture(scope="module")
def editor(room: Room) -> Somebody:
    """Somebody with the most that a namespace gives."""
    room.cluster.kubectl(
        "create", "rolebinding", "editor", "-n", room.namespace, "--clusterrole=admin", f"--user={EDITOR}"
    )
    until(lambda: may(room.cluster, room.namespace, EDITOR, "create", "configmaps"))
    return room(EDITOR)


@pytest.fixture(scope="module")
def administrator(room: Room) -> Somebody:
    """Somebody who is bound to cluster-admin, as most administrators are."""
    name = f"root-{room.namespace}"
    room.cluster.kubectl(
        "create", "clusterrolebinding", name, "--clusterrole=cluster-admin", f"--user={CLUSTER_ADMIN}"
    )
    until(lambda: may(room.cluster, room.namespace, CLUSTER_ADMIN, "create", "configmaps"))
    return room(CLUSTER_ADMIN)


@pytest.fixture
def kept(room: Room) -> str:
    """Restore data as the operator writes it."""
    room.operator.kubectl("delete", "configmap", NAME, "--ignore-not-found")
    room.operator.create(config_map(NAME, {LABEL: "true"}))
    return NAME


@pytest.mark.parametrize(
    "forged",
    [
        config_map(name_of("nights", "other", 0), {LABEL: "true"}),
        config_map(name_of("nights", "other", 0)),
        config_map("hibernator-restore-x"),
        config_map("", generateName="hibernator-restore-nights-"),
        config_map("innocent", {LABEL: "true"}),
        config_map("innocent", {LABEL: ""}),
    ],
    ids=["name and label", "name", "prefix", "generated name", "label", "empty label"],
)
async def test_an_editor_creates_none(editor: Somebody, forged: dict[str, Any]) -> None:
    assert REFUSAL in await editor.refused("create", forged)


async def test_server_side_apply_creates_none_either(editor: Somebody) -> None:
    document = config_map(name_of("nights", "applied", 0))
    assert REFUSAL in await editor.refused("kubectl", "apply", "--server-side", "-f", "-", document=document)


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"items.json": "forged"}},
        {"binaryData": {"more": "Zm9yZ2Vk"}},
        {"metadata": {"labels": {LABEL: None}}},
        {"metadata": {"labels": {LABEL: None}}, "data": {"items.json": "forged"}},
        {"metadata": {"finalizers": []}},
        {"metadata": {"annotations": {"any": "thing"}}},
    ],
    ids=["data", "binary data", "label removed", "label removed with data", "finalizers", "annotations"],
)
async def test_an_editor_changes_none(editor: Somebody, kept: str, change: dict[str, Any]) -> None:
    assert REFUSAL in await editor.refused("patch", kept, change, of="configmap")


async def test_a_label_without_the_name_is_kept_from_being_removed(room: Room, editor: Somebody) -> None:
    room.operator.create(config_map("labelled-only", {LABEL: "true"}))
    change = {"metadata": {"labels": {LABEL: None}}}
    assert REFUSAL in await editor.refused("patch", "labelled-only", change, of="configmap")


async def test_an_own_config_map_does_not_become_restore_data(editor: Somebody) -> None:
    editor.create(config_map("mine"))
    change = {"metadata": {"labels": {LABEL: "true"}}}
    assert REFUSAL in await editor.refused("patch", "mine", change, of="configmap")


async def test_an_editor_deletes_none(room: Room, editor: Somebody, kept: str) -> None:
    assert REFUSAL in await editor.refused("kubectl", "delete", "configmap", kept)
    path = f"/api/v1/namespaces/{room.namespace}/configmaps"
    collection = await editor.refused("kubectl", "delete", "--raw", f"{path}?labelSelector={LABEL}")
    assert REFUSAL in collection
    assert room.get(kept, "configmap")["metadata"].get("deletionTimestamp") is None


async def test_other_config_maps_are_left_alone(editor: Somebody) -> None:
    editor.create(config_map("hibernator-settings", {"hibernator.ardikabs.com/plan": "nights"}))
    editor.patch("hibernator-settings", {"data": {"a": "b"}}, of="configmap")
    editor.kubectl("delete", "configmap", "hibernator-settings")


async def test_the_operator_writes_and_deletes(room: Room, kept: str) -> None:
    room.operator.patch(kept, {"data": {"items.json": "{}\n"}}, of="configmap")
    room.operator.kubectl("delete", "configmap", kept)


async def test_an_administrator_deletes_but_forges_nothing(
    room: Room, administrator: Somebody, kept: str
) -> None:
    room.operator.patch(kept, {"metadata": {"finalizers": [FINALIZER]}}, of="configmap")
    assert REFUSAL in await administrator.refused(
        "create", config_map(name_of("nights", "other", 0), {LABEL: "true"})
    )
    forged = {"metadata": {"finalizers": []}, "data": {"items.json": "forged"}}
    assert REFUSAL in await administrator.refused("patch", kept, forged, of="configmap")
    administrator.kubectl("delete", "configmap", kept, "--wait=false")
    administrator.patch(kept, {"metadata": {"finalizers": []}}, of="configmap")
    assert await administrator.refused("kubectl", "get", "configmap", kept)


async def test_restore_data_goes_with_its_owner(room: Room) -> None:
    """The garbage collector may take what somebody made dependent on another object."""
    room.operator.create(config_map("owner"))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    uid = room.get("owner", "configmap")["metadata"]["uid"]
    name = name_of("nights", "owned", 0)
    room.operator.create(config_map(name, {LABEL: "true"}, ownerReferences=[owner | {"uid": uid}]))
    room.operator.kubectl("delete", "configmap", "owner")
    await _gone(room, name)


async def test_an_orphan_is_let_go_by_its_owner(room: Room) -> None:
    room.operator.create(config_map("parent"))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "parent"}
    uid = room.get("parent", "configmap")["metadata"]["uid"]
    name = name_of("nights", "orphan", 0)
    room.operator.create(config_map(name, {LABEL: "true"}, ownerReferences=[owner | {"uid": uid}]))
    room.operator.kubectl("delete", "configmap", "parent", "--cascade=orphan", "--timeout=60s")
    assert "ownerReferences" not in room.get(name, "configmap")["metadata"]


async def test_restore_data_goes_with_its_namespace(room: Room) -> None:
    cluster = room.cluster
    going = cluster.create_namespace()
    cluster.kubectl("label", "namespace", going, "hibernator-tests/policies=on")
    elsewhere = Room(cluster, going)
    elsewhere.operator.create(config_map(NAME, {LABEL: "true"}))
    await asyncio.to_thread(cluster.kubectl, "delete", "namespace", going, "--timeout=60s")


async def _gone(room: Room, name: str) -> None:
    command = ("wait", "--for=delete", f"configmap/{name}", "-n", room.namespace, "--timeout=60s")
    await asyncio.to_thread(room.cluster.kubectl, *command)
