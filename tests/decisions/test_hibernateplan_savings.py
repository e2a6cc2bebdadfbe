"""What a plan's status and journal say of the savings of a sleep."""

from dataclasses import replace

import pytest
from whenever import Instant, TimeDelta

from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.hibernateplan_status import Woken, saved_by
from support.plan_drill import EVENING, Drill, spec


def test_a_target_that_fell_asleep_says_what_an_hour_of_it_saves_in_the_status_and_in_the_trail() -> None:
    drill = Drill(spec("a"))
    before = drill.plan()
    drill.go("Asleep")
    (target,) = drill.status.targets
    assert target.saving
    assert (target.saving.cpu_cores, target.saving.memory_gib) == (2.0, 4.0)
    [slept] = [
        one for one in drill.status.journal[len(before.status.journal) :] if one.type == "target.slept"
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


def core_hours(drill: Drill) -> float:
    saved = saved_by(drill.status, drill.now)
    assert saved
    return saved.cpu_core_hours or 0.0


def half(hour: float | None) -> Woken:
    """Half of what sleeps, woken at an hour of the night."""
    at = None if hour is None else EVENING + TimeDelta(hours=hour)
    return Woken(item="Deployment/shop/web", by="gitops", at=at, target="a", saving=Saving(1.0, 2.0))


def test_what_others_woke_saves_nothing_from_when_they_did_until_it_sleeps_again() -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.now = EVENING + TimeDelta(hours=3)
    before = drill.plan()
    drill.woken = (half(2),)
    drill.go("Asleep")
    assert core_hours(drill) == 2 * 2 + 1
    [news] = drill.status.journal[len(before.status.journal) :]
    assert (news.type, Instant(news.at), news.data["cpuMillicores"]) == (
        "target.wokenbyothers",
        half(2).at,
        1000,
    )

    before = drill.plan()
    drill.now += TimeDelta(hours=2)
    drill.woken = None  # a process that takes over does not know yet
    drill.go("Asleep")
    assert drill.status == before.status
    assert core_hours(drill) == 2 * 2 + 3

    drill.woken = ()
    drill.go("Asleep")
    [news] = drill.status.journal[len(before.status.journal) :]
    assert (news.type, news.data["awake"], news.data["cpuMillicores"]) == ("target.sleptagain", 0, 2000)
    drill.now += TimeDelta(hours=1)
    drill.go("Awake")
    assert core_hours(drill) == 2 * 2 + 3 + 2


@pytest.mark.parametrize("hour", [None, -5.0, 99.0])
def test_what_cannot_have_been_woken_then_was_woken_when_it_was_found(hour: float | None) -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.now = EVENING + TimeDelta(hours=3)
    drill.woken = (half(hour),)
    drill.go("Asleep")
    drill.now += TimeDelta(hours=1)
    drill.go("Awake")
    assert core_hours(drill) == 2 * 3 + 1
    assert drill.status.savings
    assert drill.status.savings.counted_until is None


def test_however_much_a_workload_asks_for_the_journal_has_numbers_that_the_api_server_takes() -> None:
    """A Deployment may ask for 1e400 CPUs; more than int64 is no integer for the API server."""
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.now += TimeDelta(hours=1)
    drill.woken = (replace(half(0.5), saving=Saving(-(2.0**63), -(2.0**63))),)
    drill.go("Asleep")
    numbers = [
        one.data[name]
        for one in drill.status.journal
        for name in ("cpuMillicores", "memoryMiB")
        if name in one.data
    ]
    assert numbers
    assert all(isinstance(number, int) and abs(number) <= 2**53 for number in numbers)


def test_what_others_wake_in_the_second_night_takes_nothing_from_the_first() -> None:
    drill = Drill(spec("a"))
    for wanted, hours in (("Asleep", 10), ("Awake", 14), ("Asleep", 4)):
        drill.go("Asleep" if wanted == "Asleep" else "Awake")
        drill.now += TimeDelta(hours=hours)
    first, _ = drill.status.history
    drill.woken = (half(26),)
    drill.go("Asleep")
    assert drill.status.history[0] == first
    assert len(drill.status.history) == 2
    saving = drill.status.history[1].saving
    assert saving
    assert saving.cpu_cores == 1.0
    assert core_hours(drill) == 10 * 2 + 2 * 2 + 2 * 1


def by(name: str) -> Woken:
    return Woken(item=name, by=name, at=None, target="a", saving=Saving(0.5, 1.0))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("abc", "a by a, b by b, c by c. Left awake until the next sleep;"),
        ("abcd", "a by a, b by b, c by c and 1 more. Left awake until the next sleep;"),
    ],
)
def test_what_others_woke_is_a_condition_that_names_three_and_goes_when_all_sleep(
    names: str, said: str
) -> None:
    drill = Drill(spec("a"))
    drill.go("Asleep")
    drill.woken = tuple(map(by, names))
    drill.go("Asleep")
    [condition] = [one for one in drill.status.conditions if one.type == "WokenByOthers"]
    assert (condition.status, condition.reason) == ("True", "ItemsAwake")
    assert condition.message.startswith(f"Woken while the plan sleeps: {said}")
    drill.woken = ()
    drill.go("Asleep")
    [condition] = [one for one in drill.status.conditions if one.type == "WokenByOthers"]
    assert (condition.status, condition.reason) == ("False", "OperationalNormal")
