"""What a plan makes of what executors tell it: pauses, refusals, half a success, and what wakes by itself."""

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

import pytest

from hibernator.executors import every
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Job, Permanent, Retryable, Saved, Throttled
from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan


class Played(Noop):
    """An executor that does what the test says, and counts."""

    acts: ClassVar[Counter[str]] = Counter()
    script: ClassVar[Callable[[str, int], None]] = lambda _act, _time: None

    async def sleep(self, job: Job, item: Saved) -> None:
        del job
        self._play(f"sleep {item.key}")

    async def wake(self, job: Job, item: Saved) -> None:
        del job
        self._play(f"wake {item.key}")

    def _play(self, act: str) -> None:
        self.acts[act] += 1
        type(self).script(act, self.acts[act])


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> type[Played]:
    monkeypatch.setattr(every, "Noop", Played)
    monkeypatch.setattr(Played, "acts", Counter())
    monkeypatch.setattr(Played, "looks_again", None)
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


async def test_what_may_wake_by_itself_is_looked_after_through_the_night(
    scene: PlanScene, played: type[Played], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(played, "looks_again", 3600.0)
    monkeypatch.setattr(played, "script", lambda _act, _time: None)
    scene.create(plan(noop("database")))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.advance_to("2026-03-02T22:30:00Z")
        assert played.acts == {"sleep noop-0": 3}
        await run.advance_to(MORNING)
        assert scene.phase() == "Active"


async def test_each_night_is_in_the_audit_trail_once(scene: PlanScene) -> None:
    scene.create(plan(noop("drill")))
    async with scene.operator() as run:
        await run.advance_to(MORNING)
        for type_ in ("sleep.started", "sleep.completed", "wake.started", "wake.completed", "target.slept"):
            assert len(await run.trail(f"hibernateplan.{type_}")) == 1, type_
