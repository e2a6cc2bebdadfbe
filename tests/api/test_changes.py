"""What may be changed once it is there, and what the API server says when it may not."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from api.objects import Json, analysis, approval_request, approvals, exception, noop, plan, plan_request
from hibernator.api.kinds import all_kinds
from hibernator.controlplane.cluster import KubectlError
from support.cluster import ClusterInTest

AT = "2026-12-01T10:00:00Z"
EVE = {"by": "eve", "decision": "Approved", "at": "2026-12-01T00:00:00Z", "reason": "NotAsked"}
BOB = {"approvedBy": "bob", "approvedAt": AT, "email": "bob@example.com", "channel": "kubectl"}
CAROL = {"approvedBy": "carol", "approvedAt": AT, "email": "carol@example.com"}
DAVE = {"rejectedBy": "dave", "rejectedAt": AT, "reason": "not in the fair"}


def condition(kind: str, status: str = "True", message: str = "") -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": "Because",
        "message": message,
        "lastTransitionTime": AT,
    }


@dataclass(frozen=True)
class Change:
    """An object, what the operator wrote about it, and a change (by merge patch) to it or to its status."""

    sentence: str
    before: Json
    status: Json | None = None
    spec: Any = None
    new_status: Any = None
    refused: str = ""  # nothing: it is accepted


CHANGES = [
    Change(
        "an exception moves to another plan",
        exception(),
        spec={"planRef": {"name": "other"}},
        refused="planRef is immutable: create another ScheduleException for the other plan",
    ),
    Change("an exception that needs no approval changes its type", exception(), spec={"type": "replace"}),
    Change(
        "a submitted exception changes its windows",
        approvals(),
        spec={"windows": [{"start": "01:00", "end": "02:00", "daysOfWeek": ["MON"]}]},
        refused="The spec is frozen once it was submitted for approval; only cancelled may still be set",
    ),
    Change(
        "a submitted exception gets a reason",
        approvals(),
        spec={"reason": "because"},
        refused="The spec is frozen once it was submitted for approval",
    ),
    Change(
        "a submitted exception loses its lead time",
        approvals(leadTime="1h"),
        spec={"leadTime": None},
        refused="The spec is frozen once it was submitted for approval",
    ),
    Change(
        "a submitted exception does without approval",
        approvals(),
        spec={"approvalRequired": False},
        refused="The spec is frozen once it was submitted for approval",
    ),
    Change(
        "a submitted exception becomes a draft again",
        approvals(),
        spec={"draft": True},
        refused="The spec is frozen once it was submitted for approval",
    ),
    Change(
        "a draft changes its windows and is submitted",
        approvals(draft=True),
        spec={"draft": False, "type": "extend"},
    ),
    Change("a submitted exception is cancelled", approvals(), {"state": "Pending"}, {"cancelled": True}),
    Change(
        "a cancelled exception is taken up again",
        approvals(cancelled=True),
        spec={"cancelled": False},
        refused="cancelled cannot be taken back: create a new ScheduleException",
    ),
    Change(
        "an expired exception is cancelled",
        exception(),
        {"state": "Expired"},
        {"cancelled": True},
        refused="This exception has expired; there is nothing left to cancel",
    ),
    Change("somebody approves", approvals(), {"approvals": [BOB]}, new_status={"approvals": [BOB, CAROL]}),
    Change(
        "an approval is taken back",
        approvals(),
        {"approvals": [BOB, CAROL]},
        new_status={"approvals": [CAROL]},
        refused="An approval or rejection can be neither changed nor taken back",
    ),
    Change(
        "all approvals are removed",
        approvals(),
        {"state": "Pending", "approvals": [BOB]},
        new_status={"approvals": None},
        refused="An approval or rejection can be neither changed nor taken back",
    ),
    Change(
        "an approval gets another author",
        approvals(),
        {"approvals": [BOB]},
        new_status={"approvals": [BOB | {"approvedBy": "mallory"}]},
        refused="An approval or rejection can be neither changed nor taken back",
    ),
    Change(
        "a rejection gets another reason",
        approvals(),
        {"rejections": [DAVE]},
        new_status={"rejections": [DAVE | {"reason": "none"}]},
        refused="An approval or rejection can be neither changed nor taken back",
    ),
    Change(
        "somebody approves twice",
        approvals(),
        {"state": "Pending"},
        new_status={"approvals": [BOB, BOB | {"approvedAt": "2026-12-02T10:00:00Z"}]},
        refused='status.approvals[1]: Duplicate value: {"approvedBy":"bob"}',
    ),
    Change(
        "an approval request asks something else",
        approval_request(),
        spec={"approvalContext": {"confidence": 0.79}},
        refused="spec is immutable: what was asked cannot be changed afterwards",
    ),
    Change("somebody decides", approval_request(), new_status={"conditions": [condition("Approved")]}),
    Change(
        "somebody decides half",
        approval_request(),
        new_status={"conditions": [condition("Rejected", "False")]},
        refused='the status of Approved and Rejected must be "True"',
    ),
    Change(
        "somebody wants both",
        approval_request(),
        {"conditions": [condition("Approved")]},
        new_status={"conditions": [condition("Approved"), condition("Rejected")]},
        refused="Approved and Rejected exclude each other",
    ),
    Change(
        "a decision is taken back",
        approval_request(),
        {"conditions": [condition("Approved"), condition("Ready")]},
        new_status={"conditions": [condition("Ready")]},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "all conditions are removed",
        approval_request(),
        {"message": "decided", "conditions": [condition("Approved")]},
        new_status={"conditions": None},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "a decision is turned round",
        approval_request(),
        {"conditions": [condition("Approved")]},
        new_status={"conditions": [condition("Rejected")]},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "a decision gets other words",
        approval_request(),
        {"conditions": [condition("Approved", message="yes")]},
        new_status={"conditions": [condition("Approved", message="well")]},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "another condition changes beside a decision",
        approval_request(),
        {"conditions": [condition("Approved"), condition("Ready", "False")]},
        new_status={"conditions": [condition("Approved"), condition("Ready")]},
    ),
    Change(
        "the controller writes the decision",
        approval_request(),
        {"decision": ""},
        new_status={"decision": "Approved"},
    ),
    Change(
        "the controller thinks again",
        approval_request(),
        {"decision": "Expired"},
        new_status={"decision": "Approved"},
        refused="The first decision is final",
    ),
    Change(
        "the operator sets a decision aside that does not count",
        approval_request(),
        {"conditions": [condition("Approved")], "decidedBy": "eve"},
        new_status={"conditions": [], "decidedBy": None, "refused": [EVE]},
    ),
    Change(
        "a decision is taken back in another's name",
        approval_request(),
        {"conditions": [condition("Approved")], "decidedBy": "bob"},
        new_status={"conditions": [], "decidedBy": None, "refused": [EVE]},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "a decision that counted is set aside",
        approval_request(),
        {"conditions": [condition("Approved")], "decidedBy": "eve", "decision": "Approved"},
        new_status={"conditions": [], "refused": [EVE]},
        refused="A decision can be neither changed nor taken back",
    ),
    Change(
        "somebody decides after the end",
        approval_request(),
        {"decision": "Expired"},
        new_status={"conditions": [condition("Approved")]},
        refused="It is decided already (Expired): nothing can be added",
    ),
    Change(
        "what was asked of a plan becomes something else",
        plan_request(),
        spec={"action": "Resume"},
        refused="spec is immutable: ask again",
    ),
    Change("an analysis is finished", analysis(analysis=None), {"phase": "Pending"}, analysis()["spec"]),
    Change(
        "an analysis is corrected before it was judged", analysis(), spec={"analysis": {"confidence": 0.9}}
    ),
    Change(
        "an analysis is corrected after it was judged",
        analysis(),
        {"phase": "Approving"},
        {"analysis": {"confidence": 0.9}},
        refused="The analysis is frozen once it was judged: create a new AIAnalysis",
    ),
    Change(
        "the signal of an analysis is changed after it was judged",
        analysis(analysis={"confidence": 0.7, "signal": {"pod": "a"}}),
        {"phase": "Ready"},
        {"analysis": {"signal": {"pod": "b"}}},
        refused="The analysis is frozen once it was judged",
    ),
    Change("an analysis gets more time", analysis(), {"phase": "Approving"}, {"approvalTimeout": "1h"}),
    Change("a plan loses a target", plan(noop("web"), noop("db")), spec={"targets": [noop("db")]}),
]


@pytest.fixture(scope="module")
def room(crds: ClusterInTest) -> str:
    """One namespace for all changes; each has objects with names of their own."""
    return crds.create_namespace()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.sentence)
def test_what_happens_when(change: Change, crds: ClusterInTest, room: str) -> None:
    name = created(crds, room, change.before, change.status)
    if not change.refused:
        attempt(change, crds, room, name)
        return
    with pytest.raises(KubectlError) as refusal:
        attempt(change, crds, room, name)
    assert change.refused in str(refusal.value)


def test_replacing_the_whole_status_does_not_take_a_decision_back(crds: ClusterInTest, room: str) -> None:
    name = created(crds, room, approval_request(), {"conditions": [condition("Approved")]})
    stored = json.loads(crds.kubectl("get", name, "-n", room, "-o", "json").stdout)
    del stored["status"]
    with pytest.raises(KubectlError, match="neither changed nor taken back"):
        crds.kubectl("replace", "--subresource=status", "-n", room, "-f", "-", input=json.dumps(stored))


def created(cluster: ClusterInTest, namespace: str, document: Json, status: Json | None) -> str:
    """Store an object with a status; give its name as kubectl takes it."""
    kind = next(kind for kind in all_kinds() if kind.kind == document["kind"])
    nameless = document | {"metadata": {"generateName": "case-"}}
    stored = cluster.request("POST", kind.path(namespace), nameless)
    name = stored["metadata"]["name"]
    if status is not None:
        cluster.request("PUT", kind.path(namespace, name, "status"), stored | {"status": status})
    return f"{kind.resource}/{name}"


def attempt(change: Change, cluster: ClusterInTest, namespace: str, name: str) -> None:
    part = ("--subresource=status",) if change.spec is None else ()
    patch = {"status": change.new_status} if change.spec is None else {"spec": change.spec}
    cluster.kubectl("patch", name, "-n", namespace, "--type=merge", "-p", json.dumps(patch), *part)
