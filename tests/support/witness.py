"""Somebody who only listens to the API server, and says afterwards what happened.

Every version of every object is kept as the server sends it. What became of an object is read from the
differences between its versions, by the rules below and none of the operator's own, and never from a journal:
so that the audit trail can be held against it.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from support.cluster import ClusterInTest

_WATCHED: Final = {
    "Deployment": "apis/apps/v1/namespaces/{}/deployments",
    "TimeWindowScaler": "apis/kyklos.io/v1alpha1/namespaces/{}/timewindowscalers",
    "HibernatePlan": "apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/hibernateplans",
    "ScheduleException": "apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/scheduleexceptions",
    "CloudProvider": "apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/cloudproviders",
    "K8SCluster": "apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/k8sclusters",
    "RemediationRequest": "apis/remediation.kubernaut.ai/v1alpha1/namespaces/{}/remediationrequests",
    "AIAnalysis": "apis/aianalysis.kubernaut.ai/v1alpha1/namespaces/{}/aianalyses",
    "RemediationApprovalRequest": (
        "apis/remediation.kubernaut.ai/v1alpha1/namespaces/{}/remediationapprovalrequests"
    ),
}
_LOOK_EVERY: Final = 0.02
_DEADLINE: Final = 120.0

Happened = tuple[str, str, str]  # kind, name, type
Version = Mapping[str, Any]


class Witness:
    """Listens from the moment at which it is made."""

    def __init__(self, cluster: ClusterInTest, namespace: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hibernator-witness-")
        self._since: dict[str, str] = {}
        self._cluster = cluster
        self._namespace = namespace
        self._listeners: dict[str, subprocess.Popen[bytes]] = {}
        for kind in _WATCHED:
            # kubectl is patient with a server that has only just heard of the kind.
            found = json.loads(cluster.kubectl("get", "--raw", self._path(kind)).stdout)
            self._file(kind).touch()
            self._listen(kind, found["metadata"]["resourceVersion"])

    def _path(self, kind: str) -> str:
        return "/" + _WATCHED[kind].format(self._namespace)

    def _listen(self, kind: str, since: str) -> None:
        query = f"{self._path(kind)}?watch=1&resourceVersion={since}&timeoutSeconds=3600"
        kubectl = [self._cluster.state.kubectl, f"--kubeconfig={self._cluster.kubeconfig}"]
        with self._file(kind).open("ab") as file:
            self._listeners[kind] = subprocess.Popen([*kubectl, "get", "--raw", query], stdout=file)
        self._since[kind] = since

    def _listen_again(self, kind: str) -> None:
        """Go on where it stopped: the server ends the watches of a kind whose definition was changed."""
        if self._listeners[kind].poll() is None:
            return
        whole, _, half = self._file(kind).read_bytes().rpartition(b"\n")
        if half:
            os.truncate(self._file(kind), len(whole) + 1 if whole else 0)
        lines = whole.splitlines()
        if lines and _is_expired(json.loads(lines[-1])):
            self._catch_up(kind, lines[:-1])
            return
        last = json.loads(lines[-1])["object"]["metadata"] if lines else {}
        self._listen(kind, last.get("resourceVersion", self._since[kind]))

    def _catch_up(self, kind: str, lines: list[bytes]) -> None:
        """Go on with what is there now: a kind with a new definition has no memory of what was before."""
        known = {heard["object"]["metadata"]["name"]: heard for heard in map(json.loads, lines)}
        listed = json.loads(self._cluster.kubectl("get", "--raw", self._path(kind)).stdout)
        there = {one["metadata"]["name"]: one for one in listed["items"]}
        more = [
            {"type": "MODIFIED", "object": one}
            for name, one in there.items()
            if name not in known
            or known[name]["object"]["metadata"]["resourceVersion"] != one["metadata"]["resourceVersion"]
        ]
        more += [
            {"type": "DELETED", "object": heard["object"]}
            for name, heard in known.items()
            if name not in there and heard["type"] != "DELETED"
        ]
        whole = [*lines, *(json.dumps(one).encode() for one in more)]
        self._file(kind).write_bytes(b"".join(line + b"\n" for line in whole))
        self._listen(kind, listed["metadata"]["resourceVersion"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners.values():
            listener.kill()
            listener.wait()
        self._folder.cleanup()

    async def hears(self, more: int) -> None:
        """Return when so many more versions have come in."""
        before = self._heard()
        async with asyncio.timeout(_DEADLINE):
            while await asyncio.to_thread(self._heard) < before + more:  # noqa: ASYNC110 — a file has no event
                await asyncio.sleep(_LOOK_EVERY)

    def happened(self) -> Counter[Happened]:
        """Everything that became of the objects so far, but for scalings."""
        found: Counter[Happened] = Counter()
        for kind, rules in _RULES.items():
            for name in self._ended(kind):
                found[kind, name, "deleted"] += 1
            for name, versions in self.versions(kind).items():
                for before, after in zip([{}, *versions], versions, strict=False):
                    found.update((kind, name, type_) for type_ in rules(before, after))
        return found

    def scalings(self, deployment: str) -> list[tuple[int, int]]:
        """Every change of a Deployment's replicas, from and to, whoever made it."""
        numbers = [one["spec"]["replicas"] for one in self.versions("Deployment")[deployment]]
        return [(old, new) for old, new in pairwise(numbers) if old != new]

    def versions(self, kind: str) -> Mapping[str, list[Version]]:
        """All versions of each object, oldest first."""
        found: dict[str, list[Version]] = defaultdict(list)
        for heard in self._lines(kind):
            found[heard["object"]["metadata"]["name"]].append(heard["object"])
        return found

    def _ended(self, kind: str) -> Iterator[str]:
        for heard in self._lines(kind):
            if heard["type"] == "DELETED":
                yield heard["object"]["metadata"]["name"]

    def _lines(self, kind: str) -> Iterator[Version]:
        self._listen_again(kind)
        whole = self._file(kind).read_bytes().rpartition(b"\n")[0]
        for line in whole.splitlines():
            heard = json.loads(line)
            if _is_expired(heard):
                return  # it listens again at the next look
            assert heard["type"] in {"ADDED", "MODIFIED", "DELETED"}, heard
            yield heard

    def _file(self, kind: str) -> Path:
        return Path(self._folder.name) / kind

    def _heard(self) -> int:
        for kind in _WATCHED:
            self._listen_again(kind)
        return sum(self._file(kind).read_bytes().count(b"\n") for kind in _WATCHED)


