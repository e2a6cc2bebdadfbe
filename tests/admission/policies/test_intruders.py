"""What people try who have some rights and want more: each with kubectl, while nothing of ours runs."""

import itertools
import json

import pytest

from hibernator.controlplane.cluster import KubectlError
from hibernator.decisions.scheduleexception import FINALIZER
from hibernator.decisions.scheduleexception_request import REQUESTED_BY
from support.policed import ALICE, BOB, CAROL, DAVE, MALLORY, Room, Somebody, wish, yes
from support.rights import may, until

_names = (f"prey-{number}" for number in itertools.count())
NOT_PEOPLES = "Only the operator writes this status"
ADMIN = "namespace-admin@company.com"


@pytest.fixture
def prey(room: Room) -> str:
    name = next(_names)
    room(ALICE).create(wish(name))
    room.operator.patch(name, {"metadata": {"finalizers": [FINALIZER]}})
    room.operator.patch(name, {"status": {"state": "Pending", "approvalState": "Pending"}}, status=True)
    return name


@pytest.fixture(scope="module")
def admin(room: Room) -> Somebody:
    """Somebody who runs the namespace, by the role that Kubernetes itself has for that."""
    kubectl, place = room.cluster.kubectl, ("-n", room.namespace)
    kubectl("create", "rolebinding", "admin", *place, "--clusterrole=admin", f"--user={ADMIN}")
    kubectl("create", "serviceaccount", "hibernator", *place)
    until(
        lambda: may(room.cluster, room.namespace, ADMIN, "create", "rolebindings.rbac.authorization.k8s.io")
    )
    return room(ADMIN)


async def test_metadata_and_spec_do_not_change_through_the_status(room: Room, prey: str) -> None:
    before = room.get(prey)
    change = {
        "metadata": {
            "annotations": {REQUESTED_BY: MALLORY},
            "labels": {"hibernator.ardikabs.com/plan": "other"},
            "finalizers": [],
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}],
        },
        "spec": {"approverEmails": [MALLORY], "approvalRequired": False},
    }
    room(BOB).patch(prey, change, status=True)
    after = room.get(prey)
    kept = ("annotations", "finalizers", "uid", "generation")
    assert [after["metadata"][key] for key in kept] == [before["metadata"][key] for key in kept]
    assert not {"labels", "ownerReferences"} & {*after["metadata"]}
    assert (after["spec"], after["status"]) == (before["spec"], before["status"])


async def test_the_status_does_not_change_through_the_object(room: Room, prey: str) -> None:
    document = room.get(prey)
    document["status"] = {"state": "Active", "approvalState": "Approved"}
    room(ALICE).kubectl("replace", "-f", "-", document=document)
    assert room.get(prey)["status"]["state"] == "Pending"


