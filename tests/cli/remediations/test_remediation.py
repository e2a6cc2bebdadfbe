"""`hibernator remediation` as people type it, each under their own name, on the real API server."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from structlog.testing import capture_logs
from whenever import Instant

from hibernator.cli import exception_outcome
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.operators import running
from support.remediation_scenes import (
    BOB,
    CAROL,
    NAMESPACE_MAP,
    RemediationScene,
    analysis,
    config_map,
    remediation,
)


class People(RemediationScene):
    folder: Path

    def ran(self, user: str, *arguments: str, groups: tuple[str, ...] = ()) -> Ran:
        """What a user would get at home."""
        document = yaml.safe_load(self.cluster.kubeconfig.read_text())
        document["users"][0]["user"] |= {"as": user, "as-groups": list(groups)}
        path = self.folder / f"{user}.yaml"
        path.write_text(yaml.safe_dump(document))
        sure = ("--yes",) if arguments[0] in {"approve", "reject"} else ()
        return hibernator("remediation", *arguments, *sure, f"--kubeconfig={path}", "-n", self.namespace)

    def ask(self, user: str, *arguments: str) -> str:
        done = self.ran(user, *arguments)
        assert done.code == 0, done.err
        return done.out


@pytest.fixture
def people(
    crds: ClusterInTest, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[People]:
    monkeypatch.setattr(
        exception_outcome, "LONGEST_SECONDS", 60.0
    )  # nobody types here who would be kept waiting
    scene = People(crds, namespace)
    scene.folder = tmp_path
    scene.police()
    with capture_logs():  # the operator runs in this process, and would write into what commands print
        yield scene


def clock() -> ManualClock:
    """What commands go by is the real time, so that the operator's must be near it."""
    return ManualClock(Instant.now())


async def test_a_remediation_is_found_looked_at_and_approved(people: People) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace, clock()) as run:
        people.apply(config_map(NAMESPACE_MAP, approversL1=BOB, approversL2="lead"))
        await run.settle()
        people.apply(remediation(), analysis(approvalTimeout="2h"))
        await run.settle()
        name = people.request()["metadata"]["name"]
        head, row = (await call(people.ask, BOB, "list", "--pending", "--mine")).splitlines()
        assert head.split() == ["NAME", "ANALYSIS", "CONFIDENCE", "PLAYBOOK", "REQUIRED", "DECISION", "AGE"]
        assert row.split()[:4] == [name, "oom", "0.65", "pod-oom-recovery"]
        assert await call(people.ask, CAROL, "list", "--mine") == ""
        shown = await call(people.ask, BOB, "view", name)
        assert f"{people.namespace}/{name} asks about AIAnalysis oom\n" in shown
        assert "(the analysis says so)" in shown
        assert f"  L1   {BOB}\n" in shown
        await run.operator.trail.flush(60.0)  # its database is new, and an approval waits for it only so long
        done = await call(people.ask, BOB, "approve", name, "--comment", "go ahead")
        assert done == f"{BOB} approved {name}\nApproved by {BOB}: go ahead\n"
        await run.settle()
        assert people.phase() == ("Ready", "Approved")
        late = await call(people.ran, CAROL, "reject", name, "too late")
        assert (late.code, f"It was approved already, by {BOB} at " in late.err) == (1, True)
        shown = await call(people.ask, BOB, "view", name)
        assert f"decided by   {BOB} through cli\n" in shown
        listed = json.loads(await call(people.ask, BOB, "list", "-o", "json"))
        assert [one["status"]["decisionMessage"] for one in listed["items"]] == ["go ahead"]
        assert await call(people.ask, BOB, "list", "--pending") == ""


async def test_a_role_is_had_by_a_group_of_the_log_in(people: People) -> None:
    call, groups = asyncio.to_thread, ("sre",)
    async with running(people.cluster.kubeconfig, people.namespace, clock()) as run:
        people.apply(config_map(NAMESPACE_MAP, approversL1=BOB, approversL2="sre"))
        await run.settle()
        people.apply(remediation(), analysis(approvalTimeout="2h"))
        await run.settle()
        name = people.request()["metadata"]["name"]
        assert (await call(people.ran, CAROL, "list", "--mine")).out == ""
        assert name in (await call(people.ran, CAROL, "list", "--mine", groups=groups)).out
        await run.operator.trail.flush(60.0)
        assert (await call(people.ran, CAROL, "approve", name, groups=groups)).code == 0
        await run.settle()
        assert people.phase() == ("Ready", "Approved")
        assert people.request()["status"]["deciderGroups"] == ["sre"]


async def test_a_remediation_is_rejected_with_a_reason(people: People) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace, clock()) as run:
        people.apply(remediation(), analysis(approvalTimeout="2h"))
        await run.settle()
        name = people.request()["metadata"]["name"]
        await call(people.ask, BOB, "reject", name, "not during the freeze")
        await run.settle()
        assert people.phase() == ("Rejected", "Rejected")
        assert "not during the freeze" in people.analysis_status()["message"]


async def test_someone_whose_decision_does_not_count_finds_that_out(people: People) -> None:
    call = asyncio.to_thread
    async with running(people.cluster.kubeconfig, people.namespace, clock()) as run:
        people.apply(config_map(NAMESPACE_MAP, approversL1=BOB))
        await run.settle()
        people.apply(remediation(), analysis(approvalTimeout="2h"))
        await run.settle()
        name = people.request()["metadata"]["name"]
        done = await call(people.ran, CAROL, "approve", name)
        told = f"{CAROL} is not among those whose agreement is needed: {BOB}."
        assert (done.code, f"recorded, but not counted. {told}" in done.err) == (1, True)
        shown = await call(people.ask, CAROL, "view", name)
        assert "What was not counted\n" in shown
        assert f"Approved by {CAROL}: {CAROL} is not among those whose agreement is needed" in shown


def test_what_no_one_decided_in_time_cannot_be_decided(people: People) -> None:
    people.apply(
        {
            "apiVersion": "remediation.kubernaut.ai/v1alpha1",
            "kind": "RemediationApprovalRequest",
            "metadata": {"name": "late"},
            "spec": {
                "aiAnalysisRef": {"name": "oom"},
                "approvalContext": {"confidence": 0.7},
                "requiredBy": "2026-01-01T00:00:00Z",
            },
        }
    )
    done = people.ran(BOB, "approve", "late")
    assert (done.code, "too late to decide: the deadline was 2026-01-01T00:00:00Z" in done.err) == (1, True)


def test_someone_without_permission_is_told_which_role_to_ask_for(people: People) -> None:
    done = people.ran("dave@company.com", "approve", "any")
    assert done.code == 4
    assert "ClusterRole hibernator-approver in the namespace" in done.err


def test_what_does_not_exist_is_told(people: People) -> None:
    done = people.ran(BOB, "view", "nothing")
    assert (done.code, "there is no RemediationApprovalRequest nothing in namespace" in done.err) == (1, True)
