"""The data flow of approvals on the real control plane, from the analysis to its end."""

import pytest

from support.operators import running
from support.remediation_scenes import (
    BOB,
    CAROL,
    EVE,
    NAMESPACE_MAP,
    REQUESTS,
    RemediationScene,
    analysis,
    config_map,
    remediation,
)


async def test_a_remediation_goes_from_analysis_through_approval_to_ready(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        request, status = scene.request(), scene.analysis_status()
        assert (status["phase"], status["approvalRequired"]) == ("Approving", True)
        assert status["deadlineSource"] == request["status"]["deadlineSource"] == "Default"
        assert status["approvalDeadline"] == request["spec"]["requiredBy"] == "2026-03-02T08:15:00Z"
        assert status["remediationApprovalRequestRef"] == {"name": request["metadata"]["name"]}
        assert request["spec"]["aiAnalysisRef"] == {"name": "oom"}
        assert request["spec"]["approvalContext"] == {
            "confidence": 0.65,
            "recommendedPlaybook": "pod-oom-recovery",
            "reason": "The confidence of 0.65 is below 0.80.",
        }
        [owner] = request["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("RemediationRequest", "oom", True)
        assert scene.remediation_status()["phase"] == "AwaitingApproval"
        await run.operator.trail.flush(60.0)
        scene.say("Approved", BOB, "go ahead", decidedVia="kubectl")
        await run.settle()
        decided = scene.request()["status"]
        assert (decided["decision"], decided["decidedBy"], decided["decidedVia"]) == (
            "Approved",
            BOB,
            "kubectl",
        )
        assert (decided["decidedAt"], decided["decisionMessage"]) == ("2026-03-02T08:00:00Z", "go ahead")
        assert scene.phase() == ("Ready", "Approved")
        assert scene.remediation_status()["phase"] == "Ready"


async def test_every_step_is_in_the_audit_trail_once(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        await run.operator.trail.flush(60.0)
        scene.say("Approved")
        await run.settle()
        steps = [
            "remediationrequest.created",
            "aianalysis.created",
            "aianalysis.adopted",
            "aianalysis.approving",
            "aianalysis.ready",
            "remediationapprovalrequest.created",
            "remediationapprovalrequest.approval.given",
            "remediationapprovalrequest.approved",
        ]
        told = {step: await run.trail(step) for step in steps}
        assert {step: len(found) for step, found in told.items()} == dict.fromkeys(steps, 1)
        [approved] = told["remediationapprovalrequest.approved"]
        assert (approved.actor.id, approved.actor.type) == (BOB, "user")
        about = {entry.correlation_id for found in told.values() for entry in found}
        assert len(about) <= 2  # the uid of the remediation, and that of an analysis before it was adopted


async def test_a_no_ends_it(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        scene.say("Rejected", BOB, "not today")
        await run.settle()
        assert scene.phase() == ("Rejected", "Rejected")
        assert scene.analysis_status()["message"].startswith(f"Rejected by {BOB} at 2026-03-02T08:00:00Z")
        assert len(await run.trail("remediationapprovalrequest.rejected")) == 1


async def test_silence_until_the_deadline_ends_it(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis(approvalTimeout="5m"))
        await run.settle()
        await run.advance(299)
        assert scene.phase() == ("Approving", "MediumConfidence")
        await run.advance(1)
        assert scene.request()["status"]["decision"] == "Expired"
        assert scene.phase() == ("Rejected", "ApprovalTimeout")
        assert scene.analysis_status()["phaseSince"] == "2026-03-02T08:05:00Z"
        assert len(await run.trail("remediationapprovalrequest.expired")) == 1


async def test_what_is_sure_enough_and_what_is_not_asks_no_one(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis(0.8), analysis(0.59, "guess"), analysis(None, "unfinished"))
        await run.settle()
        assert scene.phase("oom") == ("Ready", "Confident")
        assert scene.phase("guess") == ("Rejected", "LowConfidence")
        assert scene.phase("unfinished") == ("Pending", "AwaitingAnalysis")
        assert scene.all(REQUESTS) == []


async def test_the_namespace_says_who_is_asked_and_the_second_level_comes_in_later(
    scene: RemediationScene,
) -> None:
    said = {"approvalTimeout": "20m", "approversL1": BOB, "approversL2": "lead", "escalateAfter": "0.25"}
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(config_map(NAMESPACE_MAP, **said))
        await run.settle()
        scene.apply(remediation(), analysis())
        await run.settle()
        request = scene.request()
        assert request["spec"]["requiredBy"] == "2026-03-02T08:20:00Z"
        assert request["spec"]["approvers"] == [
            {"level": "L1", "emails": [BOB]},
            {"level": "L2", "roles": ["lead"]},
        ]
        assert request["status"]["deadlineSource"] == "Namespace"
        assert f"for one of {BOB}." in request["status"]["message"]
        await run.advance(300)
        assert scene.request()["status"]["escalatedAt"] == "2026-03-02T08:05:00Z"
        assert f"for one of {BOB}, lead." in scene.request()["status"]["message"]
        assert len(await run.trail("remediationapprovalrequest.escalated")) == 1


async def test_a_decision_of_someone_who_is_not_asked_is_set_aside_and_the_right_one_still_counts(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(config_map("hibernator-roles", sre="bob@company.com"))
        scene.apply(config_map(NAMESPACE_MAP, approversL1="sre"))
        await run.settle()
        scene.apply(remediation(), analysis())
        await run.settle()
        scene.say("Approved", EVE)
        await run.settle()
        status = scene.request()["status"]
        assert status.get("decision", "") == ""
        assert [(one["by"], one["reason"]) for one in status["refused"]] == [(EVE, "NotAsked")]
        assert scene.phase() == ("Approving", "MediumConfidence")
        await run.operator.trail.flush(60.0)
        scene.say("Approved", BOB)
        await run.settle()
        assert scene.phase() == ("Ready", "Approved")
        [refused] = await run.trail("remediationapprovalrequest.approval.refused")
        assert refused.actor.id == EVE


@pytest.mark.parametrize("level", ["approversL1", "approversL2"])
async def test_a_role_counts_that_someone_has_by_a_group_of_their_log_in(
    scene: RemediationScene, level: str
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(config_map("hibernator-roles", sre="platform-team"))
        scene.apply(config_map(NAMESPACE_MAP, **{"approversL1": CAROL, level: "sre"}))
        await run.settle()
        scene.apply(remediation(), analysis())
        await run.settle()
        await run.operator.trail.flush(60.0)
        mine = ("platform-team", "everybody")
        scene.say("Approved", BOB, groups=mine, deciderGroups=["platform-team"])
        await run.settle()
        assert scene.phase() == ("Ready", "Approved")
        assert scene.request()["status"]["deciderGroups"] == ["platform-team"]


async def test_people_hear_of_each_step(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        name = scene.request()["metadata"]["name"]
        await run.operator.trail.flush(60.0)
        scene.say("Approved")
        await run.until(lambda: scene.reasons(name) == {"Waiting", "Approved"})
        heard = {"ApprovalRequested", "AwaitingApproval", "MediumConfidence", "Approved", "Ready"}
        await run.until(lambda: scene.reasons("oom") >= heard)