async def test_a_status_is_neither_put_nor_applied_by_a_controller_of_another(room: Room, prey: str) -> None:
    """Dave may write every status, as many controllers may."""
    document = room.get(prey)
    for status in ({}, {"state": "Active", "approvalState": "Approved"}):
        put = ("replace", "--subresource=status", "-f", "-")
        assert NOT_PEOPLES in await room(DAVE).refused(
            "kubectl", *put, document=document | {"status": status}
        )
    forced = {key: document[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": prey}}
    apply = ("apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", "-")
    for manager in ("hibernator", "kubectl"):
        status = {"state": "Active", "approvalState": "Approved"}
        given = (*apply, f"--field-manager={manager}")
        said = await room(DAVE).refused("kubectl", *given, document=forced | {"status": status})
        assert NOT_PEOPLES in said


async def test_who_gives_up_the_ownership_of_their_word_does_not_take_it_back(room: Room, prey: str) -> None:
    document = {"apiVersion": "hibernator.ardikabs.com/v1alpha1", "kind": "ScheduleException"}
    apply = ("apply", "--server-side", "--subresource=status", "-f", "-")
    spoken = {"metadata": {"name": prey}, "status": {"approvals": [yes(room, prey, BOB)]}}
    room(BOB).kubectl(*apply, document=document | spoken)
    silent = {"metadata": {"name": prey}, "status": {"approvals": []}}
    said = await room(BOB).refused("kubectl", *apply, document=document | silent)
    assert "neither changed nor taken back" in said
    assert len(room.get(prey)["status"]["approvals"]) == 1


async def test_no_one_forgets_who_wrote_a_field_and_takes_it_over(room: Room, prey: str) -> None:
    """Without managed fields a forced apply meets no conflict; the rules are the same."""
    mallory = room(MALLORY)
    forget = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    mallory.patch(prey, forget, kind="json")
    document = wish(prey, MALLORY)
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    assert "never changes" in await mallory.refused("kubectl", *apply, document=document)


async def test_a_new_object_is_a_new_one_whatever_it_says_of_itself(room: Room, prey: str) -> None:
    """Made again under the same name, with the uid and the age of what was approved."""
    room(BOB).patch(prey, {"status": {"approvals": [yes(room, prey, BOB)]}}, status=True)
    old = room.get(prey)
    room.operator.patch(prey, {"metadata": {"finalizers": None}})
    room(MALLORY).kubectl("delete", "schedex", prey)
    forged = wish(prey, MALLORY)
    forged["metadata"] |= {"uid": old["metadata"]["uid"], "creationTimestamp": "2020-01-01T00:00:00Z"}
    room(MALLORY).create(forged | {"status": old["status"]})
    found = room.get(prey)
    assert found["metadata"]["uid"] != old["metadata"]["uid"]
    assert found["metadata"]["creationTimestamp"] >= old["metadata"]["creationTimestamp"]
    assert "status" not in found


async def test_who_has_no_name_yet_is_held_to_the_same_rules(room: Room) -> None:
    nameless = wish("x", BOB)
    nameless["metadata"] = {"generateName": "x-", "annotations": nameless["metadata"]["annotations"]}
    assert f"and you are {ALICE}" in await room(ALICE).refused("create", nameless)


async def test_running_a_namespace_is_not_to_approve_in_it(room: Room, prey: str, admin: Somebody) -> None:
    change = {"status": {"approvals": [yes(room, prey, ADMIN)]}}
    assert 'resource "scheduleexceptions/status"' in await admin.refused("patch", prey, change, status=True)
    binding = ("create", "rolebinding", "mine", "--clusterrole=hibernator-approver", f"--user={ADMIN}")
    assert "attempting to grant RBAC permissions not currently held" in await admin.refused(
        "kubectl", *binding
    )
    role = (
        "create",
        "role",
        "mine",
        "--verb=approve",
        "--resource=scheduleexceptions.hibernator.ardikabs.com",
    )
    with pytest.raises(KubectlError):
        admin.kubectl(*role)


async def test_an_account_with_the_operators_name_elsewhere_is_not_the_operator(
    room: Room, prey: str, admin: Somebody
) -> None:
    """Whoever runs a namespace may make one, act as it, and be given every right on a status for it."""
    namesake = f"system:serviceaccount:{room.namespace}:hibernator"
    kubectl, place = room.cluster.kubectl, ("-n", room.namespace)
    kubectl("create", "rolebinding", "namesake", *place, "--role=scribe", f"--serviceaccount={namesake[22:]}")
    until(lambda: may(room.cluster, room.namespace, namesake, "patch", "scheduleexceptions/status"))
    change = json.dumps({"status": {"state": "Active", "approvalState": "Approved"}})
    patch = ("patch", "schedex", prey, "--subresource=status", "--type=merge", "-p", change)
    assert NOT_PEOPLES in await room(namesake).refused("kubectl", *patch)
    # The namespace's admin has no right to be the operator, or anybody else.
    token = kubectl("create", "token", "hibernator", *place).stdout.strip()
    own = (f"--token={token}", f"--server={room.cluster.url}", f"--certificate-authority={room.cluster.ca}")
    for user in ("system:serviceaccount:hibernator-system:hibernator", CAROL):
        with pytest.raises(KubectlError, match="cannot impersonate"):
            kubectl("--kubeconfig=/dev/null", *own, *patch, *place, as_user=user)
