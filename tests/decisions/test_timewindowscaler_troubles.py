"""What a scaler does when something is missing, wrong, refused or contested."""

from dataclasses import replace

import msgspec
from whenever import TimeDelta

from decisions.scaler_seen import MONDAY_10, bodies, condition, deployment, seen
from hibernator.api.problem import Problem
from hibernator.decisions.timewindowscaler import decide, refused
from hibernator.decisions.timewindowscaler_case import Trouble


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
    assert {one.type: one.status for one in told.conditions} == {
        "Ready": "False",
        "Reconciling": "True",
        "Degraded": "True",
    }
    again = replace(case, scaler=msgspec.structs.replace(case.scaler, status=told))
    assert refused(again, "a freeze since 09:00:02", MONDAY_10) == told


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
