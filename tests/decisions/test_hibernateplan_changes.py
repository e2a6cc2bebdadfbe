"""What becomes of a plan when somebody suspends, changes, breaks or deletes it."""

from whenever import TimeDelta

from hibernator.api.planstatus import MOST_REMOVED, MOST_TARGETS
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan import decide
from hibernator.decisions.hibernateplan_case import LEAVE_ASLEEP, RETRY, Seen
from support.plan_drill import EVENING, Drill, failing, spec


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


def test_however_many_targets_are_renamed_in_the_night_the_status_has_room_for_it_and_all_wake() -> None:
    """A status that the API server refuses is never written, and the plan would sleep for ever."""
    drill = Drill(spec(*(f"a{number}" for number in range(MOST_TARGETS))))
    drill.go("Asleep")
    for letter in "bcd":  # while nothing of those before can be woken
        drill.spec = spec(*(f"{letter}{number}" for number in range(MOST_TARGETS)))
        drill.generation += 1
        for _ in range(3):
            drill.work(drill.look("Asleep"), failing(*drill.kept))
            assert len(drill.status.targets) <= MOST_TARGETS + MOST_REMOVED
    for wanted in ("Asleep", "Awake"):
        drill.go(wanted, patiently=True)
    for _ in range(5):  # the last of them have their turn when there is room
        drill.go("Awake", patiently=True)
        assert len(drill.status.targets) <= MOST_TARGETS + MOST_REMOVED
    assert drill.kept == set()
    assert drill.phase == "Active"
    assert {target.name[0] for target in drill.status.targets} == {"d"}


def test_a_target_that_is_described_in_other_words_is_looked_at_again() -> None:
    drill = Drill(spec("a", "b"))
    drill.go("Asleep")
    drill.generation, drill.changed = 2, {"b"}
    drill.go("Asleep")
    assert drill.phase == "Hibernated"
    assert [target.name for target in drill.status.targets if target.state == "Completed"] == ["a", "b"]


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


def test_mistakes_elsewhere_than_in_the_schedule_keep_no_one_asleep() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.problems = (Problem("spec.targets[0].parameters", {}, "it is unknown", "Correct it."),)
    drill.go("Asleep")
    assert (drill.kept, drill.phase) == ({"a"}, "Error")
    drill.go("Awake")
    assert (drill.kept, drill.phase) == (set(), "Error")
    drill.go("Asleep")
    assert drill.log == ["Sleep a", "Wake a"]


def test_what_is_kept_but_cannot_be_read_keeps_no_one_asleep() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.unreadable = True
    assert not drill.look("Asleep").runs
    assert [run.name for run in drill.look("Awake").runs] == ["a"]


def test_what_is_kept_but_cannot_be_read_holds_up_a_deletion() -> None:
    drill = Drill(spec("a"), deleted=True)
    decision = decide(
        Seen(plan=drill.plan(), clock=None, unreadable=True, problems=(Problem("restore data", "", "", ""),)),
        drill.now,
    )
    assert not decision.release
