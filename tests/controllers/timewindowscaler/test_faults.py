"""What a scaler does when the world is not as it should be. Faults are real ones, by a proxy."""

import pytest

from support.clock import ManualClock
from support.faultproxy import FaultProxy
from support.faults import Answer, Drop
from support.operators import Running, running
from support.scaler_scenes import Scene, scaler, workload

TARGET = "/deployments/web"


async def test_a_missing_target_is_found_as_soon_as_it_is_there(scene: Scene) -> None:
    scene.apply(scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("reason") == "TargetNotFound")
        assert await seconds_until_the_next_look(run) == 30
        scene.apply(workload())
        await run.until(lambda: scene.replicas() == 1)


async def test_an_unknown_zone_falls_back_to_the_default_and_is_looked_at_every_five_minutes(
    scene: Scene,
) -> None:
    scene.apply(workload(), scaler(timezone="Mars/Olympus_Mons", defaultReplicas=3))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Degraded").get("reason") == "InvalidTimezone")
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        assert scene.replicas() == 3
        assert "Mars/Olympus_Mons" in scene.condition("Degraded")["message"]
        assert await seconds_until_the_next_look(run) == 300
        scene.apply(scaler(timezone="UTC", defaultReplicas=3))
        await run.advance_to("2026-03-02T09:00:00Z")
        assert scene.replicas() == 4
        assert scene.condition("Degraded")["status"] == "False"


async def test_a_conflict_is_tried_again_at_once(scene: Scene, proxy: FaultProxy) -> None:
    scene.apply(workload(), scaler())
    rule = proxy.next(method="PATCH", path=TARGET, action=Answer(409, "Conflict"))
    async with running(proxy.kubeconfig, scene.namespace) as run:
        await rule.hit()
        await run.until(lambda: scene.replicas() == 1)


async def test_a_throttled_write_waits_as_long_as_it_is_told_to(scene: Scene, proxy: FaultProxy) -> None:
    scene.apply(workload(), scaler())
    async with running(proxy.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        proxy.next(method="PATCH", path=TARGET, action=Answer(429, "TooManyRequests", retry_after=7))
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.advance(6.9)
        assert scene.replicas() == 1
        await run.advance(2)
        assert scene.replicas() == 4


async def test_server_errors_are_tried_again_after_30_seconds_1_2_and_5_minutes(
    scene: Scene, proxy: FaultProxy
) -> None:
    scene.apply(workload(), scaler())
    async with running(proxy.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        proxy.next(method="PATCH", path=TARGET, action=Answer(503, "ServiceUnavailable"), times=99)
        await run.advance_to("2026-03-02T09:00:00Z")
        for seconds in (30, 60, 120, 300, 300):
            assert 0.8 * seconds <= await seconds_until_the_next_look(run) <= seconds
        proxy.clear()
        await run.advance(300)
        assert scene.replicas() == 4


async def seconds_until_the_next_look(run: Running) -> float:
    """Let time pass until the scaler is looked at again, and say how much it was."""
    began, looks = run.clock.now(), run.looks("timewindowscaler")
    while run.looks("timewindowscaler") == looks:
        await run.clock.advance_to(run.clock.pending()[0])
    return (run.clock.now() - began).total("seconds")


@pytest.mark.parametrize(
    "answer", [Answer(403, "Forbidden"), Answer(422, "Invalid"), Answer(500, "InternalError")], ids=str
)
async def test_a_refused_write_is_told_once_and_tried_again_with_patience(
    scene: Scene, proxy: FaultProxy, answer: Answer
) -> None:
    scene.apply(workload(), scaler())
    async with running(proxy.kubeconfig, scene.namespace) as run:
        run.forbidden = frozenset({"deployments.apps"})
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        proxy.next(method="PATCH", path=TARGET, action=answer, times=99)
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.condition("Ready").get("reason") == "TargetRefused")
        assert 'refuses to scale Deployment "web"' in scene.condition("Degraded")["message"]
        await run.settle()
        told = scene.get("tws", "hours")["metadata"]["resourceVersion"]
        looks = run.looks("timewindowscaler")
        await run.advance(3600)
        assert run.looks("timewindowscaler") - looks < 30
        assert scene.get("tws", "hours")["metadata"]["resourceVersion"] == told
        proxy.clear()
        await run.advance(300)
        await run.until(lambda: scene.condition("Degraded").get("status") == "False")
        assert scene.replicas() == 4
        assert not [message for _, message, _ in scene.events() if "drift" in message]


async def test_a_lost_answer_leads_to_no_second_write(scene: Scene, proxy: FaultProxy) -> None:
    scene.apply(workload(), scaler())
    rule = proxy.next(method="PATCH", path=TARGET, action=Drop())
    async with running(proxy.kubeconfig, scene.namespace) as run:
        await rule.hit()
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        assert scene.replicas() == 1
        # A look at the version before the lost one may still ask, and is told that it is too late.
        changes = [
            write
            for write in scene.cluster.writes(scene.namespace)
            if (write.verb, write.resource, write.subresource, write.code)
            == ("patch", "deployments", "", 200)
        ]
        assert len(changes) == 1


async def test_a_process_that_dies_between_target_and_status_is_completed_by_the_next(
    scene: Scene, proxy: FaultProxy
) -> None:
    scene.apply(workload(replicas=1), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
    proxy.next(method="PATCH", path="/timewindowscalers/hours/status", action=Answer(503, "Dying"), times=9)
    async with running(proxy.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        assert scene.replicas() == 4
        assert scene.status()["effectiveReplicas"] == 1
    proxy.clear()
    async with running(proxy.kubeconfig, scene.namespace, ManualClock("2026-03-02T09:01:00Z")) as run:
        await run.until(lambda: scene.status()["effectiveReplicas"] == 4)
        assert scene.status()["lastScaleTime"] == "2026-03-02T09:00:00Z", "when it was, not when it was told"
        assert [one.time.format_iso() for one in await run.trail("timewindowscaler.scaled")] == [
            "2026-03-02T09:00:00Z"
        ]
        assert scene.replicas() == 4
