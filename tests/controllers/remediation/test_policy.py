"""The approval policy in its ConfigMap: asked, changed and broken while the operator runs."""

from support.operators import running
from support.remediation_scenes import (
    POLICY,
    REQUESTS,
    RemediationScene,
    analysis,
    config_map,
    remediation,
)

PRODUCTION = """package remediation

default approval := {"require_approval": false}

approval := {
    "require_approval": true,
    "reason": "Production is not touched without a second pair of eyes.",
    "timeout": "10m",
    "approvers": {"L1": ["bob@company.com"]},
} if input.remediation.environment == "production"
"""
NEVER = 'package remediation\napproval := {"require_approval": false}\n'
BROKEN = "package remediation\napproval := \n"


def policy(text: str) -> dict[str, object]:
    return config_map(POLICY, **{"policy.rego": text})


async def test_a_policy_has_people_asked_where_the_confidence_alone_would_not(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(policy(PRODUCTION))
        await run.settle()
        scene.apply(remediation(), analysis(0.95))
        scene.apply(remediation("staging", environment="staging"), analysis(0.95, "calm", of="staging"))
        await run.settle()
        assert scene.phase("calm") == ("Ready", "Confident")
        assert scene.phase("oom") == ("Approving", "PolicyRequiresApproval")
        spec = scene.request()["spec"]
        assert spec["approvalContext"]["reason"] == "Production is not touched without a second pair of eyes."
        assert spec["requiredBy"] == "2026-03-02T08:10:00Z"
        assert spec["approvers"] == [{"level": "L1", "emails": ["bob@company.com"]}]
        assert scene.analysis_status("oom")["deadlineSource"] == "Policy"


async def test_a_policy_about_a_remediation_that_is_not_there_lets_nothing_pass(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(policy(PRODUCTION))
        await run.settle()
        scene.apply(analysis(0.95, of="missing"))
        await run.settle()
        assert scene.phase() == ("Approving", "RemediationUnknown")


async def test_a_policy_is_read_again_when_it_changes_and_a_broken_one_wants_approval_for_all(
    scene: RemediationScene,
) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(policy(NEVER))
        await run.settle()
        scene.apply(remediation(), analysis(0.95, "first"))
        await run.settle()
        assert scene.phase("first") == ("Ready", "Confident")
        scene.apply(policy(BROKEN))
        await run.settle()
        await run.until(lambda: "PolicyBroken" in scene.reasons(POLICY))
        scene.apply(analysis(0.95, "second"))
        await run.settle()
        assert scene.phase("second") == ("Approving", "PolicyBroken")
        conditions = {one["type"]: one for one in scene.analysis_status("second")["conditions"]}
        assert conditions["PolicyEvaluated"]["status"] == "False"
        assert "policy.rego, line 2" in conditions["PolicyEvaluated"]["message"]
        scene.apply(policy(NEVER))
        await run.settle()
        scene.apply(analysis(0.95, "third"))
        await run.settle()
        assert scene.phase("third") == ("Ready", "Confident")
        assert scene.phase("second") == ("Approving", "PolicyBroken")  # what was judged is judged
        assert len(await run.trail("policy.loaded")) == 2
        [broken] = await run.trail("policy.broken")
        assert "line 2" in broken.error


async def test_without_a_policy_the_confidence_decides_again(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(policy(BROKEN))
        await run.settle()
        scene.delete("configmap", POLICY)
        await run.settle()
        scene.apply(remediation(), analysis(0.95))
        await run.settle()
        assert scene.phase() == ("Ready", "Confident")
        assert scene.all(REQUESTS) == []
