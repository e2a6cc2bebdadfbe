"""What becomes of a plan when targets fail: who goes on, and when it is tried again."""

import pytest
from whenever import TimeDelta

from hibernator.api.planstatus import ItemCount
from hibernator.decisions.conditions import LONGEST_MESSAGE, find
from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.hibernateplan_status import TargetOutcome
from support.plan_drill import Drill, failing, spec, strategy


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


@pytest.mark.parametrize("type_", ["Sequential", "Parallel"])
@pytest.mark.parametrize("mode", ["Strict", "BestEffort"])
@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_a_waking_goes_on_with_the_others_in_every_mode(mode: str, type_: str, bad: str) -> None:
    names = ("a", "b", "c")
    drill = Drill(spec(*names, behavior={"mode": mode, "retries": 0}, execution=strategy(type_)))
    drill.go("Asleep")
    drill.go("Awake", failing(bad))
    assert drill.states == {name: "Failed" if name == bad else "Completed" for name in names}
    assert drill.kept == {bad}
    assert drill.phase == "Error"


def test_a_strict_waking_leaves_asleep_only_what_depends_on_what_failed() -> None:
    edges = [{"from": "web", "to": "api"}, {"from": "api", "to": "db"}, {"from": "mail", "to": "queue"}]
    execution = strategy("DAG", dependencies=edges)
    names = ("web", "api", "db", "mail", "queue")
    drill = Drill(spec(*names, behavior={"mode": "Strict", "retries": 0}, execution=execution))
    drill.go("Asleep")
    drill.go("Awake", failing("db"))
    assert drill.kept == {"db", "api", "web"}
    assert drill.states["mail"] == drill.states["queue"] == "Completed"
    assert (drill.states["api"], drill.states["web"]) == ("Aborted", "Aborted")
    drill.now += TimeDelta(minutes=31)
    drill.go("Awake")
    assert drill.kept == set()
    assert drill.phase == "Active"


def test_a_clock_that_is_set_back_in_the_night_takes_nothing_away_from_the_savings() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.now += TimeDelta(hours=2)
    drill.go("Awake")
    assert drill.status.savings
    before = drill.status.savings.cpu_core_hours
    drill.now += TimeDelta(hours=2)
    drill.go("Asleep")
    drill.now -= TimeDelta(hours=3)
    drill.go("Awake")
    assert drill.status.savings.cpu_core_hours == before == 4.0
    ran = drill.status.history[-1].wake
    assert ran
    assert ran.duration_seconds is not None
    assert ran.duration_seconds >= 0


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
@pytest.mark.parametrize("deleted", [False, True])
def test_a_waking_that_failed_for_good_begins_again_by_itself_every_half_hour(
    state: str, *, deleted: bool
) -> None:
    drill = Drill(spec("a", "b", "c"))
    drill.go("Asleep")
    drill.deleted = deleted
    for _ in range(3):
        decision = drill.go("Awake", failing("b", state=state), patiently=True)
        assert (drill.kept, drill.phase, decision.after) == ({"b"}, "Error", 1800)
        drill.now += TimeDelta(seconds=decision.after)
    drill.go("Awake")
    assert drill.kept == set()


def test_a_waking_that_failed_for_good_begins_again_although_the_clock_was_set_back() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.go("Awake", failing("b", state="hopeless"))
    drill.now -= TimeDelta(hours=24 * 30)
    drill.go("Awake")
    assert drill.kept == set()


def test_a_sleep_that_failed_for_good_is_left_at_that() -> None:
    drill = Drill(spec("a", "b"))
    assert drill.go("Asleep", failing("a", state="hopeless")).after > 80_000


def test_however_much_others_say_of_a_failure_the_status_stays_small_enough_to_be_written() -> None:
    drill = Drill(spec("a", behavior={"retries": 0}))
    drill.look("Asleep")
    drill.outcomes["a"] = TargetOutcome(state="failed", items=ItemCount(total=1), message="no " * 2**20)
    drill.look("Asleep")
    assert len(drill.status.targets[0].message) == LONGEST_MESSAGE


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


def test_a_mended_spec_is_tried_without_being_asked() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep", failing("a"))
    drill.generation = 2
    drill.go("Asleep")
    assert drill.phase == "Hibernated"


def test_without_restore_data_everything_that_had_begun_to_sleep_is_woken_by_its_marks() -> None:
    drill = Drill(spec("a", "b", "c"))
    drill.work(drill.look("Asleep"))
    drill.look("Asleep")  # begins b; how far it came is not known any more
    drill.kept.clear()
    drill.go("Awake")
    assert drill.log == ["Sleep a", "Wake b", "Wake a"]
    assert drill.states == {"b": "Completed", "a": "Completed", "c": "Skipped"}


def test_a_waking_without_restore_data_is_tried_again_and_holds_up_a_deletion() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep")
    drill.kept.clear()
    drill.go("Awake", failing("a"))
    drill.deleted = True
    assert not drill.look("Awake").release
    drill.now += TimeDelta(minutes=31)
    drill.go("Awake")
    assert drill.look("Awake").release


@pytest.mark.parametrize(
    ("strays", "words"),
    [
        (("a",), "1 item bears the mark of this plan, which is awake: a. See"),
        (("a", "b"), "2 items bear the mark of this plan, which is awake: a, b. See"),
    ],
)
def test_strays_are_counted_in_words(strays: tuple[str, ...], words: str) -> None:
    drill = Drill(spec("a"), strays=strays)
    drill.look("Awake")
    assert any(words in one.message for one in drill.status.conditions)


def test_a_long_value_asks_for_a_retry_only_once_too() -> None:
    drill = Drill(spec("a", behavior={"mode": "Strict", "retries": 0}))
    drill.go("Asleep", failing("a"))
    drill.annotations = {RETRY: "x" * 65}
    drill.go("Asleep", failing("a"))
    assert drill.status.retried == "x" * 64
    assert drill.look("Asleep").runs == ()


def test_an_operation_that_ends_names_what_failed_and_nothing_else() -> None:
    drill = Drill(spec("a", "b", "c", behavior={"mode": "BestEffort", "retries": 0}))
    drill.go("Asleep", failing("a", "c"))
    [night] = drill.status.history
    assert night.sleep
    assert (night.sleep.result, night.sleep.message) == ("PartlyFailed", "Failed: a, c.")
    assert (night.sleep.completed, night.sleep.failed) == (1, 2)
    drill.go("Awake")
    assert drill.status.history[-1].wake
    assert (drill.status.history[-1].wake.result, drill.status.history[-1].wake.message) == ("Succeeded", "")


def ready(drill: Drill, type_: str = "Ready") -> tuple[str, str]:
    [found] = [one for one in drill.status.conditions if one.type == type_]
    return found.status, found.reason


def test_a_plan_is_ready_in_a_dry_run() -> None:
    drill = Drill(spec("a", dryRun=True))
    drill.go("Asleep")
    assert ready(drill) == ("True", "DryRun")
    assert ready(drill, "Degraded") == ("False", "OperationalNormal")


def test_a_plan_that_sleeps_is_not_ready_in_a_dry_run_which_wakes_nothing() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.spec, drill.generation = spec("a", dryRun=True), 2
    assert [run.operation for run in drill.look("Awake").runs] == ["Look"]
    (said,) = (one for one in drill.status.conditions if one.type == "Ready")
    assert (said.status, said.reason) == ("False", "DryRun")
    assert said.message == "A dry run: what sleeps stays asleep until spec.dryRun is false."
    drill.spec, drill.generation = spec("a"), 3
    drill.go("Awake")
    assert (drill.kept, ready(drill)) == (set(), ("True", "Awake"))
