"""The scaler's decision, as sentences. The clock, the cluster and chance are all arguments."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from decisions.scaler_seen import MONDAY_10, ON_TIME, bodies, condition, deployment, seen
from hibernator.decisions.timewindowscaler import SETTLE_SECONDS, decide, spread
from hibernator.decisions.timewindowscaler_case import LONGEST_SECONDS, Pace


def test_a_target_that_differs_is_written_first_and_the_status_trails() -> None:
    decision = decide(seen(deployment(1), {"effectiveReplicas": 1}), MONDAY_10)
    assert bodies(decision) == [{"spec": {"replicas": 5}}]
    assert decision.status is None
    assert decision.after == SETTLE_SECONDS
    assert [(tell.reason, tell.message.split(":")[0]) for tell in decision.notices] == [
        ("ScaledUp", 'Scaled Deployment "web" from 1 to 5. 5 replicas')
    ]


def test_the_boundary_that_a_write_answers_is_told_so_that_the_lag_can_be_measured() -> None:
    assert decide(seen(deployment(1)), MONDAY_10).due == Instant("2026-03-02T09:00:00Z")


def test_the_status_names_the_release_of_the_holidays_that_count() -> None:
    decision = decide(seen(deployment(5), holiday_data="0.108"), MONDAY_10)
    assert decision.status is not None
    assert decision.status.holiday_data == "0.108"
    without = decide(seen(deployment(5), {"holidayData": "0.108"}), MONDAY_10)
    assert without.status is not None
    assert without.status.holiday_data is None


def test_after_the_write_the_status_waits_for_the_target_to_follow() -> None:
    before = seen(deployment(5, running=1), {"effectiveReplicas": 1}, wrote_at=MONDAY_10)
    decision = decide(before, MONDAY_10 + TimeDelta(milliseconds=500))
    assert (decision.writes, decision.status, decision.after) == ((), None, 1.5)


@pytest.mark.parametrize(("others", "seconds"), [(0, 2.0), (90, 32.0), (900, 302.0), (9_000, 1800.0)])
def test_the_status_waits_longer_while_many_follow_but_not_for_ever(others: int, seconds: float) -> None:
    slow = seen(deployment(5, running=1), {"effectiveReplicas": 1}, wrote_at=MONDAY_10, settling=others)
    end = MONDAY_10 + TimeDelta(seconds=seconds)
    assert decide(slow, end - TimeDelta(seconds=1)).status is None
    assert decide(slow, end).status is not None


def test_whether_the_others_have_followed_is_looked_at_each_minute() -> None:
    written = seen(deployment(1), {"effectiveReplicas": 1}, settling=10_000)
    assert decide(written, MONDAY_10).after == 60.0
    slow = seen(deployment(5, running=1), {"effectiveReplicas": 1}, wrote_at=MONDAY_10, settling=10_000)
    assert decide(slow, MONDAY_10).after == 60.0


def test_once_the_target_has_followed_one_status_tells_it_all() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 1}, wrote_at=MONDAY_10), MONDAY_10)
    status = decision.status
    assert status is not None
    assert (status.current_window, status.effective_replicas, status.target_observed_replicas) == (
        "BusinessHours",
        5,
        5,
    )
    assert status.last_scale_time == MONDAY_10.to_stdlib()
    assert status.next_boundary == Instant("2026-03-02T17:00:00Z").to_stdlib()
    assert (condition(decision, "Ready").status, condition(decision, "Ready").reason) == (
        "True",
        "Reconciled",
    )
    assert condition(decision, "Reconciling").reason == "Stable"
    assert condition(decision, "Degraded").reason == "OperationalNormal"
    assert decision.notices == ()


def test_a_clock_that_is_set_back_after_a_write_keeps_no_status_waiting() -> None:
    slow = seen(deployment(5, running=2), {"effectiveReplicas": 1}, wrote_at=MONDAY_10)
    assert decide(slow, MONDAY_10 - TimeDelta(minutes=50)).status is not None


def test_a_target_that_does_not_follow_in_time_is_reported_as_it_is() -> None:
    slow = seen(deployment(5, running=2), {"effectiveReplicas": 1}, wrote_at=MONDAY_10)
    decision = decide(slow, MONDAY_10 + TimeDelta(seconds=3))
    ready = condition(decision, "Ready")
    assert (ready.status, ready.reason) == ("False", "TargetMismatch")
    assert ready.message == 'Deployment "web" is set to 5 replicas and has 2.'
    assert condition(decision, "Reconciling").reason == "WindowTransition"


def test_while_a_changed_spec_is_being_followed_reconciling_says_so_until_it_is_reached() -> None:
    changed = seen(deployment(5, running=2), {"effectiveReplicas": 1, "observedGeneration": 1})
    first = decide(changed, MONDAY_10)
    assert condition(first, "Reconciling").reason == "ConfigurationChange"
    assert first.status is not None
    again = replace(changed, scaler=msgspec.structs.replace(changed.scaler, status=first.status))
    assert condition(decide(again, MONDAY_10), "Reconciling").reason == "ConfigurationChange"


def test_a_second_pass_decides_the_same_status() -> None:
    steady = seen(deployment(5), {"effectiveReplicas": 5})
    first = decide(steady, MONDAY_10)
    assert first.status is not None
    again = replace(steady, scaler=msgspec.structs.replace(steady.scaler, status=first.status))
    assert decide(again, MONDAY_10 + TimeDelta(minutes=5)).status == first.status


def test_manual_drift_is_corrected_and_called_by_its_name() -> None:
    decision = decide(seen(deployment(7), {"effectiveReplicas": 3}, windows=window(3)), MONDAY_10)
    assert bodies(decision) == [{"spec": {"replicas": 3}}]
    assert [(tell.reason, tell.message) for tell in decision.notices] == [
        ("ScaledDown", "Corrected manual drift from 7 to 3 replicas")
    ]


def window(replicas: int) -> list[dict[str, Any]]:
    return [{"days": ["Mon"], "start": "09:00", "end": "17:00", "replicas": replicas}]


def test_what_ran_before_is_written_down_before_the_first_touch() -> None:
    decision = decide(seen(deployment(8), {"baselineReplicas": None}), MONDAY_10)
    assert decision.first is not None
    assert decision.first.baseline_replicas == 8
    assert bodies(decision) == [{"spec": {"replicas": 5}}]


def test_what_ran_before_is_never_written_down_again() -> None:
    decision = decide(seen(deployment(1), {"baselineReplicas": 8}), MONDAY_10)
    assert decision.first is None


@given(
    until=st.floats(min_value=0, max_value=200_000),
    jitter=st.floats(min_value=0, max_value=1, exclude_max=True),
)
def test_a_look_never_comes_before_its_boundary_nor_after_a_day(until: float, jitter: float) -> None:
    delay = spread(TimeDelta(seconds=until), Pace(), jitter)
    until = TimeDelta(seconds=until).total("seconds")
    assert 30 <= delay <= LONGEST_SECONDS
    assert delay >= min(until, LONGEST_SECONDS)
    assert delay <= max(30.0, until + 25)


@given(until=st.floats(min_value=0, max_value=80_000))
def test_without_jitter_the_look_is_on_the_boundary(until: float) -> None:
    delta = TimeDelta(seconds=until)
    assert spread(delta, ON_TIME, 0.5) == delta.total("seconds")
