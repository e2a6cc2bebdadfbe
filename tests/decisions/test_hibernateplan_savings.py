"""What a plan's status and journal say of the savings of a sleep."""

from whenever import TimeDelta

from hibernator.decisions.hibernateplan_journal import journaled
from hibernator.decisions.hibernateplan_status import saved_by
from support.plan_drill import Drill, spec


def test_a_target_that_fell_asleep_says_what_an_hour_of_it_saves_in_the_status_and_in_the_trail() -> None:
    drill = Drill(spec("a"))
    before = drill.plan()
    drill.go("Asleep")
    (target,) = drill.status.targets
    assert target.saving
    assert (target.saving.cpu_cores, target.saving.memory_gib) == (2.0, 4.0)
    [slept] = [
        one for one in journaled(before, drill.status, (), drill.now).journal if one.type == "target.slept"
    ]
    assert slept.data == {
        "target": "a",
        "operation": "sleep",
        "attempts": 1,
        "cycle": 1,
        "type": "noop",
        "items": 0,
        "cpuMillicores": 2000,
        "memoryMiB": 4096,
        "nodes": 0,
        "timezone": "UTC",
    }


def test_a_plan_that_is_still_asleep_has_saved_what_its_hours_so_far_save() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    three = drill.now + TimeDelta(hours=3)
    saved = saved_by(drill.status, three)
    assert saved
    assert (saved.cpu_core_hours, saved.memory_gib_hours) == (6.0, 12.0)
    drill.now = three
    drill.go("Awake")
    assert saved_by(drill.status, three + TimeDelta(hours=5)) == saved


def test_a_clock_that_was_set_back_takes_no_savings_away() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.now += TimeDelta(hours=10)
    drill.go("Awake")
    drill.now += TimeDelta(hours=14)
    drill.go("Asleep")
    drill.now -= TimeDelta(hours=3)
    drill.go("Awake")
    assert drill.status.savings
    assert drill.status.savings.cpu_core_hours == 20.0
