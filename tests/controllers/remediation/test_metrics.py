"""How many remediations wait for people, and what becomes of them, is counted."""

import asyncio

from hibernator.controllers.metrics import DECISION_SECONDS, DECISIONS, OLDEST_SECONDS, WAITING
from support.operators import running
from support.remediation_scenes import REQUESTS, RemediationScene, analysis, remediation

KIND = "RemediationApprovalRequest"


async def test_requests_are_counted_while_they_wait_and_by_how_they_end(scene: RemediationScene) -> None:
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        for name in ("oom", "slow", "gone"):
            scene.apply(remediation(name), analysis(name=name, of=name))
        await run.until(lambda: len(scene.all(REQUESTS)) == 3)
        await run.settle()
        assert run.metric(WAITING, KIND) == 3
        of = {one["spec"]["aiAnalysisRef"]["name"]: one["metadata"]["name"] for one in scene.all(REQUESTS)}
        await run.operator.trail.flush()
        await asyncio.to_thread(scene.say_on, of["oom"], "Approved")
        await run.until(lambda: run.metric(DECISIONS, KIND, "approved") == 1)
        assert run.metric(DECISION_SECONDS, KIND) == 1
        await asyncio.to_thread(scene.delete, REQUESTS, of["gone"])
        await run.until(lambda: run.metric(DECISIONS, KIND, "withdrawn") == 1)
        await run.advance(900)
        await run.until(lambda: run.metric(DECISIONS, KIND, "expired") >= 1)
        assert run.metric(DECISION_SECONDS, KIND) == 1  # nobody has decided those
        await run.until(lambda: run.metric(WAITING, KIND) == 0)
        assert run.metric(OLDEST_SECONDS, KIND) == 0
