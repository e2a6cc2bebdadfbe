"""A plan patches no more than its author may, also while no webhook answers."""

from typing import Any

from support.foreign_kinds import install
from support.plan_scenes import plan
from support.policed import ALICE, Room
from support.rights import may, until

RESOURCE = "clusters.postgresql.cnpg.io"
PATCH = [{"op": "replace", "path": "/spec/instances", "value": 0}]


def patching(room: Room, name: str, plural: str, group: str = "postgresql.cnpg.io", **more: Any) -> Any:
    api_version = f"{group}/v1" if group else "v1"
    parameters = {
        "namespace": {"literals": [room.namespace]},
        "apiVersion": api_version,
        "resource": plural,
    }
    target = {"name": "db", "type": "patches", "parameters": parameters | {"patch": PATCH} | more}
    return plan(target, name=name)


async def test_an_author_must_be_allowed_to_patch_what_the_plan_patches(room: Room) -> None:
    install(room.cluster)
    said = await room(ALICE).refused("create", patching(room, "one", "clusters"))
    assert f"{ALICE} may not patch all that this plan would patch: {RESOURCE} in the namespace " in said
    rights = ("--verb=patch", f"--resource={RESOURCE}", "-n", room.namespace)
    room.cluster.kubectl("create", "role", "db", *rights)
    room.cluster.kubectl("create", "rolebinding", "db", "--role=db", f"--user={ALICE}", "-n", room.namespace)
    until(lambda: may(room.cluster, room.namespace, ALICE, "patch", RESOURCE))
    room(ALICE).create(patching(room, "one", "clusters"))
    # Not elsewhere, not everywhere, and not another kind.
    for more, place in (
        ({"namespace": {"literals": [room.namespace, "default"]}}, "in the namespace default"),
        ({"namespace": {"selector": {"sleeps": "yes"}}}, "in every namespace, as a selector needs it"),
        ({"resource": "poolers"}, f"poolers.postgresql.cnpg.io in the namespace {room.namespace}"),
    ):
        said = await room(ALICE).refused("create", patching(room, "two", "clusters", **more))
        assert place in said
        changed = {"spec": {"targets": patching(room, "one", "clusters", **more)["spec"]["targets"]}}
        assert place in await room(ALICE).refused("patch", "one", changed, of="hplan")
    # A target that stays as it was is not asked about again.
    room.cluster.kubectl("delete", "rolebinding", "db", "-n", room.namespace)
    until(lambda: not may(room.cluster, room.namespace, ALICE, "patch", RESOURCE))
    room(ALICE).patch("one", {"spec": {"suspend": True}}, of="hplan")


async def test_not_even_an_administrator_lets_a_plan_patch_what_gives_power(room: Room) -> None:
    admin = room("root@company.com", "system:masters")
    for group, resource in (
        ("", "secrets"),
        ("", "configmaps"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("hibernator.ardikabs.com", "hibernateplans"),
        ("constraints.gatekeeper.sh", "limits"),
        ("postgresql.cnpg.io", "clusters/status"),
        ("postgresql.cnpg.io", "clusters|x|default,poolers"),
    ):
        said = await admin.refused("create", patching(room, "three", resource, group))
        assert f"a resource that is not patched: {resource}" in said
    many: Any = {"namespace": {"literals": [f"team-{number}" for number in range(11)]}}
    said = await admin.refused("create", patching(room, "three", "clusters", **many))
    assert "at most 10 namespaces" in said
    ten: Any = {"namespace": {"literals": [f"team-{number}" for number in range(10)]}}
    admin.create(patching(room, "three", "clusters", **ten))
    admin.create(patching(room, "four", "deployments", "apps"))
