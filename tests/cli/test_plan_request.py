"""`hibernator plan wake` and `sleep`: success is what was seen, and what is missing is named."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.meta import ObjectMeta
from hibernator.api.scheduleexception import (
    PlanReference,
    RequiredApproval,
    ScheduleException,
    ScheduleExceptionSpec,
    ScheduleExceptionStatus,
)
from hibernator.cli import leader
from hibernator.cli.exits import Exit
from hibernator.cli.plan_request import missing
from hibernator.decisions.scheduleexception_new import WAKE, at_once as exception
from hibernator.operator.app import LEASE
from hibernator.schedule.errors import TimeError
from hibernator.schedule.periods import at_once, period
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.desk import Desk
from support.plan_drill import spec
from support.plan_scenes import EVENING, PlanScene, noop, plan

NOON = "2026-03-02T12:00:00Z"


@pytest.fixture
def desk(crds: ClusterInTest, namespace: str, tmp_path: Path) -> Desk:
    scene = PlanScene(crds, namespace)
    scene.create(plan(noop("drill")))
    return Desk(scene, tmp_path)


async def test_success_is_reported_when_the_plan_is_awake_and_when_it_is_asleep(desk: Desk) -> None:
    async with desk.scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: desk.scene.phase() == "Hibernated")
        woken = await desk.type(EVENING, "plan", "wake", "nights", "--for", "2h", "--reason", "Late.")
        assert woken.code == Exit.OK, woken.err
        requested, done = woken.out.splitlines()
        until = "until Mon 2026-03-02 22:00 UTC (in 2h)"
        name = "nights-wake-20260302-200000"
        assert requested == f"requested: nights awake {until}, by ScheduleException {name}"
        assert done == f"nights is awake {until}"
        assert desk.scene.phase() == "Active"
        (filed,) = desk.scene.listed("ScheduleException")
        assert filed["spec"]["reason"] == "Late."
        assert filed["metadata"]["annotations"]["hibernator.ardikabs.com/requested-by"]


async def test_a_plan_is_put_to_sleep_until_a_time_in_its_zone(desk: Desk) -> None:
    async with desk.scene.operator(ManualClock(NOON)) as run:
        await run.until(lambda: desk.scene.phase() == "Active")
        slept = await desk.type(NOON, "plan", "sleep", "nights", "--until", "tomorrow 05:00")
        assert slept.code == Exit.OK, slept.err
        assert slept.out.splitlines()[-1] == "nights is asleep until Tue 2026-03-03 05:00 UTC (in 17h)"
        assert desk.scene.phase() == "Hibernated"


async def test_without_an_operator_nothing_is_said_to_be_done(desk: Desk) -> None:
    woken = await desk.type(EVENING, "plan", "wake", "nights", "--timeout", "1s")
    assert woken.code == Exit.UNAVAILABLE
    assert woken.out.startswith("requested: nights awake until Mon 2026-03-02 22:00 UTC (in 2h)")
    assert "error: The operator has not answered within 1s; nights is as it was." in woken.err
    assert len(woken.err.splitlines()) == 2


async def test_whoever_does_not_wait_hears_only_that_it_is_requested(desk: Desk) -> None:
    woken = await desk.type(EVENING, "plan", "wake", "nights", "--no-wait")
    assert (woken.code, woken.err) == (Exit.OK, "")
    assert woken.out.startswith("requested: ")
    assert len(woken.out.splitlines()) == 1


async def test_what_is_not_in_force_yet_says_why_and_ends_with_a_code_of_its_own(desk: Desk) -> None:
    async with desk.scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: desk.scene.phase() == "Hibernated")
        await desk.type(EVENING, "plan", "wake", "nights")
        again = await desk.type("2026-03-02T20:00:01Z", "plan", "wake", "nights", "--timeout", "1s")
        assert again.code == Exit.CONFLICT
        assert "nights is as it was. Plan nights already has active exception" in again.err
        waits, now, never = again.err.splitlines()[1:]
        assert waits == "nights-wake-20260302-200001 takes over when that ends, at Mon 2026-03-02 22:00 UTC."
        assert now.startswith("To have it now: `hibernator exception cancel nights-wake-20260302-200000 -n ")
        assert never.startswith("To withdraw it: `hibernator exception cancel nights-wake-20260302-200001 -n")
        short = await desk.type("2026-03-02T20:00:02Z", "plan", "sleep", "nights", "--for", "1h")
        assert "nights-sleep-20260302-200002 is over by then, and does nothing." in short.err


async def test_a_suspended_plan_is_not_asked_for_anything(desk: Desk) -> None:
    await desk.type(NOON, "plan", "suspend", "nights", "--no-wait")
    woken = await desk.type(NOON, "plan", "wake", "nights")
    assert woken.code == Exit.FOUND
    assert "nights is suspended, so that it follows neither its schedule nor an exception." in woken.err
    assert "`hibernator plan resume nights -n" in woken.err
    assert desk.scene.listed("ScheduleException") == []
    await desk.type(NOON, "plan", "suspend", "nights", "--until", "13:00")
    over = await desk.type("2026-03-02T13:00:00Z", "plan", "wake", "nights", "--no-wait")
    assert "requested: nights awake until Mon 2026-03-02 15:00 UTC" in over.out


def test_those_who_must_approve_are_named() -> None:
    needed = (
        RequiredApproval(status="approved", email="bob@company.com"),
        RequiredApproval(status="pending", email="eve@company.com"),
        RequiredApproval(status="pending", role="manager"),
    )
    body = ScheduleExceptionSpec(
        plan_ref=PlanReference(name="nights"),
        type="suspend",
        valid_from=datetime(2026, 3, 2, tzinfo=UTC),
        valid_until=datetime(2026, 3, 3, tzinfo=UTC),
        windows=(),
    )
    status = ScheduleExceptionStatus(state="Pending", required_approvals=needed)
    made = ScheduleException(metadata=ObjectMeta(name="late"), spec=body, status=status)
    assert missing(made) == "These people must approve it first: eve@company.com, a member of manager."


def test_an_exception_holds_all_day_for_as_long_as_it_is_valid() -> None:
    found = HibernatePlan(metadata=ObjectMeta(name="nights", namespace="shop"), spec=spec("a"))
    now, until = Instant("2026-03-02T20:00:00Z"), Instant("2026-03-02T22:00:00Z")
    filed = exception(found, WAKE, now, until, "", {})
    assert filed["metadata"]["name"] == "nights-wake-20260302-200000"
    assert filed["spec"]["validUntil"] == "2026-03-02T22:00:00Z"


def test_a_period_has_one_end_that_is_after_its_beginning_and_not_too_far() -> None:
    now = Instant(NOON)
    with pytest.raises(TimeError, match="--for and --until both say when it ends"):
        period(None, "2h", "07:00")
    with pytest.raises(TimeError, match="it does not say when it ends"):
        period(None, None, None)
    with pytest.raises(TimeError, match=r"it would begin at .* and end at"):
        period("tomorrow", None, "today 18:00")("UTC", now)
    with pytest.raises(TimeError, match="is more than 90 days away"):
        at_once("91d", None, otherwise="2h")("UTC", now)
    assert period("tomorrow", "2h", None)("UTC", now) == (
        Instant("2026-03-03T00:00:00Z"),
        Instant("2026-03-03T02:00:00Z"),
    )


def test_the_lease_is_the_one_that_the_operator_takes() -> None:
    assert leader.LEASE == LEASE
