"""The operator dies with each of its writes; a remediation ends as one without deaths, and is told once."""

from collections import Counter
from pathlib import Path
from typing import Any

from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from support.account import operator_kubeconfig
from support.clock import ManualClock
from support.remediation_lives import die, live
from support.remediation_scenes import REQUESTS, RemediationScene, analysis, remediation

STEPS = {
    "remediationrequest.created",
    "aianalysis.created",
    "aianalysis.adopted",
    "aianalysis.approving",
    "aianalysis.ready",
    "remediationapprovalrequest.created",
    "remediationapprovalrequest.approval.given",
    "remediationapprovalrequest.approved",
}


async def remedied(scene: RemediationScene, name: str, database: str, *, dies: bool) -> Any:
    """What is to be seen in the end; an operator that `dies` does so with each of its writes."""
    scene.apply(remediation(name), analysis(name=name, of=name))
    cluster, namespace = operator_kubeconfig(scene.cluster.kubeconfig), scene.namespace
    for moment in ("2026-03-02T08:00:00Z", "2026-03-02T08:05:00Z"):  # before somebody decided, and after
        deaths = 0
        while dies and await die(cluster, namespace, moment, database, last=1):
            deaths += 1
        assert bool(deaths) == dies
        await live(cluster, namespace, ManualClock(moment), database)
        [request] = [one for one in scene.all(REQUESTS) if one["spec"]["aiAnalysisRef"]["name"] == name]
        if not request["status"].get("decision"):
            scene.say_on(request["metadata"]["name"], "Approved")
    status = request["status"]
    return (
        scene.phase(name),
        scene.analysis_status(name)["remediationApprovalRequestRef"]["name"] == request["metadata"]["name"],
        scene.remediation_status(name)["phase"],
        status["decision"],
        status["decidedAt"],
        len(scene.get("aianalyses", name)["metadata"]["ownerReferences"]),
    )


async def told(database: str, name: str) -> Counter[str]:
    """What the audit trail has about the objects of one remediation."""
    found: Counter[str] = Counter()
    async with Database(database, read_only=True) as opened:
        async for page in Reader(opened).pages(Filter()):
            found.update(
                one.type for one in page if one.resource.name == name or f"{name}-" in one.resource.name
            )
    return found


async def test_killed_after_each_of_its_writes_it_goes_on_as_if_nothing_had_happened(
    scene: RemediationScene, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/audit.db"
    expected = (("Ready", "Approved"), True, "Ready", "Approved", "2026-03-02T08:05:00Z", 1)
    for name, dies in (("undisturbed", False), ("killed", True)):
        assert await remedied(scene, name, database, dies=dies) == expected
        assert await told(database, name) == Counter(STEPS)
