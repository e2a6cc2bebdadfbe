"""Scalers on the real control plane: a day passes in no time."""

from importlib.metadata import version

from support.clock import ManualClock
from support.operators import running
from support.scaler_scenes import Scene, holidays, scaler, workload


async def test_the_target_follows_its_windows_through_a_day(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.replicas() == 1)
        await run.advance_to("2026-03-02T08:59:59Z")
        assert scene.replicas() == 1
        await run.advance_to("2026-03-02T09:00:00Z")
        assert scene.replicas() == 4
        await run.advance_to("2026-03-02T16:59:59Z")
        assert scene.replicas() == 4
        await run.advance_to("2026-03-02T17:00:00Z")
        assert scene.replicas() == 1


async def test_the_status_says_all_that_the_design_promises(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.status().get("targetObservedReplicas") == 4)
        status = scene.status()
    assert {key: status[key] for key in status if key not in {"conditions", "journal"}} == {
        "currentWindow": "BusinessHours",
        "effectiveReplicas": 4,
        "lastScaleTime": "2026-03-02T09:00:00Z",
        "targetObservedReplicas": 4,
        "observedGeneration": 1,
        "baselineReplicas": 2,
        "nextBoundary": "2026-03-02T17:00:00Z",
        "scalings": 2,
    }
    assert [one["type"] for one in status["journal"]][-1] == "scaled"
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("Ready", "True", "Reconciled"),
        ("Reconciling", "False", "Stable"),
        ("Degraded", "False", "OperationalNormal"),
    ]