def _is_expired(heard: Mapping[str, Any]) -> bool:
    return bool(heard["type"] == "ERROR" and heard["object"]["code"] == HTTPStatus.GONE)


def _condition(status: Version, type_: str) -> Version:
    return next((one for one in status.get("conditions", ()) if one["type"] == type_), {})


def _seen(old: Version, new: Version) -> Iterator[str]:
    """What scalers and plans have in common."""
    before, after = old.get("observedGeneration"), new.get("observedGeneration")
    if after is not None and before != after:
        yield "changed" if before else "created"
    was, now = _condition(old, "Degraded"), _condition(new, "Degraded")
    if now.get("status") == "True" and (was.get("status"), was.get("reason")) != ("True", now["reason"]):
        yield "degraded"
    if was.get("status") == "True" and now.get("status") in {"False", "Unknown"}:
        yield "recovered"


def _scaler(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    yield from _seen(old, new)
    for field, begun, over in (
        ("paused", "paused", "resumed"),
        ("gracePeriodExpiry", "grace.started", "grace.ended"),
    ):
        if bool(new.get(field)) != bool(old.get(field)):
            yield begun if new.get(field) else over
    said = _condition(new, "Ready").get("message", "")
    if said.startswith("Paused: would") and said != _condition(old, "Ready").get("message"):
        yield "scaling.skipped"


def _plan(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    yield from _seen(old, new)
    for phase, change in ((new.get("phase"), "suspended"), (old.get("phase"), "resumed")):
        if phase == "Suspended" and new.get("phase") != old.get("phase"):
            yield change
    if new.get("retried") != old.get("retried"):
        yield "retried"
    was, now = (
        {one["name"] for one in status.get("activeExceptions", ()) if one["state"] == "Active"}
        for status in (old, new)
    )
    yield from ["exception.ended"] * len(was - now) + ["exception.applied"] * len(now - was)
    yield from _operations(old, new)
    direction = _direction(new)
    known = {one["name"]: one for one in old.get("targets", ())}
    for target in new.get("targets", ()):
        if target["state"] != known.get(target["name"], {}).get("state") and target.get("finishedAt"):
            yield f"target.{_target(target, direction)}"
    assert {one["name"] for one in new.get("targets", ())} <= {
        one["name"] for one in after["spec"]["targets"]
    }, "nothing has left the plan, of which this knows nothing"


def _direction(status: Version) -> str:
    history = status.get("history", ())
    return "woken" if history and history[-1].get("wake") else "slept"


def _target(target: Version, done: str) -> str:
    return {"Completed": done, "Failed": "failed", "Pending": "failed", "Aborted": "aborted"}[target["state"]]


def _operations(old: Version, new: Version) -> Iterator[str]:
    ended = {"Succeeded": "completed", "Aborted": "interrupted", "Failed": "failed", "PartlyFailed": "failed"}
    before = {one["cycle"]: one for one in old.get("history", ())}
    for cycle in new.get("history", ()):
        for name in ("sleep", "wake"):
            was, now = before.get(cycle["cycle"], {}).get(name, {}), cycle.get(name, {})
            if now.get("startedAt") != was.get("startedAt"):
                yield f"{name}.started"
            if now.get("result") and now.get("finishedAt") != was.get("finishedAt"):
                yield f"{name}.{ended[now['result']]}"


def _exception(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    if new.get("state") and not old.get("state"):
        yield "requested"
    if new.get("observedGeneration") is None:
        return
    if new.get("approvalState") == "Approved" != old.get("approvalState"):
        yield "approved"
    if _condition(new, "Ready").get("reason") == "AnotherActive" != _condition(old, "Ready").get("reason"):
        yield "waiting"
    if new.get("state") != old.get("state") and new["state"] in {"Active", "Expired"}:
        yield {"Active": "activated", "Expired": "expired"}[new["state"]]
    yield from _decisions(after, old, new)


def _decisions(found: Version, old: Version, new: Version) -> Iterator[str]:
    """A decision is somebody's own write; it is heard when the operator has answered it in its status."""
    asked = found["spec"].get("approverEmails", ())
    answered = len(new.get("history", ())) > len(old.get("history", ()))
    heard = {one["actor"] for one in old.get("history", ())}
    for entry in new.get("approvals", ()) if answered else ():
        if entry["approvedBy"] not in heard:
            yield "approval.given" if entry["approvedBy"] in asked else "approval.refused"


def _connector(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    yield from _seen(old, new)
    was, now = (_condition(status, "Ready") for status in (old, new))
    if (was.get("status"), was.get("reason")) != (now.get("status"), now.get("reason")):
        yield "ready" if now["status"] == "True" else "degraded"


def _remediation(before: Version, _after: Version) -> Iterator[str]:
    if not before:
        yield "created"


def _analysis(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    yield from _remediation(before, after)
    if after["metadata"].get("ownerReferences") and not (
        before and before["metadata"].get("ownerReferences")
    ):
        yield "adopted"
    if _condition(new, "ApprovalRequired").get("status") == "True" and not old.get("approvalDeadline"):
        yield "approving"
    if new.get("phase") != old.get("phase") and new["phase"] in {"Ready", "Rejected"}:
        yield new["phase"].lower()


def _request(before: Version, after: Version) -> Iterator[str]:
    old, new = _statuses(before, after)
    yield from _remediation(before, after)
    if new.get("escalatedAt") and not old.get("escalatedAt"):
        yield "escalated"
    if (decision := new.get("decision")) and not old.get("decision"):
        yield decision.lower()
        if decision == "Approved":
            yield "approval.given"


def _statuses(before: Version, after: Version) -> tuple[Version, Version]:
    return before.get("status", {}), after.get("status", {})


_RULES: Final = {
    "TimeWindowScaler": _scaler,
    "HibernatePlan": _plan,
    "ScheduleException": _exception,
    "CloudProvider": _connector,
    "K8SCluster": _connector,
    "RemediationRequest": _remediation,
    "AIAnalysis": _analysis,
    "RemediationApprovalRequest": _request,
}
