"""Until when a workload stays awake although its plan sleeps."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.decisions.hibernateplan_case import REST_SECONDS
from hibernator.decisions.hibernateplan_restore import Entry, Item, Kept, merge, released
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.decisions.staying import (
    EXCLUDE,
    FORCE_AWAKE,
    asked_for,
    problem,
    stay,
    wants_to_be_awake,
    words,
)
from support.plan_drill import EVENING, Drill, spec

NOW = Instant("2026-03-02T20:00:00Z")
CREATED = datetime(2026, 3, 2, 19, 50, tzinfo=UTC)
SECONDS = st.integers(min_value=-(10**6), max_value=10**6)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-03-02T21:00:00Z", "2026-03-02T21:00:00Z"),
        (" 2026-03-02T22:00:00.75+01:00", "2026-03-02T21:00:00Z"),
        ("2026-03-02T22:00+01:00", "2026-03-02T21:00:00Z"),
    ],
)
def test_an_instant_with_its_offset_is_read(text: str, at: str) -> None:
    assert asked_for({FORCE_AWAKE: text}) == Instant(at)
    assert not problem({FORCE_AWAKE: text})


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "21:00", "2026-03-02T21:00:00", "4h", "2026-02-30T00:00:00Z"]
)
def test_what_does_not_say_which_moment_is_meant_does_not_count_and_is_named(text: str) -> None:
    annotations = {FORCE_AWAKE: text}
    assert stay([annotations], None, None, NOW) is None
    assert not wants_to_be_awake(annotations, NOW)
    assert f"metadata.annotations[{FORCE_AWAKE}] is {text!r}" in problem(annotations)


def test_a_new_workload_stays_awake_until_it_is_old_enough() -> None:
    found = stay([{}], CREATED, "30m", NOW)
    assert found
    assert found.until == Instant("2026-03-02T20:20:00Z")
    assert found.why == "until 2026-03-02T20:20:00Z, because it is new"
    assert stay([{}], CREATED, "10m", NOW) is None
    assert stay([{}], CREATED, None, NOW) is None


@pytest.mark.parametrize("grace", [f"{'9' * 20}h", "999999h"])
def test_a_grace_is_cut_to_a_year(grace: str) -> None:
    found = stay([{}], CREATED, grace, NOW)
    assert found
    assert found.until == Instant(CREATED).add(hours=366 * 24)


def test_a_long_annotation_is_named_by_its_beginning() -> None:
    assert f" is {'x' * 64!r}, which" in problem({FORCE_AWAKE: "x" * 65})


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, "; and 1 more"), (5, "; and 2 more")])
def test_three_of_those_that_stay_awake_are_named(count: int, more: str) -> None:
    until = NOW.add(hours=1).to_stdlib()
    entries = {f"i{number}": Entry(cycle=1, awake_until=until, note="then") for number in range(count)}
    assert words(entries) == f"{count} items stay awake: i0 then; i1 then; i2 then{more}."


@given(asked=SECONDS, age=SECONDS, grace=st.integers(min_value=0, max_value=10**6))
def test_the_latest_reason_counts_and_only_while_it_is_ahead(asked: int, age: int, grace: int) -> None:
    until, old_enough = NOW.add(seconds=asked), NOW.add(seconds=grace - max(age, 0))
    annotations = {FORCE_AWAKE: until.format_iso()}
    found = stay([annotations], NOW.add(seconds=-age).to_stdlib(), f"{grace}s", NOW)
    latest = max(until, old_enough)
    assert (found.until if found else None) == (latest if latest > NOW else None)
    assert wants_to_be_awake(annotations, NOW) == (until > NOW)


def test_one_that_is_excluded_wants_to_be_awake_whatever_else_it_says() -> None:
    assert wants_to_be_awake({EXCLUDE: "true", FORCE_AWAKE: "2020-01-01T00:00:00Z"}, NOW)


def test_what_stays_awake_is_released_and_kept_with_when_to_look_again() -> None:
    target = spec("a").targets[0]
    until = NOW.add(hours=1)
    found = [Item(key="a", restore={"replicas": 3}, asleep=True, awake_until=until, note="until then")]
    kept = Kept(target=target, entries={"a": Entry(cycle=1, was={"replicas": 3})})
    assert released(kept, target, found).keys() == {"a"}
    entries = merge({}, found, 1)
    left = Kept(target=target, entries=entries)
    assert (left.sleeping, left.next_check) == ({}, until)
    assert words(entries) == "1 item stays awake: a until then."
    assert merge(entries, [Item(key="a", restore={"replicas": 3})], 1)["a"].was == {"replicas": 3}


def test_a_target_that_changes_in_the_night_saves_at_one_rate_before_and_at_another_after() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.now = EVENING.add(hours=3)
    drill.due = {"a"}
    decision = drill.look("Asleep")
    assert [(run.name, run.operation) for run in decision.runs] == [("a", "Sleep")]
    assert drill.phase == "Hibernating"
    drill.due = set()
    drill.work(decision)
    drill.go("Asleep")
    assert drill.phase == "Hibernated"
    assert drill.status.cycle == 1
    saved = saved_by(drill.status, EVENING.add(hours=5))
    assert saved
    assert saved.cpu_core_hours == 3 * 4.0 + 2 * 4.0


def test_a_plan_looks_again_when_the_first_may_sleep_and_never_while_it_is_awake() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.due_at = EVENING.add(minutes=20)
    assert drill.go("Asleep").after == 1200
    drill.due_at, drill.due = None, {"a"}
    drill.go("Awake")
    assert not drill.look("Awake").runs


def test_a_plan_rests_between_two_looks_however_often_someone_annotates() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.due = {"a"}
    assert drill.look("Asleep").after == REST_SECONDS
    begun = 0
    for _ in range(60):
        decision = drill.look("Asleep")
        begun += bool(decision.runs)
        drill.work(decision)
        drill.look("Asleep")
        drill.now += TimeDelta(seconds=1)
    assert begun == 60 / REST_SECONDS - 1


def test_a_target_that_failed_is_not_begun_again_for_what_is_due() -> None:
    drill = Drill(spec("a", behavior={"retries": 0}))
    drill.go("Asleep", lambda _run, _attempt: "failed")
    drill.due, drill.now = {"a"}, EVENING.add(hours=1)
    assert not drill.look("Asleep").runs
