"""When the windows alone do not decide: pauses, graces and holidays."""

from dataclasses import replace
from datetime import date

import msgspec
import pytest
from whenever import Instant, TimeDelta

from decisions.scaler_seen import MONDAY_10, bodies, condition, deployment, seen, spec
from hibernator.decisions.timewindowscaler import decide
from hibernator.decisions.timewindowscaler_case import Seen
from hibernator.schedule.holidays import Holidays
from hibernator.schedule.scaler import ScalerTimeline


def test_a_pause_computes_and_tells_but_does_not_touch() -> None:
    decision = decide(seen(deployment(2), {"effectiveReplicas": 1}, pause=True), MONDAY_10)
    assert decision.writes == ()
    assert decision.status is not None
    assert (decision.status.effective_replicas, decision.status.last_scale_time) == (5, None)
    assert (condition(decision, "Ready").status, condition(decision, "Ready").reason) == (
        "False",
        "TargetMismatch",
    )
    assert [tell.reason for tell in decision.notices] == ["ScalingSkipped"]
    assert "would scale" in decision.notices[0].message
    assert "from 2 to 5" in decision.notices[0].message


def test_a_pause_tells_the_same_thing_only_once() -> None:
    paused = seen(deployment(2), {"effectiveReplicas": 5}, pause=True)
    first = decide(paused, MONDAY_10)
    assert first.status is not None
    again = replace(paused, scaler=msgspec.structs.replace(paused.scaler, status=first.status))
    assert decide(again, MONDAY_10 + TimeDelta(minutes=1)).notices == ()


def test_a_paused_scaler_whose_target_is_right_is_ready() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 5}, pause=True), MONDAY_10)
    assert condition(decision, "Ready").status == "True"
    assert decision.notices == ()


def test_leaving_a_window_at_14_00_with_120_seconds_of_grace_keeps_the_replicas_until_14_02() -> None:
    until_two = [{"days": ["Mon"], "start": "09:00", "end": "14:00", "replicas": 5}]
    leaving = Instant("2026-03-02T14:00:00Z")
    start = decide(
        seen(deployment(5), {"effectiveReplicas": 5}, windows=until_two, gracePeriodSeconds=120), leaving
    )
    assert start.writes == ()
    assert start.status is not None
    assert start.status.effective_replicas == 5
    assert start.status.grace_period_expiry == Instant("2026-03-02T14:02:00Z").to_stdlib()
    assert condition(start, "Reconciling").reason == "WindowTransition"
    assert start.after == 120

    kept = seen(deployment(5), msgspec.to_builtins(start.status), windows=until_two, gracePeriodSeconds=120)
    assert decide(kept, Instant("2026-03-02T14:01:59Z")).writes == ()
    over = decide(kept, Instant("2026-03-02T14:02:00Z"))
    assert bodies(over) == [{"spec": {"replicas": 1}}]


def test_a_grace_is_dropped_when_as_many_are_wanted_again() -> None:
    graced = {"effectiveReplicas": 5, "gracePeriodExpiry": "2026-03-02T10:30:00Z"}
    decision = decide(seen(deployment(5), graced, gracePeriodSeconds=3600), MONDAY_10)
    assert decision.status is not None
    assert decision.status.grace_period_expiry is None


@pytest.mark.parametrize(
    ("mode", "replicas", "reason"),
    [("treat-as-closed", 1, "WindowOverride"), ("treat-as-open", 5, "WindowOverride"), ("ignore", 5, None)],
)
def test_a_holiday_overrides_the_window_and_is_told_once(
    mode: str, replicas: int, reason: str | None
) -> None:
    case = _on_holiday(mode, replicas, Holidays.on(date(2026, 3, 2)))
    decision = decide(case, MONDAY_10)
    assert decision.writes == ()
    assert [tell.reason for tell in decision.notices] == ([reason] if reason else [])
    assert decision.status is not None
    again = replace(case, scaler=msgspec.structs.replace(case.scaler, status=decision.status))
    assert decide(again, MONDAY_10 + TimeDelta(minutes=1)).notices == ()


def _on_holiday(mode: str, replicas: int, holiday: Holidays) -> Seen:
    scaler_spec = spec(holidays={"mode": mode, "sourceRef": {"name": "days"}})
    base = seen(deployment(replicas), {"effectiveReplicas": replicas})
    scaler = msgspec.structs.replace(base.scaler, spec=scaler_spec)
    return replace(base, scaler=scaler, timeline=ScalerTimeline.of(scaler_spec, holiday, grace=False))
