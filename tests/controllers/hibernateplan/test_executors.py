"""What a plan makes of what executors tell it: pauses, refusals, half a success, and what wakes by itself."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
from whenever import Instant

from hibernator.api.planstatus import Rest
from hibernator.executors import registry as every
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Item, Job, Permanent, Retryable, Saved, Throttled, Underway
from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan


class Played(Noop):
    """An executor that does what the test says, and counts."""

    acts: ClassVar[Counter[str]] = Counter()
    script: ClassVar[Callable[[str, int], None]] = lambda _act, _time: None
    rests: ClassVar[Callable[[Job, Saved], bool]] = lambda _job, _item: True

    async def sleep(self, job: Job, item: Saved) -> None:
        del job
        self._play(f"sleep {item.key}")

    async def wake(self, job: Job, item: Saved) -> None:
        del job
        self._play(f"wake {item.key}")

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        return type(self).rests(job, item) and await super().settled(job, item, rest)

    def _play(self, act: str) -> None:
        self.acts[act] += 1
        type(self).script(act, self.acts[act])


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> type[Played]:
    monkeypatch.setattr(every, "Noop", Played)
    monkeypatch.setattr(Played, "acts", Counter())
    monkeypatch.setattr(Played, "check_every", None)
    return Played


async def test_a_request_to_slow_down_costs_time_and_no_attempt(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(act: str, time: int) -> None:
        if act == "sleep noop-1" and time < 3:
            raise Throttled("Rate exceeded.", retry_after=7)

    monkeypatch.setattr(played, "script", script)
    scene.create(plan(noop("busy", items=3)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert "Rate exceeded." in scene.plan_status()["targets"][0]["message"]
        await run.advance(14)
        target = scene.plan_status()["targets"][0]
        assert (target["state"], target["attempts"]) == ("Completed", 1)
    assert played.acts == {"sleep noop-0": 1, "sleep noop-1": 3, "sleep noop-2": 1}


async def test_what_is_refused_for_good_fails_at_once_and_the_others_of_the_target_sleep(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(act: str, _time: int) -> None:
        if act == "sleep noop-1":
            raise Permanent("It is a read replica.")

    monkeypatch.setattr(played, "script", script)
    scene.create(plan(noop("mixed", items=3)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        target = scene.plan_status()["targets"][0]
    assert (target["state"], target["message"]) == ("Failed", "noop-1: It is a read replica.")
    assert target["items"] == {"total": 3, "done": 2, "failed": 1, "skipped": 0}


async def test_after_half_a_waking_only_the_other_half_is_tried_again(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(act: str, time: int) -> None:
        if act == "wake noop-1" and time == 1:
            raise Retryable("Not now.")

    monkeypatch.setattr(played, "script", script)
    scene.create(plan(noop("half", items=3)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance_to(MORNING)
        assert scene.target_states() == {"half": "Pending"}
        await run.advance(66)
        assert scene.phase() == "Active"
        assert scene.restore_data() == []
    wakes = {act: count for act, count in played.acts.items() if act.startswith("wake")}
    assert wakes == {"wake noop-0": 1, "wake noop-1": 2, "wake noop-2": 1}


async def test_of_what_was_woken_only_that_is_kept_which_is_still_waited_for(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played, "script", lambda _act, _time: None)
    scene.create(
        plan(
            noop("restless", items=2, awaitCompletion={"enabled": True, "timeout": "1m"}),
            behavior={"mode": "Strict", "retries": 0},
        )
    )
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        monkeypatch.setattr(played, "rests", lambda _job, item: item.key == "noop-0")
        await run.advance_to(MORNING)
        await run.advance(61)
        assert scene.target_states() == {"restless": "Failed"}
        (data,) = scene.restore_data()
    assert json.loads(data["data"]["items.json"]) == {
        "noop-1": {"cycle": 1, "was": {"number": 1}, "woken": True}
    }


async def test_what_may_wake_by_itself_is_looked_after_also_where_something_else_did_not_sleep(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(act: str, _time: int) -> None:
        if act == "sleep noop-1":
            raise Permanent("It is a read replica.")

    monkeypatch.setattr(played, "check_every", 3600.0)
    monkeypatch.setattr(played, "script", script)
    scene.create(plan(noop("databases", items=2)))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert scene.phase() == "Error"
        await run.advance_to("2026-03-02T22:30:00Z")
    assert played.acts == {"sleep noop-0": 3, "sleep noop-1": 3}


async def test_what_may_wake_by_itself_is_looked_after_through_after_through_the_night(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played, "check_every", 3600.0)
    monkeypatch.setattr(played, "script", lambda _act, _time: None)
    scene.create(plan(noop("database")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance_to("2026-03-02T22:30:00Z")
        assert played.acts == {"sleep noop-0": 3}
        await run.advance_to(MORNING)
        assert scene.phase() == "Active"


@dataclass
class Group:
    """Machines that somebody scales: asleep, there are none and nobody does."""

    scaled: bool = True
    size: int = 3
    sleep_dies: bool = False
    wake_fails: bool = False


class Halves(Noop):
    """Falls asleep in two steps, and may die between them."""

    group: ClassVar[Group]

    async def discover(self, job: Job) -> tuple[Item, ...]:
        del job
        restore = {"scaled": self.group.scaled, "size": self.group.size} if self.group.size else None
        return (Item(key="group", restore=restore),)

    async def sleep(self, job: Job, item: Saved) -> None:
        del job, item
        self.group.scaled = False
        if self.group.sleep_dies:
            raise Permanent("Nobody answers any more.")
        self.group.size = 0

    async def wake(self, job: Job, item: Saved) -> None:
        del job
        if self.group.wake_fails:
            raise Permanent("Nobody answers.")
        self.group.scaled, self.group.size = item.restore["scaled"], item.restore["size"]


async def test_half_a_sleep_that_no_one_could_wake_is_not_taken_for_how_it_is_awake(
    scene: PlanScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(every, "Noop", Halves)
    group = Group(sleep_dies=True, wake_fails=True)
    monkeypatch.setattr(Halves, "group", group, raising=False)
    scene.create(plan(noop("group")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        assert (group.scaled, group.size) == (False, 3)
        await run.advance_to(MORNING)
        assert scene.target_states() == {"group": "Failed"}
        group.sleep_dies = False
        await run.advance_to("2026-03-03T20:00:00Z")
        group.wake_fails = False
        assert scene.phase() == "Hibernated"
        await run.advance_to("2026-03-04T06:00:00Z")
        assert scene.phase() == "Active"
    assert group == Group()


async def test_what_is_turned_round_while_it_settles_goes_all_the_way_back(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played, "script", lambda _act, _time: None)
    windows = [
        {"start": start, "end": end, "daysOfWeek": ["MON"]}
        for start, end in (("20:00", "20:02"), ("20:04", "20:20"))
    ]
    schedule = {"timezone": "UTC", "offHours": windows}
    scene.create(plan(noop("slow", items=2, delaySeconds=150), schedule=schedule))
    async with scene.operator() as run:
        for moment, phase, acts in (
            ("20:01:59", "Hibernating", (1, 0)),
            ("20:03:59", "WakingUp", (1, 1)),
            ("20:10:00", "Hibernated", (2, 1)),
            ("20:26:00", "Active", (2, 2)),
        ):
            await run.advance_to(f"2026-03-02T{moment}Z")
            assert scene.phase() == phase
            for item in ("noop-0", "noop-1"):
                assert (played.acts[f"sleep {item}"], played.acts[f"wake {item}"]) == acts


async def test_what_takes_its_time_costs_no_attempt_however_long_it_takes(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(act: str, time: int) -> None:
        if act == "sleep noop-0" and time <= 40:
            raise Underway("A snapshot is being taken.", retry_after=60)

    stopped = Instant("2026-03-02T20:42:00Z")
    monkeypatch.setattr(played, "script", script)
    monkeypatch.setattr(played, "rests", lambda job, _item: job.now >= stopped)
    scene.create(
        plan(
            noop("database", awaitCompletion={"enabled": True, "timeout": "5m"}),
            behavior={"mode": "Strict", "retries": 0},
        )
    )
    async with scene.operator() as run:
        await run.advance_to("2026-03-02T20:39:00Z")
        assert "A snapshot is being taken." in scene.plan_status()["targets"][0]["message"]
        await run.advance_to("2026-03-02T20:43:00Z")
        target = scene.plan_status()["targets"][0]
    assert (target["state"], target["attempts"]) == ("Completed", 1)


async def test_each_night_is_in_the_audit_trail_once(scene: PlanScene) -> None:
    scene.create(plan(noop("drill")))
    async with scene.operator() as run:
        await run.advance_to(MORNING)
        for type_ in ("sleep.started", "sleep.completed", "wake.started", "wake.completed", "target.slept"):
            assert len(await run.trail(f"hibernateplan.{type_}")) == 1, type_
