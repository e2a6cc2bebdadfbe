"""Where a plan goes from where it stands, as sentences."""

from datetime import UTC, datetime
from itertools import pairwise

from hypothesis import given, strategies as st
from whenever import TimeDelta

from hibernator.api.planstatus import ActiveException, Rest
from hibernator.decisions.hibernateplan import active_exceptions
from support.plan_drill import Drill, all_well, failing, spec, strategy


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


def test_each_thing_that_becomes_of_a_plan_is_an_event_once() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 1}))
    events = []
    for wanted in ("Asleep",) * 8 + ("Awake",) * 3:
        decision = drill.look("Asleep" if wanted == "Asleep" else "Awake")
        events += [(one.type, one.reason, one.message) for one in decision.notices]
        drill.work(decision, failing("a", attempts=1) if wanted == "Asleep" else all_well)
        if not decision.runs:
            drill.now += TimeDelta(seconds=66)
    assert events == [
        ("Normal", "SleepStarted", "Going to sleep (cycle 1)."),
        ("Warning", "TargetRetried", "a: a failed. Tried again after 1 min."),
        ("Normal", "SleepCompleted", "Going to sleep (cycle 1): 1 target done, 0 failed, after 66 s."),
        ("Normal", "WakeStarted", "Waking up (cycle 1)."),
        ("Normal", "WakeCompleted", "Waking up (cycle 1): 1 target done, 0 failed, after 0 s."),
    ]


def test_what_fails_while_others_go_on_is_an_event_and_so_is_the_end() -> None:
    sequential = strategy("Sequential")
    drill = Drill(spec("a", "b", execution=sequential, behavior={"mode": "BestEffort", "retries": 0}))
    events: list[tuple[str, str, str]] = []
    while not events or events[-1][1] != "SleepFailed":
        decision = drill.look("Asleep")
        events += [(one.type, one.reason, one.message) for one in decision.notices]
        drill.work(decision, failing("a"))
    assert events == [
        ("Normal", "SleepStarted", "Going to sleep (cycle 1)."),
        ("Warning", "TargetFailed", "a: a failed."),
        (
            "Warning",
            "SleepFailed",
            "Going to sleep (cycle 1): 1 target done, 1 failed, after 0 s. Failed: a.",
        ),
    ]


def test_a_suspension_and_its_end_are_events() -> None:
    drill = Drill(spec("a", suspend=True))
    suspended = drill.look("Asleep").notices
    assert [one.reason for one in suspended] == ["Suspended"]
    drill.spec, drill.generation = spec("a"), 2
    assert [one.reason for one in drill.look("Awake").notices] == ["Resumed"]


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
