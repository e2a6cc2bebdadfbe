"""The whole operator in a cluster with nothing but what is shipped: nothing that it does is forbidden."""

import asyncio
from typing import Any

from admission.operating import operating
from support.account import HOME
from support.exception_scenes import ExceptionScene
from support.plan_scenes import every_kind, plan, workloads
from support.policed import ALICE, BOB, Room, wish
from support.remediation_scenes import RemediationScene, analysis, remediation
from support.scaler_scenes import scaler, workload

KINDS = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job")


async def test_the_shipped_roles_are_all_that_the_operator_needs(room: Room) -> None:
    scene, helper = (
        ExceptionScene(room.cluster, room.namespace),
        RemediationScene(room.cluster, room.namespace),
    )
    call = asyncio.to_thread
    async with operating(room, leader_elect=True) as run:
        scaled: dict[str, Any] = {"targetRef": {"kind": "Deployment", "name": "shop"}}
        await call(scene.create, *every_kind(), plan(workloads("all", room.namespace, *KINDS), name="nights"))
        await call(scene.apply, workload(name="shop"), scaler(**scaled))
        asked = wish("event", None, planRef={"name": "nights"}, approverEmails=[BOB])
        await call(room(ALICE).create, asked)
        await call(scene.apply, remediation(), analysis())
        await run.until(lambda: scene.state("event") == "Pending" and helper.phase()[0] == "Approving")
        await call(helper.say, "Approved")
        await run.until(lambda: helper.phase()[0] == "Ready")
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas("shop") == 4)
        await run.advance_to("2026-03-02T20:00:00Z")
        await run.until(lambda: scene.phase() == "Hibernated")
        await run.advance_to("2026-03-03T06:00:00Z")
        await run.until(lambda: scene.phase() == "Active")
        await call(room(ALICE).kubectl, "delete", "schedex", "event")
        await call(scene.delete, "hplan", "nights")
    mine = [write for write in room.cluster.writes() if write.user == HOME.user]
    assert mine
    assert [write for write in mine if write.code in {401, 403}] == []
