"""The scaler's decision, as sentences. The clock, the cluster and chance are all arguments."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.api.meta import Condition, ObjectMeta
from hibernator.api.problem import Problem
from hibernator.api.timewindowscaler import TimeWindowScaler, TimeWindowScalerSpec, TimeWindowScalerStatus
from hibernator.decisions.conditions import find
from hibernator.decisions.scaler_mark import Mark
from hibernator.decisions.scaling import Horizontal, Keda, Place, Workload
from hibernator.decisions.timewindowscaler import SETTLE_SECONDS, decide, refused, spread
from hibernator.decisions.timewindowscaler_terms import LONGEST_SECONDS, Decision, Pace, Seen, Trouble
from hibernator.kube.patch import encode
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.scaler import ScalerTimeline

ON_TIME = Pace(jitter_from=0, jitter_to=0, minimum=0)
MONDAY_10 = Instant("2026-03-02T10:00:00Z")
MONDAY_18 = Instant("2026-03-02T18:00:00Z")


def place(resource: str, name: str = "web") -> Place:
    return Place(resource=resource, namespace="shop", name=name, resource_version="7")


def deployment(replicas: int, running: int | None = None) -> Workload:
    return Workload(
        place=place("deployments.apps"), replicas=replicas, running=replicas if running is None else running
    )


def spec(**changes: Any) -> TimeWindowScalerSpec:
    document: dict[str, Any] = {
        "targetRef": {"kind": "Deployment", "name": "web"},
        "timezone": "UTC",
        "defaultReplicas": 1,
        "windows": [
            {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "09:00", "end": "17:00", "replicas": 5}
        ],
    }
    return msgspec.convert(document | changes, TimeWindowScalerSpec)


def seen(
    workload: Workload | None,
    status: Mapping[str, Any] | None = None,
    holidays: Holidays = NO_HOLIDAYS,
    **changes: Any,
) -> Seen:
    own = {name: changes.pop(name) for name in [*changes] if name in Seen.__dataclass_fields__}
    scaler = TimeWindowScaler(
        metadata=ObjectMeta(name="hours", namespace="shop", uid="u", generation=2),
        spec=spec(**changes),
        status=msgspec.convert(
            {"observedGeneration": 2, "baselineReplicas": 5} | dict(status or {}), TimeWindowScalerStatus
        ),
    )
    given_: dict[str, Any] = {
        "scaler": scaler,
        "timeline": ScalerTimeline.of(scaler.spec, holidays, grace=False),
        "default_replicas": scaler.spec.default_replicas,
        "workload": workload,
        "target": 'Deployment "web"',
        "pace": ON_TIME,
    }
    return Seen(**(given_ | own))


def condition(decision: Decision, type_: str) -> Condition:
    assert decision.status is not None
    found = find(decision.status.conditions, type_)
    assert found is not None
    return found


def bodies(decision: Decision) -> list[Any]:
    return [write.body for write in decision.writes]


def test_a_target_that_differs_is_written_first_and_the_status_trails() -> None:
    decision = decide(seen(deployment(1), {"effectiveReplicas": 1}), MONDAY_10)
    assert bodies(decision) == [{"spec": {"replicas": 5}}]
    assert decision.status is None
    assert decision.after == SETTLE_SECONDS
    assert [(tell.reason, tell.message.split(":")[0]) for tell in decision.tells] == [
        ("ScaledUp", 'Scaled Deployment "web" from 1 to 5. 5 replicas')
    ]


def test_the_boundary_that_a_write_answers_is_told_so_that_the_lag_can_be_measured() -> None:
    assert decide(seen(deployment(1)), MONDAY_10).due == Instant("2026-03-02T09:00:00Z")


def test_after_the_write_the_status_waits_for_the_target_to_follow() -> None:
    before = seen(deployment(5, running=1), {"effectiveReplicas": 1}, wrote_at=MONDAY_10)
    decision = decide(before, MONDAY_10 + TimeDelta(milliseconds=500))
    assert (decision.writes, decision.status, decision.after) == ((), None, 1.5)


def test_the_status_waits_longer_while_thousands_follow_but_never_for_more_than_two_minutes() -> None:
    def wait(settling: int) -> float:
        return decide(seen(deployment(1), {"effectiveReplicas": 1}, settling=settling), MONDAY_10).after

    assert (wait(100), wait(1_000), wait(10_000)) == (7.0, 52.0, 120.0)


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
    assert decision.tells == ()


def test_whoever_sets_the_target_back_each_time_starts_no_race() -> None:
    sets = tuple((MONDAY_10 - TimeDelta(seconds=10 * back), 5) for back in reversed(range(6)))
    fought = seen(deployment(3), {"effectiveReplicas": 5}, sets=sets)
    decision = decide(fought, MONDAY_10)
    assert (decision.writes, decision.after) == ((), 10.0)
    assert (condition(decision, "Ready").reason, condition(decision, "Degraded").status) == (
        "TargetContested",
        "True",
    )
    told = replace(fought, scaler=msgspec.structs.replace(fought.scaler, status=decision.status))
    assert decide(told, MONDAY_10 + TimeDelta(seconds=9)).status == decision.status
    assert decide(told, MONDAY_10 + TimeDelta(seconds=10)).writes
    assert decide(replace(fought, sets=sets[1:]), MONDAY_10).writes
    assert decide(replace(fought, sets=tuple((at, 4) for at, _ in sets)), MONDAY_10).writes


def test_a_refusal_is_told_once_however_it_is_worded() -> None:
    case = seen(deployment(1), {"effectiveReplicas": 1})
    told = refused(case, "a freeze since 09:00:01", MONDAY_10)
    assert "a freeze since 09:00:01" in told.conditions[0].message
    again = replace(case, scaler=msgspec.structs.replace(case.scaler, status=told))
    assert refused(again, "a freeze since 09:00:02", MONDAY_10) == told


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
    assert [(tell.reason, tell.message) for tell in decision.tells] == [
        ("ScaledDown", "Corrected manual drift from 7 to 3 replicas")
    ]


def window(replicas: int) -> list[dict[str, Any]]:
    return [{"days": ["Mon"], "start": "09:00", "end": "17:00", "replicas": replicas}]


def mark(number: int, old: int, new: int, at: Instant = MONDAY_10, *, drift: bool = False) -> Mark:
    return Mark(
        scaler="u",
        number=number,
        at=at.to_stdlib(),
        old=old,
        new=new,
        wanted=new,
        window="BusinessHours",
        drift=drift,
    )


def journal(status: TimeWindowScalerStatus | None) -> list[tuple[int, str]]:
    assert status is not None
    return [(one.number, one.type) for one in status.journal]


LATER = MONDAY_10 + TimeDelta(minutes=7)


def test_a_transition_that_a_dead_process_wrote_is_told_by_the_next_one() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 1}, mark=mark(1, 1, 5)), LATER)
    assert decision.writes == ()
    assert [tell.reason for tell in decision.tells] == ["ScaledUp"]
    assert decision.status is not None
    assert (decision.status.last_scale_time, decision.status.scalings) == (MONDAY_10.to_stdlib(), 1)
    assert [(one.type, one.at, one.data) for one in decision.status.journal] == [
        (
            "scaled",
            MONDAY_10.to_stdlib(),
            {"from": 1, "to": 5, "window": "BusinessHours", "scaling": 1},
        )
    ]


def test_a_number_that_somebody_else_has_set_is_no_scaling_of_ours() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 1}), MONDAY_10)
    assert decision.tells == ()
    assert journal(decision.status) == []


def test_a_target_that_bears_no_mark_is_judged_by_its_number() -> None:
    custom = replace(deployment(5), place=replace(place("rollouts.example.com"), subresource="scale"))
    decision = decide(seen(custom, {"effectiveReplicas": 1, "scalings": 3}), MONDAY_10)
    assert [tell.reason for tell in decision.tells] == ["ScaledUp"]
    assert journal(decision.status) == [(1, "scaled")]
    assert decision.status is not None
    assert (decision.status.last_scale_time, decision.status.scalings) == (MONDAY_10.to_stdlib(), 4)


def test_a_scaling_that_nobody_has_told_of_is_written_down_before_the_next_takes_its_mark() -> None:
    unseen = seen(deployment(1), {"effectiveReplicas": 5, "scalings": 1}, mark=mark(2, 5, 1))
    decision = decide(unseen, LATER)
    assert bodies(decision) == [{"spec": {"replicas": 5}}]
    assert journal(decision.first) == [(1, "scaled")]
    assert decision.first is not None
    assert (decision.first.effective_replicas, decision.first.scalings) == (1, 2)
    assert decision.mark == mark(3, 1, 5, LATER)


def test_drift_is_told_apart_from_the_schedule_also_after_a_death() -> None:
    drifted = decide(seen(deployment(7), {"effectiveReplicas": 5, "scalings": 4}), LATER)
    assert drifted.mark == mark(5, 7, 5, LATER, drift=True)
    after = decide(
        seen(deployment(5), {"effectiveReplicas": 5, "scalings": 4}, mark=drifted.mark),
        LATER + TimeDelta(hours=1),
    )
    assert journal(after.status) == [(1, "drift.corrected")]
    again = decide(seen(deployment(9), {"effectiveReplicas": 1}, mark=mark(1, 1, 5)), LATER)
    assert again.mark
    assert again.mark.drift


@pytest.mark.parametrize(
    "idle",
    [
        {"paused": True},
        {"conditions": [{"type": "Ready", "status": "False", "reason": "TargetNotFound", "message": ""}]},
    ],
)
def test_what_was_let_be_until_now_has_not_drifted(idle: dict[str, Any]) -> None:
    for condition_ in idle.get("conditions", ()):
        condition_["lastTransitionTime"] = "2026-03-02T09:00:00Z"
    decision = decide(seen(deployment(1), {"effectiveReplicas": 5, **idle}), MONDAY_10)
    assert decision.mark == mark(1, 1, 5)
    assert "drift" not in decision.tells[-1].message


def test_all_that_becomes_of_a_scaler_is_in_its_journal_until_it_is_on_record() -> None:
    broken = Trouble(reason="HolidaySourceMissing", message="ConfigMap days does not exist.")
    new = seen(deployment(2), {"observedGeneration": None}, pause=True, troubles=(broken,))
    first = decide(new, MONDAY_10).status
    assert journal(first) == [(1, "created"), (2, "paused"), (3, "scaling.skipped"), (4, "degraded")]
    mended = seen(deployment(5), msgspec.to_builtins(first) | {"observedGeneration": 1})
    second = decide(mended, LATER).status
    assert journal(second)[4:] == [(5, "changed"), (6, "resumed"), (7, "recovered")]
    told = replace(mended, recorded=frozenset({1, 2, 4}))
    assert journal(decide(told, LATER).status) == [(3, "scaling.skipped"), *journal(second)[4:]]


def test_what_is_on_record_is_not_forgotten_by_a_write_of_its_own() -> None:
    first = decide(seen(deployment(5), {"effectiveReplicas": 5, "observedGeneration": None}), MONDAY_10)
    steady = seen(deployment(5), msgspec.to_builtins(first.status), recorded=frozenset({1}))
    assert decide(steady, LATER).status == first.status


def test_a_grace_is_in_the_journal_from_its_start_to_its_end() -> None:
    graced = {"effectiveReplicas": 5, "currentWindow": "BusinessHours"}
    start = decide(seen(deployment(5), graced, gracePeriodSeconds=120), Instant("2026-03-02T17:00:00Z"))
    assert journal(start.status) == [(1, "grace.started")]
    over = seen(deployment(1), msgspec.to_builtins(start.status), gracePeriodSeconds=120, mark=mark(1, 5, 1))
    end = decide(over, Instant("2026-03-02T17:02:00Z"))
    assert journal(end.status)[1:] == [(2, "scaled"), (3, "grace.ended")]


def test_what_ran_before_is_written_down_before_the_first_touch() -> None:
    decision = decide(seen(deployment(8), {"baselineReplicas": None}), MONDAY_10)
    assert decision.first is not None
    assert decision.first.baseline_replicas == 8
    assert bodies(decision) == [{"spec": {"replicas": 5}}]


def test_what_ran_before_is_never_written_down_again() -> None:
    decision = decide(seen(deployment(1), {"baselineReplicas": 8}), MONDAY_10)
    assert decision.first is None


def test_a_pause_computes_and_tells_but_does_not_touch() -> None:
    decision = decide(seen(deployment(2), {"effectiveReplicas": 1}, pause=True), MONDAY_10)
    assert decision.writes == ()
    assert decision.status is not None
    assert (decision.status.effective_replicas, decision.status.last_scale_time) == (5, None)
    assert (condition(decision, "Ready").status, condition(decision, "Ready").reason) == (
        "False",
        "TargetMismatch",
    )
    assert [tell.reason for tell in decision.tells] == ["ScalingSkipped"]
    assert "would scale" in decision.tells[0].message
    assert "from 2 to 5" in decision.tells[0].message


def test_a_pause_tells_the_same_thing_only_once() -> None:
    paused = seen(deployment(2), {"effectiveReplicas": 5}, pause=True)
    first = decide(paused, MONDAY_10)
    assert first.status is not None
    again = replace(paused, scaler=msgspec.structs.replace(paused.scaler, status=first.status))
    assert decide(again, MONDAY_10 + TimeDelta(minutes=1)).tells == ()


def test_a_paused_scaler_whose_target_is_right_is_ready() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 5}, pause=True), MONDAY_10)
    assert condition(decision, "Ready").status == "True"
    assert decision.tells == ()


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
    assert [tell.reason for tell in decision.tells] == ([reason] if reason else [])
    assert decision.status is not None
    again = replace(case, scaler=msgspec.structs.replace(case.scaler, status=decision.status))
    assert decide(again, MONDAY_10 + TimeDelta(minutes=1)).tells == ()


def _on_holiday(mode: str, replicas: int, holiday: Holidays) -> Seen:
    scaler_spec = spec(holidays={"mode": mode, "sourceRef": {"name": "days"}})
    base = seen(deployment(replicas), {"effectiveReplicas": replicas})
    scaler = msgspec.structs.replace(base.scaler, spec=scaler_spec)
    return replace(base, scaler=scaler, timeline=ScalerTimeline.of(scaler_spec, holiday, grace=False))


def test_a_missing_target_is_looked_for_every_thirty_seconds() -> None:
    decision = decide(seen(None), MONDAY_10)
    assert (condition(decision, "Ready").status, condition(decision, "Ready").reason) == (
        "False",
        "TargetNotFound",
    )
    assert decision.status is not None
    assert decision.status.effective_replicas == 5
    assert decision.after == 30


def test_an_unknown_zone_runs_the_default_and_is_looked_at_every_five_minutes() -> None:
    lost = seen(
        deployment(5),
        {"effectiveReplicas": 5},
        timeline=None,
        troubles=(Trouble(reason="InvalidTimezone", message="No such zone."),),
    )
    assert bodies(decide(lost, MONDAY_10)) == [{"spec": {"replicas": 1}}]
    reported = decide(replace(lost, workload=deployment(1)), MONDAY_10)
    assert (condition(reported, "Degraded").status, condition(reported, "Degraded").reason) == (
        "True",
        "InvalidTimezone",
    )
    assert reported.after == 300


def test_a_missing_holiday_source_degrades_but_the_windows_go_on() -> None:
    trouble = Trouble(reason="HolidaySourceMissing", message="ConfigMap days does not exist.")
    decision = decide(seen(deployment(5), {"effectiveReplicas": 5}, troubles=(trouble,)), MONDAY_10)
    assert condition(decision, "Ready").status == "True"
    assert condition(decision, "Degraded").reason == "HolidaySourceMissing"


def test_a_spec_with_mistakes_touches_nothing_and_names_them_all() -> None:
    mistakes = (
        Problem("spec.windows[0].start", "9:00", "9:00 is not a time", "Write 09:00."),
        Problem("spec.windows[1].end", "x", "x is not a time", "Write it as HH:MM."),
    )
    decision = decide(seen(deployment(1), problems=mistakes), MONDAY_10)
    assert decision.writes == ()
    degraded = condition(decision, "Degraded")
    assert degraded.reason == "InvalidConfiguration"
    assert "spec.windows[0].start" in degraded.message
    assert "spec.windows[1].end" in degraded.message
    assert decision.after == 300


def test_the_younger_of_two_scalers_on_one_target_steps_back_and_names_the_older() -> None:
    decision = decide(seen(deployment(1), elder="old-hours"), MONDAY_10)
    assert decision.writes == ()
    assert condition(decision, "Degraded").reason == "TargetClaimed"
    assert "old-hours" in condition(decision, "Degraded").message


def hpa(minimum: int, maximum: int) -> Horizontal:
    return Horizontal(place=place("horizontalpodautoscalers.autoscaling"), minimum=minimum, maximum=maximum)


def test_under_an_hpa_its_minimum_is_moved_instead_of_the_replicas() -> None:
    decision = decide(seen(deployment(7), autoscaler=hpa(1, 10)), MONDAY_10)
    assert [(write.place.resource, write.body) for write in decision.writes] == [
        ("horizontalpodautoscalers.autoscaling", {"spec": {"minReplicas": 5}})
    ]
    settled = decide(seen(deployment(7), {"effectiveReplicas": 5}, autoscaler=hpa(5, 10)), MONDAY_10)
    assert condition(settled, "Ready").status == "True"
    assert condition(settled, "Autoscaled").reason == "HorizontalPodAutoscaler"


def test_an_hpa_whose_maximum_is_too_low_is_filled_up_and_the_condition_says_so() -> None:
    settled = decide(seen(deployment(3), {"effectiveReplicas": 5}, autoscaler=hpa(3, 3)), MONDAY_10)
    assert settled.writes == ()
    assert "maxReplicas is 3" in condition(settled, "Autoscaled").message


def test_at_zero_the_workload_itself_is_written_and_waking_takes_both() -> None:
    night = decide(seen(deployment(4), autoscaler=hpa(5, 10), defaultReplicas=0), MONDAY_18)
    assert [(write.place.resource, write.body) for write in night.writes] == [
        ("deployments.apps", {"spec": {"replicas": 0}})
    ]
    morning = decide(seen(deployment(0), autoscaler=hpa(1, 10), defaultReplicas=0), MONDAY_10)
    assert [write.place.resource for write in morning.writes] == [
        "horizontalpodautoscalers.autoscaling",
        "deployments.apps",
    ]


def test_a_keda_scaled_object_is_paused_at_the_number() -> None:
    keda = Keda(place=place("scaledobjects.keda.sh"), paused_at=None)
    decision = decide(seen(deployment(2), autoscaler=keda), MONDAY_10)
    assert bodies(decision) == [{"metadata": {"annotations": {"autoscaling.keda.sh/paused-replicas": "5"}}}]


def test_a_daemon_set_sleeps_by_a_selector_and_wakes_by_taking_it_away() -> None:
    awake = Workload(place=place("daemonsets.apps"), replicas=1, running=3, by_node_selector=True)
    night = decide(seen(awake, defaultReplicas=0), MONDAY_18)
    assert bodies(night) == [
        {"spec": {"template": {"spec": {"nodeSelector": {"hibernator.ardikabs.com/asleep": "true"}}}}}
    ]
    asleep = Workload(place=place("daemonsets.apps"), replicas=0, running=0, by_node_selector=True)
    morning = decide(seen(asleep, defaultReplicas=0), MONDAY_10)
    assert bodies(morning) == [
        {"spec": {"template": {"spec": {"nodeSelector": {"hibernator.ardikabs.com/asleep": None}}}}}
    ]


def test_a_number_from_outside_is_read_again_soon() -> None:
    measured = seen(deployment(5), {"effectiveReplicas": 5}, is_measured=True)
    assert decide(measured, MONDAY_10).after == 30


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


def test_a_target_that_a_plan_has_put_to_sleep_is_left_asleep() -> None:
    decision = decide(seen(deployment(0), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert (decision.first, decision.writes, decision.tells) == (None, (), ())
    ready = condition(decision, "Ready")
    assert (ready.status, ready.reason) == ("False", "TargetHibernated")
    assert ready.message == (
        'Deployment "web" is asleep by HibernatePlan shop/nights until that wakes it. '
        "To scale it before, remove its annotation hibernator.ardikabs.com/asleep-by."
    )


def test_a_target_first_seen_asleep_does_not_lend_its_zero_to_shares() -> None:
    decision = decide(seen(deployment(0), {"baselineReplicas": None}, asleep_by="shop/nights"), MONDAY_10)
    assert decision.status is not None
    assert decision.status.baseline_replicas is None


def test_a_target_that_somebody_woke_by_hand_before_its_plan_is_scaled_again() -> None:
    decision = decide(seen(deployment(1), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert bodies(decision) == [{"spec": {"replicas": 5}}]


def test_a_number_that_a_plan_brought_back_is_no_manual_drift() -> None:
    asleep = decide(seen(deployment(0), {"effectiveReplicas": 5}, asleep_by="shop/nights"), MONDAY_10)
    assert asleep.status is not None
    woken = decide(seen(deployment(3), encode(asleep.status)), MONDAY_10)
    assert [tell.message.split(".")[0] for tell in woken.tells] == ['Scaled Deployment "web" from 3 to 5']
