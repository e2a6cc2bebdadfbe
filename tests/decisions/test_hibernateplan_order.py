"""In which order, and how many at once, the targets of a plan go to sleep and wake."""

from support.plan_drill import Drill, failing, spec, strategy


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


def test_who_waits_for_something_that_does_not_sleep_does_not_sleep_either() -> None:
    execution = strategy("DAG", dependencies=[{"from": "app", "to": "db"}, {"from": "db", "to": "disk"}])
    drill = Drill(
        spec("app", "db", "disk", "x", execution=execution, behavior={"mode": "BestEffort", "retries": 0})
    )
    drill.go("Asleep", failing("app"))
    assert drill.states == {"app": "Failed", "db": "Aborted", "disk": "Aborted", "x": "Completed"}


def test_a_circle_of_dependencies_that_slipped_through_holds_nothing_up() -> None:
    edges = [{"from": "app", "to": "db"}, {"from": "db", "to": "app"}]
    drill = Drill(spec("app", "db", execution=strategy("DAG", dependencies=edges)))
    drill.go("Asleep")
    drill.go("Awake")
    assert drill.states == {"app": "Completed", "db": "Completed"}
