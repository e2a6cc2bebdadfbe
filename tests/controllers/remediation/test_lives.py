"""The data flow of approvals on the real control plane, from the analysis to its end."""

import asyncio
from pathlib import Path

from support.operators import running
from support.remediation_scenes import (
    BOB,
    RemediationScene,
    analysis,
    remediation,
)


async def test_a_remediation_goes_from_the_analysis_through_consent_to_ready(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(remediation(), analysis())
        await run.settle()
        request = scene.request()
        status = scene.analysis_status()
        assert (status["phase"], status["approvalRequired"], status["deadlineSource"]) == (
            "Approving",
            True,
            "Default",
        )
        assert status["approvalDeadline"] == request["spec"]["requiredBy"] == "2026-03-02T08:15:00Z"
        assert status["remediationApprovalRequestRef"] == {"name": request["metadata"]["name"]}
        assert request["spec"]["approvalContext"] == {
            "confidence": 0.65,
            "recommendedPlaybook": "pod-oom-recovery",
            "reason": "The confidence of 0.65 is below 0.80.",
        }
        [owner] = request["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("RemediationRequest", "oom", True)
        assert request["status"]["deadlineSource"] == "Default"
        assert scene.remediation_status()["phase"] == "AwaitingApproval"
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
