"""Where a plan goes from where it stands, as sentences."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from whenever import TimeDelta

from hibernator.api.planstatus import ActiveException, Rest
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan import LEAVE_ASLEEP, RETRY, Seen, active_exceptions, decide
from hibernator.decisions.hibernateplan_words import tells
from support.plan_drill import EVENING, Drill, all_well, failing, spec, strategy


def test_a_plan_that_is_awake_in_working_hours_does_nothing() -> None:
    drill = Drill(spec("a"))
    assert drill.look("Awake").runs == ()
    assert drill.phase == "Active"


def test_the_status_says_that_a_target_is_worked_on_before_it_is() -> None:
    drill = Drill(spec("a", "b"))
    decision = drill.look("Asleep")
    assert [(run.name, run.operation) for run in decision.runs] == [("a", "Sleep")]
    assert (decision.status.phase, decision.status.cycle) == ("Hibernating", 1)
    assert drill.states == {"a": "Running", "b": "Pending"}


def test_a_night_is_one_cycle_and_wakes_backwards() -> None:
    drill = Drill(spec("a", "b", "c"))
    drill.go("Asleep")
    assert drill.phase == "Hibernated"
    drill.now += TimeDelta(hours=10)
    drill.go("Awake")
    assert drill.phase == "Active"
    assert drill.log == ["Sleep a", "Sleep b", "Sleep c", "Wake c", "Wake b", "Wake a"]
    assert drill.kept == set()
    assert [cycle.cycle for cycle in drill.status.history] == [1]


def test_parallel_takes_all_at_once_or_as_many_as_it_may() -> None:
    every = Drill(spec("a", "b", "c", execution=strategy("Parallel")))
    every.go("Asleep")
    two = Drill(spec("a", "b", "c", execution=strategy("Parallel", maxConcurrency=2)))
    two.go("Asleep")
    assert (every.most_at_once, two.most_at_once) == (3, 2)


def test_dependencies_order_a_sleep_and_turn_around_for_the_waking() -> None:
    edges = [{"from": "app", "to": "db"}, {"from": "app", "to": "cache"}, {"from": "db", "to": "disk"}]
    drill = Drill(spec("disk", "db", "cache", "app", execution=strategy("DAG", dependencies=edges)))
    drill.go("Asleep")
    drill.go("Awake")
    sleep = [line.split()[1] for line in drill.log[:4]]
    wake = [line.split()[1] for line in drill.log[4:]]
    for edge in edges:
        assert sleep.index(edge["from"]) < sleep.index(edge["to"])
        assert wake.index(edge["to"]) < wake.index(edge["from"])


def test_stages_come_one_after_the_other_and_each_keeps_to_its_own_width() -> None:
    stages = [
        {"name": "front", "targets": ["a", "b", "c"], "parallel": True, "maxConcurrency": 2},
        {"name": "back", "targets": ["d", "e"]},
    ]
    drill = Drill(spec("a", "b", "c", "d", "e", execution=strategy("Staged", stages=stages)))
    drill.go("Asleep")
    assert drill.most_at_once == 2
    assert [line[-1] for line in drill.log] == ["a", "b", "c", "d", "e"]
    drill.log.clear()
    drill.go("Awake")
    assert [line[-1] for line in drill.log][:2] == ["e", "d"]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_strict_stops_at_the_first_target_that_fails_for_good(position: int) -> None:
    names = ("a", "b", "c")
    drill = Drill(spec(*names, behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep", failing(names[position]))
    expected = {
        name: "Completed" if number < position else "Failed" if number == position else "Aborted"
        for number, name in enumerate(names)
    }
    assert drill.states == expected
    assert drill.phase == "Error"
    assert drill.status.current_operation is None


@pytest.mark.parametrize("position", [0, 1, 2])
def test_best_effort_goes_on_with_the_others(position: int) -> None:
    names = ("a", "b", "c")
    drill = Drill(spec(*names, behavior={"mode": "BestEffort", "retries": 0}))
    drill.go("Asleep", failing(names[position]))
    assert drill.states == {
        name: "Failed" if number == position else "Completed" for number, name in enumerate(names)
    }
    assert drill.phase == "Hibernated"
    degraded = find(drill.status.conditions, "Degraded")
    assert degraded
    assert (degraded.status, degraded.reason) == ("True", "TargetsFailed")
    drill.go("Awake")
    assert drill.phase == "Active"
    assert drill.kept == set()


def test_who_waits_for_something_that_does_not_sleep_does_not_sleep_either() -> None:
    execution = strategy("DAG", dependencies=[{"from": "app", "to": "db"}, {"from": "db", "to": "disk"}])
    drill = Drill(
        spec("app", "db", "disk", "x", execution=execution, behavior={"mode": "BestEffort", "retries": 0})
    )
    drill.go("Asleep", failing("app"))
    assert drill.states == {"app": "Failed", "db": "Aborted", "disk": "Aborted", "x": "Completed"}


def test_attempts_come_after_a_minute_and_then_twice_as_long_each_time_up_to_half_an_hour() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 7}))
    waited = []
    decision = drill.go("Asleep", failing("a"))
    while drill.status.current_operation:
        waited.append(decision.after)
        drill.now += TimeDelta(seconds=decision.after)
        decision = drill.go("Asleep", failing("a"))
    spread = [wait / least for wait, least in zip(waited, [60, 120, 240, 480, 960, 1800, 1800], strict=True)]
    assert all(1 <= one <= 1.1 for one in spread)
    assert len(set(spread)) > 1
    assert drill.status.targets[0].attempts == 8


def test_whoever_is_due_and_has_no_room_is_not_looked_at_all_the_time() -> None:
    execution = strategy("Parallel", maxConcurrency=1)
    drill = Drill(spec("a", "b", execution=execution, behavior={"mode": "BestEffort", "retries": 3}))
    while drill.states != {"a": "Pending", "b": "Running"}:
        drill.work(drill.look("Asleep"), lambda run, _: "failed" if run.name == "a" else "working")
    drill.now += TimeDelta(minutes=5)
    assert drill.look("Asleep").after > 60


@pytest.mark.parametrize("change", ["suspend", "dryRun"])
def test_whoever_is_due_while_nothing_may_be_done_is_not_looked_at_all_the_time(change: str) -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep", failing("a"))
    drill.spec = spec("a", "b", **{change: True})
    drill.now += TimeDelta(minutes=5)
    assert drill.look("Asleep").after > 60


def test_a_clock_that_is_set_back_by_hours_does_not_put_off_the_next_attempt_by_hours() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep", failing("a"))
    drill.now -= TimeDelta(hours=5)
    assert [run.name for run in drill.look("Asleep").runs] == ["a"]


def test_an_attempt_that_succeeds_makes_the_failures_forgotten() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep", failing("a", attempts=2), patiently=True)
    assert drill.states == {"a": "Completed", "b": "Completed"}
    assert drill.log == ["Sleep a", "Sleep a", "Sleep a", "Sleep b"]
    assert drill.phase == "Hibernated"


def test_what_cannot_get_better_is_not_tried_again() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep", failing("a", state="hopeless"))
    assert drill.status.targets[0].attempts == 1
    assert drill.phase == "Error"


@pytest.mark.parametrize("state", ["failed", "hopeless"])
@pytest.mark.parametrize(("deleted", "left"), [(False, {"a", "b"}), (True, {"b"})])
def test_a_waking_that_failed_for_good_begins_again_by_itself_every_half_hour(
    state: str, left: set[str], *, deleted: bool
) -> None:
    drill = Drill(spec("a", "b", "c"))
    drill.go("Asleep")
    drill.deleted = deleted
    for _ in range(3):
        decision = drill.go("Awake", failing("b", state=state), patiently=True)
        assert (drill.kept, drill.phase, decision.after) == (left, "Error", 1800)
        drill.now += TimeDelta(seconds=decision.after)
    drill.go("Awake")
    assert drill.kept == set()


def test_a_sleep_that_failed_for_good_is_left_at_that() -> None:
    drill = Drill(spec("a", "b"))
    assert drill.go("Asleep", failing("a", state="hopeless")).after > 80_000


def test_waking_interrupts_a_sleep_and_wakes_only_what_was_touched() -> None:
    drill = Drill(spec("a", "b", "c"))
    drill.work(drill.look("Asleep"))
    drill.work(drill.look("Asleep"))
    drill.go("Awake")
    assert drill.log == ["Sleep a", "Sleep b", "Wake b", "Wake a"]
    assert drill.states == {"b": "Completed", "a": "Completed", "c": "Skipped"}
    last = drill.status.history[-1]
    assert last.sleep
    assert last.wake
    assert (last.sleep.result, last.wake.result) == ("Aborted", "Succeeded")


def test_a_sleep_interrupts_a_waking_and_is_a_new_cycle() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.work(drill.look("Awake"))
    drill.go("Asleep")
    assert drill.phase == "Hibernated"
    assert drill.status.cycle == 2
    results = [(one.sleep and one.sleep.result, one.wake and one.wake.result) for one in drill.status.history]
    assert results == [("Succeeded", "Aborted"), ("Succeeded", None)]


def test_a_suspended_plan_leaves_everything_as_it_is_and_goes_on_by_itself() -> None:
    until = (EVENING + TimeDelta(hours=2)).to_stdlib()
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.spec = spec("a", suspend=True, suspendUntil=until.isoformat(), suspendReason="A release.")
    decision = drill.go("Awake")
    assert drill.phase == "Suspended"
    assert drill.kept == {"a"}
    assert decision.after == 7200
    ready = find(drill.status.conditions, "Ready")
    assert ready
    assert "A release." in ready.message
    drill.now += TimeDelta(hours=2)
    drill.go("Awake")
    assert drill.phase == "Active"


def test_a_suspension_in_the_middle_is_gone_on_from_afterwards() -> None:
    drill = Drill(spec("a", "b"))
    drill.work(drill.look("Asleep"))
    drill.spec = spec("a", "b", suspend=True)
    drill.go("Asleep")
    assert drill.states == {"a": "Completed", "b": "Pending"}
    drill.spec = spec("a", "b")
    drill.go("Asleep")
    assert drill.log == ["Sleep a", "Sleep b"]
    assert drill.phase == "Hibernated"


def test_a_dry_run_looks_and_touches_nothing() -> None:
    drill = Drill(spec("a", dryRun=True))
    decision = drill.look("Asleep")
    assert [(run.name, run.operation) for run in decision.runs] == [("a", "Look")]
    assert drill.phase == "Pending"
    assert drill.status.history == ()


def test_a_deleted_plan_wakes_everything_first_and_then_may_go() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.deleted = True
    drill.generation = 2
    drill.go("Asleep")
    assert drill.look("Asleep").release
    assert drill.kept == set()


def test_a_deleted_plan_that_is_told_to_leave_its_sleepers_goes_at_once() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.deleted, drill.annotations = True, {LEAVE_ASLEEP: "true"}
    assert drill.look("Asleep").release
    assert drill.kept == {"a"}


def test_a_deleted_plan_wakes_what_it_can_although_it_is_strict() -> None:
    drill = Drill(spec("a", "b", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep")
    drill.deleted = True
    decision = drill.go("Asleep", failing("b"))
    assert not decision.release
    assert drill.kept == {"b"}
    drill.annotations = {RETRY: "now"}
    drill.go("Asleep")
    assert drill.look("Asleep").release


def test_a_retry_takes_up_what_failed_and_only_once() -> None:
    drill = Drill(spec("a", "b", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep", failing("a"))
    drill.annotations = {RETRY: "first"}
    drill.go("Asleep", failing("a"))
    drill.go("Asleep", failing("a"))
    assert drill.log == ["Sleep a"]  # the same attempt number of the same cycle, and no third
    assert drill.status.retried == "first"
    drill.annotations = {RETRY: "second"}
    drill.go("Asleep")
    assert drill.states == {"a": "Completed", "b": "Completed"}
    assert drill.phase == "Hibernated"


def test_a_target_that_joins_in_the_night_goes_to_sleep_and_one_that_leaves_is_woken() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.spec, drill.generation = spec("b", "c"), 2
    drill.go("Asleep")
    assert drill.log == ["Sleep a", "Sleep b", "Wake a", "Sleep c"]
    assert drill.kept == {"b", "c"}
    drill.look("Asleep")
    assert drill.states == {"b": "Completed", "c": "Completed"}
    assert drill.status.cycle == 1


def test_a_target_that_is_described_in_other_words_is_looked_at_again() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.generation, drill.changed = 2, {"b"}
    drill.go("Asleep")
    assert drill.phase == "Hibernated"
    assert [target.name for target in drill.status.targets if target.state == "Completed"] == ["a", "b"]


def test_a_mended_spec_is_tried_without_being_asked() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep", failing("a"))
    drill.generation = 2
    drill.go("Asleep")
    assert drill.phase == "Hibernated"


def test_a_new_plan_wakes_what_one_of_its_name_has_left_asleep() -> None:
    drill = Drill(spec("a"), kept={"a"})
    drill.go("Awake")
    assert drill.log == ["Wake a"]
    assert drill.phase == "Active"


def test_mistakes_stop_everything_and_are_told() -> None:
    drill = Drill(spec("a"))
    drill.go("Awake")
    decision = decide(
        Seen(
            plan=drill.plan(),
            clock=None,
            problems=(Problem("spec.schedule.timezone", "Mars", "it is unknown", "Write Europe/Berlin."),),
        ),
        drill.now,
    )
    assert decision.status.phase == "Error"
    degraded = find(decision.status.conditions, "Degraded")
    assert degraded
    assert "Europe/Berlin" in degraded.message


def test_mistakes_elsewhere_than_in_the_schedule_keep_nobody_asleep() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.problems = (Problem("spec.targets[0].parameters", {}, "it is unknown", "Correct it."),)
    drill.go("Asleep")
    assert (drill.kept, drill.phase) == ({"a"}, "Error")
    drill.go("Awake")
    assert (drill.kept, drill.phase) == (set(), "Error")
    drill.go("Asleep")
    assert drill.log == ["Sleep a", "Wake a"]


def test_what_is_kept_but_cannot_be_read_holds_up_a_deletion() -> None:
    drill = Drill(spec("a"), deleted=True)
    decision = decide(
        Seen(plan=drill.plan(), clock=None, unreadable=True, problems=(Problem("restore data", "", "", ""),)),
        drill.now,
    )
    assert not decision.release


def test_savings_are_the_hours_asleep_times_what_an_hour_saves() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.now += TimeDelta(hours=10)
    drill.go("Awake")
    savings = drill.status.savings
    assert savings
    assert (savings.cpu_core_hours, savings.memory_gib_hours) == (40.0, 80.0)
    drill.now += TimeDelta(hours=14)
    drill.go("Asleep")
    drill.now += TimeDelta(hours=5)
    drill.go("Awake")
    assert drill.status.savings
    assert drill.status.savings.cpu_core_hours == 60.0
    assert drill.status.savings.since == savings.since


def test_the_history_keeps_five_cycles() -> None:
    drill = Drill(spec("a"))
    for _ in range(7):
        drill.go("Asleep")
        drill.go("Awake")
    assert [cycle.cycle for cycle in drill.status.history] == [3, 4, 5, 6, 7]


def test_each_thing_that_becomes_of_a_plan_is_told_once() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 1}))
    told = []
    wanted: Rest = "Asleep"
    for _ in range(8):
        before = drill.status
        decision = drill.look(wanted)
        told += [tell.reason for tell in tells(before, drill.status)]
        drill.work(decision, failing("a", attempts=1))
        if not decision.runs:
            drill.now += TimeDelta(seconds=66)
    assert told == ["SleepStarted", "TargetRetried", "SleepCompleted"]


def test_of_the_exceptions_ten_are_shown_and_the_active_one_always() -> None:
    def entry(number: int, *, expired: bool) -> ActiveException:
        day = datetime(2026, 1, number, tzinfo=UTC)
        return ActiveException(
            name=f"e{number}",
            type="extend",
            valid_from=day,
            valid_until=day,
            state="Expired" if expired else "Active",
            expired_at=day if expired else None,
        )

    entries = [entry(1, expired=False), *(entry(number, expired=True) for number in range(2, 14))]
    shown = [one.name for one in active_exceptions(entries)]
    assert shown == ["e1", "e5", "e6", "e7", "e8", "e9", "e10", "e11", "e12", "e13"]


EXECUTIONS = st.sampled_from(
    [
        strategy("Sequential"),
        strategy("Parallel"),
        strategy("Parallel", maxConcurrency=2),
        strategy("DAG", dependencies=[{"from": "a", "to": "b"}, {"from": "a", "to": "c"}]),
        strategy(
            "Staged",
            stages=[
                {"name": "x", "targets": ["a", "b"], "parallel": True},
                {"name": "y", "targets": ["c", "d"]},
            ],
        ),
    ]
)


@given(
    execution=EXECUTIONS,
    mode=st.sampled_from(["Strict", "BestEffort"]),
    turns=st.lists(st.tuples(st.sampled_from(["Asleep", "Awake"]), st.integers(0, 6)), max_size=8),
    bad=st.sets(st.sampled_from("abcd")),
)
def test_however_often_the_schedule_changes_its_mind_everything_is_awake_in_the_end(
    execution: dict[str, object], mode: str, turns: list[tuple[Rest, int]], bad: set[str]
) -> None:
    drill = Drill(spec(*"abcd", execution=execution, behavior={"mode": mode, "retries": 1}))
    for wanted, passes in turns:
        for _ in range(passes):
            decision = drill.look(wanted)
            drill.work(decision, failing(*bad, attempts=1))
            if not decision.runs:
                drill.now += TimeDelta(seconds=66)
    drill.go("Awake", all_well, patiently=True)
    assert drill.kept == set()
    assert drill.phase == "Active"
    assert all(one.cycle + 1 == two.cycle for one, two in pairwise(drill.status.history))
