"""A room in which the policies hold and people have the roles that are shipped, on the shared control plane.

Policies belong to the whole cluster. Here their bindings are narrowed to namespaces with a label, so that
other tests can go on to write what they like as an admin.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hibernator.admission.policies_exceptions import REQUESTS
from hibernator.api.crd import to_yaml
from hibernator.api.scheduleexception import ScheduleException
from hibernator.controlplane.access import RequestError
from hibernator.controlplane.cluster import KubectlError
from hibernator.controlplane.locks import FileLock
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, REQUESTER_CLAIMS, spec_hash
from hibernator.operator.manifests import POLICIES
from support.account import HOME, operator_kubeconfig
from support.cluster import ClusterInTest
from support.rights import may, until

LABEL = {"hibernator-tests/policies": "on"}
ALICE, BOB, CAROL, MALLORY = (f"{name}@company.com" for name in ("alice", "bob", "carol", "mallory"))
DAVE = "dave@company.com"  # may write every status, and has no say in anything
ROLES = {
    "hibernator-requester": (ALICE, MALLORY),
    "hibernator-approver": (BOB, CAROL, MALLORY),
    "hibernator-planner": (ALICE,),
    "hibernator-analyst": (ALICE,),
}
_EXCEPTIONS = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/scheduleexceptions"


@dataclass(frozen=True)
class Somebody:
    """A user in a room, with nothing but the roles that the room gave them."""

    room: "Room"
    name: str
    groups: tuple[str, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def kubectl(self, *arguments: str, document: Any = None) -> str:
        text = None if document is None else json.dumps(document)
        place = ("-n", self.room.namespace)
        who: dict[str, Any] = {"as_user": self.name, "as_groups": self.groups}
        extra = (f"--as-user-extra={key}={one}" for key, value in self.extra.items() for one in value.split())
        return self.room.cluster.kubectl(*arguments, *place, *extra, input=text, **who).stdout

    def create(self, document: dict[str, Any]) -> None:
        self.kubectl("create", "-f", "-", document=document)

    def patch(
        self, name: str, change: Any, *, status: bool = False, kind: str = "merge", of: str = "schedex"
    ) -> None:
        part = ("--subresource=status",) if status else ()
        self.kubectl("patch", of, name, f"--type={kind}", *part, "-p", json.dumps(change))

    async def refused(self, what: str, *arguments: Any, **more: Any) -> str:
        """What somebody is told who may not do this."""
        try:
            await asyncio.to_thread(getattr(self, what), *arguments, **more)
        except KubectlError as error:
            return str(error)
        raise AssertionError(f"{self.name} could {what} {arguments}")


@dataclass(frozen=True)
class Room:
    cluster: ClusterInTest
    namespace: str

    def __call__(self, user: str, *groups: str, **extra: str) -> Somebody:
        return Somebody(self, user, groups, extra)

    @property
    def operator(self) -> Somebody:
        """In name only: kubectl asks for more than the operator does, such as to get what it patches."""
        return Somebody(self, HOME.user, ("system:masters",))

    def get(self, name: str, of: str = "schedex") -> dict[str, Any]:
        out = self.cluster.kubectl("get", of, name, "-n", self.namespace, "-o", "json").stdout
        found: dict[str, Any] = json.loads(out)
        return found

    def kubeconfig(self, user: str, folder: Path, *groups: str, **extra: str) -> Path:
        document = yaml.safe_load(self.cluster.kubeconfig.read_text("utf-8"))
        more = {key: value.split() for key, value in extra.items()}
        document["users"][0]["user"] |= {"as": user, "as-groups": list(groups), "as-user-extra": more}
        path = folder / f"{user}.yaml"
        path.write_text(yaml.safe_dump(document), "utf-8")
        return path


def wish(name: str, by: str | None = ALICE, claims: str = "", **spec: Any) -> dict[str, Any]:
    """An exception that needs the approval of Bob and Carol, unless the spec says otherwise."""
    notes = {REQUESTED_BY: by, REQUESTER_CLAIMS: claims}
    return {
        "apiVersion": "hibernator.ardikabs.com/v1alpha1",
        "kind": "ScheduleException",
        "metadata": {"name": name, "annotations": {key: note for key, note in notes.items() if note}},
        "spec": {
            "planRef": {"name": "dev-plan"},
            "type": "extend",
            "validFrom": "2026-03-02T08:00:00Z",
            "validUntil": "2026-03-20T00:00:00Z",
            "windows": [{"start": "12:00", "end": "13:00", "daysOfWeek": ["MON"]}],
            "approvalRequired": True,
            "approverEmails": [BOB, CAROL],
        }
        | spec,
    }


def yes(room: Room, name: str, by: str = BOB, **more: Any) -> dict[str, Any]:
    """The approval of an exception as it is."""
    found = room.get(name)
    spec = msgspec.convert(found, ScheduleException, strict=False).spec
    known = {"uid": found["metadata"]["uid"], "specHash": spec_hash(spec)}
    return {"approvedBy": by, "approvedAt": "2026-03-02T09:00:00Z"} | known | more


def make_room(cluster: ClusterInTest) -> Room:
    """A new namespace with everybody in it, in which the policies hold by the time this returns."""
    operator_kubeconfig(cluster.kubeconfig)
    room = Room(cluster, cluster.create_namespace())
    bind_people(room)
    police(cluster, room.namespace)
    return room


def police(cluster: ClusterInTest, namespace: str) -> None:
    """Let the policies hold in a namespace, from the moment on in which this returns."""
    _install_policies(cluster)
    cluster.kubectl("label", "namespace", namespace, *(f"{key}={value}" for key, value in LABEL.items()))
    wait_until_policed(cluster, namespace)


def bind_people(room: Room) -> None:
    kubectl, place = room.cluster.kubectl, ("-n", room.namespace)
    kubectl("create", "role", "scribe", *place, "--verb=get,list,patch,update", *_SCRIBE)
    kubectl("create", "rolebinding", "scribe", *place, "--role=scribe", f"--user={DAVE}")
    for role, users in ROLES.items():
        names = (f"--user={user}" for user in users)
        kubectl("create", "rolebinding", role, *place, f"--clusterrole={role}", *names)
    # The API server hears of bindings one after the other: when it knows the last, it knows them all.
    until(lambda: may(room.cluster, room.namespace, ALICE, "create", "aianalyses.aianalysis.kubernaut.ai"))


_SCRIBE = tuple(
    f"--resource={resource}{part}"
    for resource in (
        "scheduleexceptions.hibernator.ardikabs.com",
        "remediationapprovalrequests.remediation.kubernaut.ai",
    )
    for part in ("", "/status")
)


@cache
def _install_policies(cluster: ClusterInTest) -> None:
    cluster.install_crds()
    # Last comes the one by which the others are known to hold: the API server hears of them in this order.
    ordered = sorted(POLICIES, key=lambda policy: policy.name == REQUESTS.name)
    documents = [document for policy in ordered for document in policy.documents(HOME.user, HOME.web_user)]
    for document in documents:
        if document["kind"].endswith("Binding"):
            document["spec"]["matchResources"] = {"namespaceSelector": {"matchLabels": LABEL}}
    with FileLock(cluster.layout.root / "policies.lock"):
        text = "---\n".join(map(to_yaml, documents))
        cluster.kubectl("apply", "--server-side", "-f", "-", input=text)


def wait_until_policed(cluster: ClusterInTest, namespace: str) -> None:
    """The API server takes a moment to hear of its policies; a lie that nobody believes tells when it has."""
    path = _EXCEPTIONS.format(namespace) + "?dryRun=All"

    def is_policed() -> bool:
        try:
            cluster.request("POST", path, wish("probe", "nobody"))
        except RequestError as error:
            if REQUESTS.name in str(error):
                return True
            raise
        return False

    until(is_policed)
