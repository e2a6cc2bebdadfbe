"""The scenarios and use cases of the document, by their names, with a real Deployment."""

from support.clock import ManualClock
from support.exception_scenes import EVERY_DAY, WEEKDAYS, ExceptionScene, exception, hours


async def test_scenario_1_extend_hibernation_during_weekend_event(scene: ExceptionScene) -> None:
    scene.plan_over_web()
    scene.apply(
        exception(
            "conference-weekend",
            type="extend",
            validFrom="2026-02-10T00:00:00Z",
            validUntil="2026-02-15T23:59:59Z",
            windows=hours("00:00", "23:59", ["Saturday", "Sunday"]),
        )
    )
    async with scene.operator(ManualClock("2026-02-13T12:00:00Z")) as run:
        assert scene.state("conference-weekend") == "Active"
        assert scene.entries() == [("conference-weekend", "Active")]
        assert not scene.is_asleep()
        await run.advance_to("2026-02-14T12:00:00Z")
        assert scene.is_asleep()
        await run.advance_to("2026-02-15T23:59:59Z")
        assert scene.exception_status("conference-weekend")["expiredAt"] == "2026-02-15T23:59:59Z"
        assert scene.entries() == [("conference-weekend", "Expired")]
        assert not scene.is_asleep()


async def test_scenario_2_extend_hibernation_for_additional_work_windows(scene: ExceptionScene) -> None:
    scene.plan_over_web(start="22:00", end="01:00")
    scene.apply(
        exception(
            "early-bird-support",
            type="extend",
            validFrom="2026-01-29T00:00:00Z",
            validUntil="2026-02-28T23:59:59Z",
            windows=hours("01:00", "06:00", WEEKDAYS),
        )
    )
    async with scene.operator(ManualClock("2026-02-03T05:59:59Z")) as run:
        assert scene.is_asleep()
        await run.advance_to("2026-02-03T06:00:00Z")
        assert not scene.is_asleep()


async def test_scenario_3_suspend_with_lead_time_maintenance_window(scene: ExceptionScene) -> None:
    # A Saturday, as its windows say; the document's dates have it on a Sunday.
    scene.plan_over_web("prod-plan", start="20:30", daysOfWeek=["Saturday"])
    scene.apply(
        exception(
            "maintenance-window",
            "prod-plan",
            type="suspend",
            validFrom="2026-01-31T20:00:00Z",
            validUntil="2026-02-01T02:00:00Z",
            leadTime="1h",
            windows=hours("21:00", "02:00", ["Saturday"]),
        )
    )
    async with scene.operator(ManualClock("2026-01-31T19:00:00Z")) as run:
        for moment in ("20:30:00", "21:00:00", "23:00:00"):
            await run.advance_to(f"2026-01-31T{moment}Z")
            assert not scene.is_asleep()
        await run.advance_to("2026-02-01T02:00:00Z")
        assert scene.state("maintenance-window") == "Expired"
        assert scene.is_asleep()


async def test_alternative_scenario_hibernation_already_started(scene: ExceptionScene) -> None:
    scene.plan_over_web(start="18:00", daysOfWeek=["Saturday"])
    scene.apply(
        exception(
            "maintenance-window",
            type="suspend",
            validFrom="2026-01-31T17:00:00Z",
            validUntil="2026-02-01T02:00:00Z",
            leadTime="1h",
            windows=hours("21:00", "02:00", ["Saturday"]),
        )
    )
    async with scene.operator(ManualClock("2026-01-31T18:00:00Z")) as run:
        assert scene.is_asleep()
        await run.advance_to("2026-01-31T20:59:59Z")
        assert scene.is_asleep()
        await run.advance_to("2026-01-31T21:00:00Z")
        assert not scene.is_asleep()


async def test_use_case_1_on_site_event_original_problem(scene: ExceptionScene) -> None:
    scene.plan_over_web("event-support", zone="America/New_York")
    scene.apply(
        exception(
            "on-site-event",
            "event-support",
            type="extend",
            validFrom="2026-01-29T00:00:00Z",
            validUntil="2026-02-28T23:59:59Z",
            windows=[*hours("06:00", "11:00", ["Saturday", "Sunday"]), *hours("01:00", "06:00", WEEKDAYS)],
        )
    )
    async with scene.operator(ManualClock("2026-02-07T11:00:00Z")) as run:  # Saturday 06:00 in New York
        assert scene.is_asleep()
        await run.advance_to("2026-02-07T16:00:00Z")
        assert not scene.is_asleep()
        impact = scene.exception_status("on-site-event")["impact"]
        assert (impact["hoursAsleepLost"], impact["workloads"]) == (0.0, 1)
        await run.advance_to("2026-03-07T12:00:00Z")
        assert scene.entries("event-support") == [("on-site-event", "Expired")]
        assert not scene.is_asleep()


async def test_use_case_2_quarterly_sprint(scene: ExceptionScene) -> None:
    scene.plan_over_web()
    scene.apply(
        exception(
            "q1-sprint-push",
            type="extend",
            validFrom="2026-02-15T00:00:00Z",
            validUntil="2026-03-15T23:59:59Z",
            windows=hours("06:00", "18:00", WEEKDAYS),
        )
    )
    async with scene.operator(ManualClock("2026-02-16T17:59:59Z")) as run:
        assert scene.is_asleep()
        await run.advance_to("2026-02-16T18:00:00Z")
        assert not scene.is_asleep()


async def test_use_case_3_holiday_schedule_replace(scene: ExceptionScene) -> None:
    scene.plan_over_web("prod-plan")
    scene.apply(
        exception(
            "holiday-week",
            "prod-plan",
            type="replace",
            validFrom="2026-12-24T00:00:00Z",
            validUntil="2026-12-31T23:59:59Z",
            windows=hours("00:00", "23:59", EVERY_DAY),
        )
    )
    async with scene.operator(ManualClock("2026-12-26T12:00:00Z")) as run:
        assert scene.is_asleep()
        await run.advance_to("2026-12-31T23:59:58Z")
        assert scene.is_asleep()
        # Thursday night is the plan's own sleep; Friday noon is not.
        await run.advance_to("2027-01-01T12:00:00Z")
        assert scene.state("holiday-week") == "Expired"
        assert not scene.is_asleep()
