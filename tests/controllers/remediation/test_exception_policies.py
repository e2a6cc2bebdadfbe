"""An ExceptionPolicy about remediations, in a cluster with the policies and roles that are shipped."""

from support.operators import running
from support.remediation_scenes import BOB, CAROL, EVE, RemediationScene, analysis, remediation

POLICY = {
    "apiVersion": "hibernator.ardikabs.com/v1alpha1",
    "kind": "ExceptionPolicy",
    "metadata": {"name": "four-eyes"},
    "spec": {"remediationSelector": {}, "require": {"emails": [BOB, CAROL], "threshold": 2}},
}


async def test_a_remediation_waits_for_everybody_whom_a_policy_asks_for(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(POLICY)
        await run.settle()
        scene.apply(remediation(), analysis())
        await run.settle()
        asked = scene.request()["status"]["requiredApprovals"]
        assert [(one["email"], one["policy"], one["needed"]) for one in asked] == [
            (BOB, "four-eyes", 2),
            (CAROL, "four-eyes", 2),
        ]
        scene.say("Approved", BOB)
        await run.settle()
        status = scene.request()["status"]
        assert [one["approvedBy"] for one in status["approvals"]] == [BOB]
        assert (status.get("decision", ""), status.get("decidedBy", "")) == ("", "")
        scene.say("Approved", EVE)
        await run.settle()
        status = scene.request()["status"]
        assert [one["approvedBy"] for one in status["approvals"]] == [BOB, EVE]
        assert not status.get("decision"), "Eve may approve here, and the policy asks for others"
        assert scene.phase()[0] == "Approving"
        scene.say("Approved", CAROL)
        await run.settle()
        assert scene.request()["status"]["decision"] == "Approved"
        assert scene.phase()[0] == "Ready"
