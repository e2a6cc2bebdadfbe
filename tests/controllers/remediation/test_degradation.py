"""What happens when parts are missing, late or gone: each case of the document, on the real control plane."""

import asyncio
from contextlib import suppress
from typing import Final

from whenever import Instant

from hibernator.audit.database import AuditUnavailable, Database
from support.clock import ManualClock
from support.operators import Running, running
from support.remediation_scenes import (
    ANALYSES,
    BOB,
    REMEDIATIONS,
    REQUESTS,
    RemediationScene,
    analysis,
    remediation,
)
from support.rights import until

_PATIENCE: Final = 60.0  # real seconds; reached only by a test that fails


async def test_where_no_one_asks_the_people_the_analysis_times_out_by_itself(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(analysis(name="lost", of="missing"), analysis(name="alone", of=None))
        await run.settle()
        assert scene.phase("lost") == scene.phase("alone") == ("Approving", "MediumConfidence")
        assert "names no RemediationRequest" in scene.analysis_status("alone")["message"]
        await run.advance(899)
        assert scene.phase("lost") == scene.phase("alone") == ("Approving", "MediumConfidence")
        await run.advance(1)
        assert scene.phase("lost") == scene.phase("alone") == ("Rejected", "ApprovalTimeout")
        assert scene.all(REQUESTS) == []


async def test_a_remediation_that_comes_after_its_analysis_still_has_people_asked(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(analysis())
        await run.settle()
        scene.apply(remediation())
        await run.settle()
        assert scene.request()["spec"]["requiredBy"] == scene.analysis_status()["approvalDeadline"]


async def test_a_request_that_was_deleted_by_hand_is_made_again_once(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        first = scene.request()["metadata"]["name"]
        await asyncio.to_thread(scene.delete, REQUESTS, first)
        await run.until(lambda: len(scene.all(REQUESTS)) == 1)
        second = scene.request()["metadata"]["name"]
        assert second == f"{first}-again"
        await run.until(lambda: scene.analysis_status()["remediationApprovalRequestRef"] == {"name": second})
        assert len(await run.trail("remediationapprovalrequest.recreated")) == 1
        await asyncio.to_thread(scene.delete, REQUESTS, second)
        await run.until(lambda: "RequestDeletedTwice" in scene.reasons("oom"))
        assert scene.all(REQUESTS) == []
        assert len(await run.trail("remediationapprovalrequest.deleted")) == 2
        await run.advance(900)
        assert scene.phase() == ("Rejected", "ApprovalTimeout")


async def test_the_second_request_decides_like_the_first(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        await asyncio.to_thread(scene.delete, REQUESTS, scene.request()["metadata"]["name"])
        await run.until(lambda: bool(scene.all(REQUESTS)))
        await run.settle()
        await run.operator.trail.flush(_PATIENCE)
        scene.say("Approved")
        await run.settle()
        assert scene.phase() == ("Ready", "Approved")


async def test_when_the_analysis_is_deleted_its_request_goes_too(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        await asyncio.to_thread(scene.delete, ANALYSES, "oom")
        await run.until(lambda: scene.all(REQUESTS) == [])
        assert len(await run.trail("remediationapprovalrequest.deleted")) == 1
        assert len(await run.trail("aianalysis.deleted")) == 1


async def test_a_new_analysis_of_the_same_name_is_not_approved_by_an_old_request(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        old = scene.request()["metadata"]["name"]
        await run.operator.trail.flush(_PATIENCE)
        scene.say("Approved")
        await run.settle()
        await asyncio.to_thread(scene.delete, ANALYSES, "oom")
        scene.apply(analysis())
        await run.settle()
        assert scene.phase() == ("Approving", "MediumConfidence")
        names = {request["metadata"]["name"] for request in scene.all(REQUESTS)}
        assert old in names  # what was decided stays for those who want to know
        assert len(names) == 2


async def test_deleting_the_remediation_takes_everything_along(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis(), analysis(name="second"), analysis(0.9, name="third"))
        await run.settle()
        assert len(scene.all(REQUESTS)) == 2
        await asyncio.to_thread(scene.delete, REMEDIATIONS, "oom")
        await run.until(lambda: scene.all(REQUESTS) == [] and scene.all(ANALYSES) == [])
        await run.settle()
        assert len(await run.trail("remediationapprovalrequest.deleted")) == 2
        assert await run.trail("remediationapprovalrequest.recreated") == []


async def test_deleting_the_remediation_takes_everything_along_also_while_no_operator_is_there(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis(), analysis(name="second"))
        await run.settle()
        assert len(scene.all(REQUESTS)) == 2
    scene.delete(REMEDIATIONS, "oom")
    until(lambda: scene.all(REQUESTS) == [] and scene.all(ANALYSES) == [])


async def test_a_decision_in_time_counts_although_no_one_was_there_to_see_it(scene: RemediationScene) -> None:
    now = Instant.now()
    request = handmade("seen-late", now.add(minutes=30))
    scene.apply(request)
    scene.say_on("seen-late", "Approved")
    async with running(scene.cluster.kubeconfig, scene.namespace, ManualClock(now.add(hours=1))):
        status = scene.get(REQUESTS, "seen-late")["status"]
        assert (status["decision"], status["decidedBy"]) == ("Approved", BOB)
        decided = Instant.parse_iso(status["decidedAt"])
        assert now.subtract(seconds=60) < decided < now.add(minutes=30)


async def test_a_decision_after_the_deadline_is_too_late_whatever_time_it_claims(
    scene: RemediationScene,
) -> None:
    now = Instant.now()
    scene.apply(handmade("late", now.subtract(minutes=30)))
    scene.say_on("late", "Approved")
    async with running(scene.cluster.kubeconfig, scene.namespace, ManualClock(now)) as run:
        status = scene.get(REQUESTS, "late")["status"]
        assert (status["decision"], status.get("decidedBy", "")) == ("Expired", "")
        [refused] = await run.trail("remediationapprovalrequest.approval.refused")
        assert refused.actor.id == BOB


async def test_nothing_that_people_approved_is_ready_while_the_audit_database_is_away(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        await run.operator.trail.flush(_PATIENCE)
        async with Database(run.database) as held, held.begin() as connection:
            await connection.exec_driver_sql("CREATE TABLE hold (x)")  # a write lock that is not let go
            scene.say("Approved", BOB)
            await run.until(lambda: scene.phase() == ("Approving", "AwaitingRecord"))
            assert scene.request()["status"]["decision"] == "Approved"
            await connection.rollback()
        await until_durable(run)
        await run.advance(10)
        await run.until(lambda: scene.phase() == ("Ready", "Approved"))


async def test_an_operator_that_starts_anew_goes_on_where_the_last_one_was(scene: RemediationScene) -> None:
    clock = ManualClock("2026-03-02T08:00:00Z")
    async with running(scene.cluster.kubeconfig, scene.namespace, clock) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
    scene.say("Approved")
    later = ManualClock("2026-03-02T08:10:00Z")
    async with running(scene.cluster.kubeconfig, scene.namespace, later) as run:
        await until_durable(run)  # its database is new, and may take longer than an approval waits
        await run.advance(10)
        await run.until(lambda: scene.phase() == ("Ready", "Approved"))
        assert len(scene.all(REQUESTS)) == 1


async def until_durable(run: Running) -> None:
    """Wait for a database that may just not be there."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            with suppress(AuditUnavailable):
                return await run.operator.trail.flush(_PATIENCE)


def handmade(name: str, required_by: Instant) -> dict[str, object]:
    return {
        "apiVersion": "remediation.kubernaut.ai/v1alpha1",
        "kind": "RemediationApprovalRequest",
        "metadata": {"name": name},
        "spec": {
            "aiAnalysisRef": {"name": "none"},
            "approvalContext": {"confidence": 0.7},
            "requiredBy": required_by.round("second").format_iso(),
        },
    }
