"""Kinds take turns, and none can take the last slot from another."""

import asyncio
from collections import Counter

import pytest

from hibernator.kube.fairness import Lane, Lanes


class Traffic:
    """Requests that stay in flight until they are told to end."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.started: list[str] = []
        self.running: Counter[str] = Counter()
        self._gates: list[tuple[str, asyncio.Event]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def send(self, kind: str, count: int = 1) -> list[asyncio.Task[None]]:
        tasks = [asyncio.create_task(self._request(self.lanes.lane(kind), kind)) for _ in range(count)]
        self.tasks += tasks
        return tasks

    async def _request(self, lane: Lane, kind: str) -> None:
        async with lane:
            gate = asyncio.Event()
            self._gates.append((kind, gate))
            self.started.append(kind)
            self.running[kind] += 1
            try:
                await gate.wait()
            finally:
                self.running[kind] -= 1

    def answer(self, kind: str | None = None) -> None:
        """End the oldest request in flight, of this kind if one is named."""
        found = next(entry for entry in self._gates if kind in {None, entry[0]})
        self._gates.remove(found)
        found[1].set()

    async def answer_everything(self) -> None:
        while not all(task.done() for task in self.tasks):
            await settle()
            while self._gates:
                self.answer()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def wake(lane: Lane) -> None:
    """End a rest without waiting for it."""
    assert lane.resting is not None
    lane.resting.cancel()
    lane._rested()


async def test_requests_in_flight_are_bounded() -> None:
    traffic = Traffic(Lanes(shared=4, own=1))
    traffic.send("plans", 100)
    await settle()
    assert traffic.running["plans"] == 5
    await traffic.answer_everything()
    assert len(traffic.started) == 100


async def test_a_kind_gets_through_while_another_holds_every_shared_slot() -> None:
    traffic = Traffic(Lanes(shared=4, own=1))
    traffic.send("plans", 100)
    await settle()
    traffic.send("leases")
    await settle()
    assert traffic.running["leases"] == 1
    await traffic.answer_everything()


async def test_kinds_that_wait_take_turns_for_the_shared_slots() -> None:
    traffic = Traffic(Lanes(shared=1, own=0))
    traffic.send("plans", 50)
    await settle()
    traffic.send("exceptions", 3)
    await settle()
    for _ in range(6):
        traffic.answer()
        await settle()
    assert traffic.started[:7] == [
        "plans",
        "plans",
        "exceptions",
        "plans",
        "exceptions",
        "plans",
        "exceptions",
    ]
    await traffic.answer_everything()


async def test_whoever_gives_up_waiting_takes_no_ones_turn() -> None:
    traffic = Traffic(Lanes(shared=1, own=0))
    traffic.send("plans")
    await settle()
    given_up, patient = traffic.send("plans", 2)
    await settle()
    given_up.cancel()
    await settle()
    traffic.answer()
    await settle()
    assert traffic.running["plans"] == 1
    assert not patient.done()
    await traffic.answer_everything()


async def test_a_turn_that_comes_in_the_moment_of_giving_up_is_passed_on() -> None:
    traffic = Traffic(Lanes(shared=1, own=0))
    lane = traffic.lanes.lane("plans")
    lane.rest(3600)
    given_up, patient = traffic.send("plans", 2)
    await settle()
    wake(lane)
    given_up.cancel()  # its turn has come, but it has not run since
    await settle()
    assert given_up.cancelled()
    assert traffic.running["plans"] == 1
    assert not patient.done()
    await traffic.answer_everything()


async def test_a_throttled_kind_rests_and_the_others_go_on() -> None:
    traffic = Traffic(Lanes(shared=3, own=1))
    lane = traffic.lanes.lane("plans")
    lane.rest(3600)
    traffic.send("plans", 3)
    traffic.send("leases", 3)
    await settle()
    assert traffic.running == {"leases": 3}
    wake(lane)
    await settle()
    assert traffic.running["plans"] == 2  # its own slot, and the shared one that the leases left
    await traffic.answer_everything()


@pytest.mark.parametrize(("first", "second", "longest"), [(10, 20, 20), (20, 10, 20)])
async def test_of_two_rests_the_longer_counts(first: float, second: float, longest: float) -> None:
    lane = Lanes().lane("plans")
    before = asyncio.get_running_loop().time()
    lane.rest(first)
    lane.rest(second)
    assert lane.resting is not None
    assert lane.resting.when() >= before + longest
    lane.resting.cancel()


async def test_slots_are_neither_lost_nor_made_up_when_requests_come_and_go_and_give_up() -> None:
    lanes = Lanes(shared=3, own=1)
    traffic = Traffic(lanes)
    for round_ in range(30):
        tasks = traffic.send("plans", 4) + traffic.send("leases", 2)
        await settle()
        for task in tasks[round_ % 3 :: 3]:
            task.cancel()
        await settle()
        for _ in range(min(3, sum(traffic.running.values()))):
            traffic._gates.pop(0)[1].set()
        await settle()
    await traffic.answer_everything()
    assert (lanes._free, lanes.lane("plans").busy, lanes.lane("leases").busy) == (3, 0, 0)
    assert not lanes._queue