async def test_a_transition_costs_two_writes_and_a_quiet_day_none(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        before = scene.writes()
        await run.advance_to("2026-03-02T16:59:59Z")
        assert scene.writes() == before
        await run.advance_to("2026-03-02T17:00:00Z")
        await run.until(lambda: scene.status()["targetObservedReplicas"] == 1)
        assert scene.writes()[len(before) :] == [
            ("deployments", "", "web"),
            ("timewindowscalers", "status", "hours"),
        ]


async def test_what_ran_before_is_durable_before_the_target_is_touched(scene: Scene) -> None:
    scene.apply(workload(replicas=3), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.replicas() == 1)
        await run.until(lambda: scene.status().get("baselineReplicas") == 3)
    touched = [write for write in scene.writes() if write[0] in {"deployments", "timewindowscalers"}][2:]
    assert touched[:2] == [("timewindowscalers", "status", "hours"), ("deployments", "", "web")]


async def test_whoever_sets_the_number_back_each_time_is_told_of_and_tried_again_in_a_minute(
    scene: Scene,
) -> None:
    def meddle() -> None:
        scene.cluster.kubectl("scale", "deployment/web", "--replicas=7", "-n", scene.namespace)

    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        for _ in range(5):
            meddle()
            await run.until(lambda: scene.replicas() == 1)
        meddle()
        await run.until(lambda: scene.condition("Ready").get("reason") == "TargetContested")
        assert scene.replicas() == 7
        await run.advance(60)
        await run.until(lambda: scene.replicas() == 1)
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        assert scene.condition("Degraded")["status"] == "False"


async def test_manual_drift_is_corrected_at_once_and_told(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        scene.cluster.kubectl("scale", "deployment/web", "--replicas=7", "-n", scene.namespace)
        await run.until(lambda: scene.replicas() == 1)
        await run.until(
            lambda: ("ScaledDown", "Corrected manual drift from 7 to 1 replicas", 1) in scene.events()
        )


async def test_a_paused_scaler_watches_and_tells_but_does_not_touch(scene: Scene) -> None:
    scene.apply(workload(), scaler(pause=True))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.status().get("effectiveReplicas") == 4)
        assert scene.replicas() == 2
        assert scene.condition("Ready")["reason"] == "TargetMismatch"
        await run.until(lambda: "ScalingSkipped" in {reason for reason, _, _ in scene.events()})
        scene.apply(scaler(pause=False))
        await run.until(lambda: scene.replicas() == 4)


async def test_a_grace_period_keeps_the_replicas_for_its_length(scene: Scene) -> None:
    scene.apply(workload(), scaler(gracePeriodSeconds=120))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T17:00:00Z")
        assert scene.status()["gracePeriodExpiry"] == "2026-03-02T17:02:00Z"
        assert scene.condition("Reconciling")["reason"] == "WindowTransition"
        await run.advance_to("2026-03-02T17:01:59Z")
        assert scene.replicas() == 4
        await run.advance_to("2026-03-02T17:02:00Z")
        assert scene.replicas() == 1


async def test_a_grace_period_survives_a_restart(scene: Scene) -> None:
    scene.apply(workload(), scaler(gracePeriodSeconds=120))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T17:00:30Z")
        clock = ManualClock(run.clock.now())
    async with running(scene.cluster.kubeconfig, scene.namespace, clock) as run:
        await run.advance_to("2026-03-02T17:01:59Z")
        assert scene.replicas() == 4
        await run.advance_to("2026-03-02T17:02:00Z")
        assert scene.replicas() == 1


async def test_holidays_close_open_or_do_not_matter_and_a_change_is_seen_at_once(
    scene: Scene,
) -> None:
    block = {"mode": "treat-as-closed", "sourceRef": {"name": "days-off"}}
    scene.apply(workload(), scaler(holidays=block), holidays("2026-12-25"))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T10:00:00Z")
        assert scene.replicas() == 4
        scene.apply(holidays("2026-12-25", "2026-03-02"))
        await run.until(lambda: scene.replicas() == 1)
        await run.until(lambda: "WindowOverride" in {reason for reason, _, _ in scene.events()})
        scene.apply(scaler(holidays={**block, "mode": "treat-as-open"}))
        await run.until(lambda: scene.replicas() == 4)
        await run.advance_to("2026-03-02T20:00:00Z")
        assert scene.replicas() == 4
        assert "holidayData" not in scene.status()
        scene.apply(scaler(holidays={**block, "mode": "treat-as-open", "country": "DE"}))
        await run.until(lambda: scene.status().get("holidayData") == version("holidays"))
        scene.apply(scaler(holidays={**block, "mode": "ignore"}))
        await run.until(lambda: scene.replicas() == 1)


async def test_a_missing_holiday_source_degrades_until_it_is_there(scene: Scene) -> None:
    scene.apply(workload(), scaler(holidays={"mode": "treat-as-open", "sourceRef": {"name": "days-off"}}))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Degraded").get("reason") == "HolidaySourceMissing")
        assert scene.replicas() == 1
        scene.apply(holidays("2026-03-02"))
        await run.until(lambda: scene.condition("Degraded").get("reason") == "OperationalNormal")
        await run.until(lambda: scene.replicas() == 4)


async def test_the_same_transition_is_not_told_again_within_five_minutes_nor_by_a_new_process(
    scene: Scene,
) -> None:
    scene.apply(workload(replicas=1), scaler())
    told = ("ScaledDown", "Corrected manual drift from 7 to 1 replicas")
    clock = None
    for _ in range(2):
        async with running(scene.cluster.kubeconfig, scene.namespace, clock) as run:
            await run.until(lambda: scene.condition("Ready").get("status") == "True")
            scene.cluster.kubectl("scale", "deployment/web", "--replicas=7", "-n", scene.namespace)
            await run.until(lambda: scene.replicas() == 1)
            await run.advance(60)
            clock = ManualClock(run.clock.now())
    assert [count for reason, message, count in scene.events() if (reason, message) == told] == [1]


async def test_every_scaling_is_in_the_audit_trail_once(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.status()["targetObservedReplicas"] == 4)
        await run.advance_to("2026-03-02T12:00:00Z")
        trail = await run.trail("timewindowscaler.scaled")
    assert [(event.time.format_iso(unit="second"), event.resource.name) for event in trail] == [
        ("2026-03-02T08:00:00Z", "hours"),
        ("2026-03-02T09:00:00Z", "hours"),
    ]
