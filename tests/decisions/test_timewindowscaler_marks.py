"""What a scaler did is told once, by marks and a journal that outlive the process."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from whenever import Instant, TimeDelta

from decisions.scaler_seen import MONDAY_10, bodies, deployment, place, seen
from hibernator.api.timewindowscaler import TimeWindowScalerStatus
from hibernator.decisions.scaler_mark import ANNOTATION, ScalingMark, newest, read_mark
from hibernator.decisions.timewindowscaler import decide
from hibernator.decisions.timewindowscaler_case import Trouble

LATER = MONDAY_10 + TimeDelta(minutes=7)


def mark(number: int, old: int, new: int, at: Instant = MONDAY_10, *, drift: bool = False) -> ScalingMark:
    return ScalingMark(
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


def test_a_transition_that_a_dead_process_wrote_is_told_by_the_next_one() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 1}, mark=mark(1, 1, 5)), LATER)
    assert decision.writes == ()
    assert [tell.reason for tell in decision.notices] == ["ScaledUp"]
    assert decision.status is not None
    assert (decision.status.last_scale_time, decision.status.scalings) == (MONDAY_10.to_stdlib(), 1)
    assert [(one.type, one.at, one.data) for one in decision.status.journal] == [
        (
            "scaled",
            MONDAY_10.to_stdlib(),
            {"from": 1, "to": 5, "window": "BusinessHours", "scaling": 1},
        )
    ]


def test_a_number_that_someone_else_has_set_is_no_scaling_of_ours() -> None:
    decision = decide(seen(deployment(5), {"effectiveReplicas": 1}), MONDAY_10)
    assert decision.notices == ()
    assert journal(decision.status) == []


def test_a_target_that_bears_no_mark_is_judged_by_its_number() -> None:
    custom = replace(deployment(5), place=replace(place("rollouts.example.com"), subresource="scale"))
    decision = decide(seen(custom, {"effectiveReplicas": 1, "scalings": 3}), MONDAY_10)
    assert [tell.reason for tell in decision.notices] == ["ScaledUp"]
    assert journal(decision.status) == [(1, "scaled")]
    assert decision.status is not None
    assert (decision.status.last_scale_time, decision.status.scalings) == (MONDAY_10.to_stdlib(), 4)


def test_a_scaling_that_no_one_has_told_of_is_written_down_before_the_next_takes_its_mark() -> None:
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
    assert "drift" not in decision.notices[-1].message


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


@pytest.mark.parametrize(
    "forged",
    [
        {"number": 10**30},
        {"number": 0},
        {"at": "2026-03-02T10:00:00"},
        {"from": -1},
        {"to": 2**31},
        {"window": "x" * 100_000},
        {"scaler": "u" * 100_000},
    ],
)
def test_a_mark_that_someone_forged_counts_only_within_bounds(forged: dict[str, Any]) -> None:
    """It goes into the status and into the audit trail, and who may write the target may write it."""
    true = msgspec.json.decode(msgspec.json.encode(mark(1, 1, 5)))
    assert read_mark({ANNOTATION: msgspec.json.encode(true).decode()}) == mark(1, 1, 5)
    assert read_mark({ANNOTATION: msgspec.json.encode(true | forged).decode()}) is None


def test_of_many_marks_the_newest_of_this_scaler_counts_that_is_not_recorded() -> None:
    theirs = msgspec.structs.replace(mark(9, 1, 5), scaler="another")
    assert newest([None, mark(2, 1, 5), mark(3, 5, 1), theirs], "u", 1) == mark(3, 5, 1)
    assert newest([mark(2, 1, 5), theirs], "u", 2) is None


def test_the_first_scaling_without_a_mark_is_number_one() -> None:
    custom = replace(deployment(5), place=replace(place("rollouts.example.com"), subresource="scale"))
    decision = decide(seen(custom, {"effectiveReplicas": 1}), MONDAY_10)
    assert decision.status
    assert decision.status.scalings == 1


def test_a_mark_of_an_earlier_version_tells_of_no_drift() -> None:
    text = msgspec.json.encode(mark(1, 1, 5)).decode().replace(',"drift":false', "")
    found = read_mark({ANNOTATION: text})
    assert found
    assert found.drift is False
