"""The queue against a model that is too simple to be wrong, and what a model does not show."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hibernator.kube.metrics import QUEUE_DELAYED, QUEUE_DEPTH, QUEUE_WAIT_SECONDS, Metrics
from hibernator.kube.queue import LENIENCE, Queue, QueueClosedError
from support.clock import ManualClock

T = TypeVar("T")
KEYS = st.sampled_from(["x1", "x2", "x3", "y1", "y2", "z1"])  # in the namespaces x, y and z
DELAYS = (1.0, 2.0, 5.0)


def space(key: str) -> str:
    return key[0]


class QueueMachine(RuleBasedStateMachine):
    """Every order of calls: the same keys in the same order as from the model, each with one worker."""

    @initialize(most=st.sampled_from([None, 1, 2]))
    def begin(self, most: int | None) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.metrics = Metrics()
        self.queue: Queue[str] = Queue("test", self.clock, self.metrics, namespace=space, most=most)
        self.most = len("xyz") * 3 if most is None else most
        self.ready: list[str] = []  # in the order in which they came
        self.turns: list[str] = []  # the namespaces of these, the next one first
        self.lenient: dict[str, float] = {}  # since when, of those who let others by
        self.lenient_turns: list[str] = []
        self.taken: set[str] = set()
        self.again: dict[str, bool] = {}  # asked for while taken, and whether it can wait
        self.later: dict[str, float] = {}
        self.failures: dict[str, int] = {}

    def run(self, work: Awaitable[T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(5):
                return await work

        return self.loop.run_until_complete(bounded())

    def want(self, key: str, *, can_wait: bool = False) -> None:
        self.promote()
        if key in self.taken:
            self.again[key] = can_wait and self.again.get(key, True)
        elif can_wait and key not in self.ready:
            self.lenient.setdefault(key, self.clock.monotonic())
            if space(key) not in self.lenient_turns:
                self.lenient_turns.append(space(key))
        elif not can_wait and key not in self.ready:
            self.lenient.pop(key, None)
            self.line_up(key)

    def promote(self) -> None:
        """Whoever has let others by for long enough waits like these."""
        for key, since in list(self.lenient.items()):
            if since + LENIENCE < self.clock.monotonic():
                del self.lenient[key]
                self.line_up(key)

    def line_up(self, key: str) -> None:
        self.ready.append(key)
        if space(key) not in self.turns:
            self.turns.append(space(key))
        self.lenient_turns = [one for one in self.lenient_turns if one in map(space, self.lenient)]

    @rule(key=KEYS, can_wait=st.booleans())
    def add(self, key: str, *, can_wait: bool) -> None:
        self.queue.add(key, can_wait=can_wait)
        self.want(key, can_wait=can_wait)

    @precondition(lambda self: self.taken)
    @rule(can_wait=st.booleans())
    def add_what_is_taken(self, *, can_wait: bool) -> None:
        for key in sorted(self.taken):
            self.add(key, can_wait=can_wait)

    @rule(key=KEYS, seconds=st.integers(min_value=-1, max_value=10))
    def add_after(self, key: str, seconds: int) -> None:
        self.run(self._add_after(key, seconds))
        if seconds <= 0:
            self.want(key)
        else:
            due = self.clock.monotonic() + seconds
            self.later[key] = min(due, self.later.get(key, due))

    async def _add_after(self, key: str, seconds: float) -> None:
        self.queue.add_after(key, seconds)

    def has_room(self, key: str) -> bool:
        return sum(space(one) == space(key) for one in self.taken) < self.most

    def something_can_be_taken(self) -> bool:
        return any(map(self.has_room, (*self.ready, *self.lenient)))

    @precondition(lambda self: not self.something_can_be_taken())
    @rule()
    def wait_in_vain(self) -> None:
        self.run(self._wait_in_vain())

    async def _wait_in_vain(self) -> None:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(self.queue.get())
            for _ in range(3):
                await asyncio.sleep(0)
            assert waiting.cancel()

    @precondition(lambda self: self.something_can_be_taken())
    @rule()
    def get(self) -> None:
        key = self.run(self.queue.get())
        assert key not in self.taken
        assert key == self.next()
        self.taken.add(key)
        self.later.pop(key, None)

    def next(self) -> str:
        """The first of the namespace whose turn it is; if nobody else can go, one who lets others by."""
        self.promote()
        if not any(map(self.has_room, self.ready)):
            turn = next(one for one in self.lenient_turns if self.has_room(one))
            first, *others = (key for key in self.lenient if space(key) == turn)
            del self.lenient[first]
            self.lenient_turns.remove(turn)
            if others:
                self.lenient_turns.append(turn)
            return first
        turn = next(one for one in self.turns if self.has_room(one))
        self.turns.remove(turn)
        first, *others = (key for key in self.ready if space(key) == turn)
        self.ready.remove(first)
        if others:
            self.turns.append(turn)
        return first

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), fails=st.booleans())
    def done(self, data: Any, *, fails: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.taken)))
        if fails:
            self.run(self._retry(key))
        else:
            self.queue.forget(key)
            self.failures.pop(key, None)
        self.queue.done(key)
        self.taken.remove(key)
        if key in self.again:
            self.want(key, can_wait=self.again.pop(key))

    async def _retry(self, key: str) -> None:
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        longest = DELAYS[min(failures, len(DELAYS) - 1)]
        delay = self.queue.retry(key, DELAYS)
        assert 0.8 * longest <= delay <= longest
        due = self.clock.monotonic() + delay
        self.later[key] = min(due, self.later.get(key, due))

    @rule(seconds=st.sampled_from([0.5, 1, 3, 20]))
    def time_passes(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        self.run(self.clock.advance(seconds))
        for key, due in sorted(self.later.items(), key=lambda item: item[1]):
            if due <= end + 1e-6:
                del self.later[key]
                self.want(key)
        # Keys due at the same moment become ready in the order in which they were asked for; the model does
        # not keep that order, nor when that was on the way, so that it takes them from the queue.
        self.promote()
        self.queue._promote()
        assert set(self.ready) == set(self.queue._ready)
        assert set(self.lenient) == set(self.queue._lenient)
        self.ready = list(self.queue._ready)
        self.turns = list(dict.fromkeys(map(space, self.ready)))

    @invariant()
    def the_queue_shows_what_the_model_knows(self) -> None:
        if not hasattr(self, "queue"):
            return
        assert self.metrics.value(QUEUE_DEPTH, "test") == len(self.ready) + len(self.lenient)
        assert self.metrics.value(QUEUE_DELAYED, "test") == len(self.later)
        assert self.queue.idle == (not self.ready and not self.lenient and not self.taken)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self._close())
            self.loop.close()

    async def _close(self) -> None:
        """Closed in whatever state: nothing more is handed out, and what is taken can be given back."""
        self.queue.close()
        with pytest.raises(QueueClosedError):
            await self.queue.get()
        assert self.queue.idle == (not self.taken)
        for key in self.taken:
            self.queue.add(key)
            self.queue.retry(key, DELAYS)
            self.queue.done(key)
        await self.queue.wait_idle()
        assert self.clock.pending() == ()


TestQueueAgainstItsModel = QueueMachine.TestCase


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(clock: ManualClock) -> Queue[str]:
    return Queue("test", clock, Metrics())


async def test_a_worker_that_waits_is_given_the_next_key(queue: Queue[str]) -> None:
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    assert await waiting == "a"


async def test_a_key_is_not_lost_with_a_worker_that_is_cancelled_while_it_waits(queue: Queue[str]) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add("a")
    first.cancel()
    assert await second == "a"


async def test_every_waiting_worker_hears_that_the_queue_is_closed(queue: Queue[str]) -> None:
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.close()
    ends = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [QueueClosedError] * 3


async def test_a_closed_queue_is_idle_once_the_last_key_is_done(queue: Queue[str]) -> None:
    queue.add("a")
    queue.add("b")
    key = await queue.get()
    queue.close()
    assert not queue.idle
    queue.add("c")
    queue.done(key)
    await queue.wait_idle()


async def test_the_nearer_of_two_moments_wins_whichever_was_named_first(
    queue: Queue[str], clock: ManualClock
) -> None:
    for key, first, second in (("a", 60, 30), ("b", 30, 60)):
        queue.add_after(key, first)
        queue.add_after(key, second)
    await clock.advance(30)
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    queue.done("a")
    queue.done("b")
    await clock.advance(60)
    assert queue.idle


async def test_a_look_that_begins_makes_the_later_one_unnecessary(
    queue: Queue[str], clock: ManualClock
) -> None:
    queue.add_after("a", 60)
    queue.add("a")
    queue.done(await queue.get())
    await clock.advance(120)
    assert queue.idle


async def test_ten_thousand_waiting_keys_need_one_timer(queue: Queue[str], clock: ManualClock) -> None:
    for number in range(10_000):
        queue.add_after(str(number), 86_400 - number)
    assert len(clock.pending()) == 1


async def test_a_key_that_is_put_off_again_and_again_does_not_grow_the_queue(
    queue: Queue[str], clock: ManualClock
) -> None:
    for _ in range(10_000):
        queue.add("a")
        key = await queue.get()
        queue.add_after(key, 86_400)
        queue.done(key)
    assert len(queue._heap) < 100


async def test_the_wait_for_a_worker_is_counted(clock: ManualClock) -> None:
    metrics = Metrics()
    queue: Queue[str] = Queue("test", clock, metrics)
    queue.add("a")
    await queue.get()
    assert metrics.value(QUEUE_WAIT_SECONDS, "test") == 1


async def test_failures_of_another_sort_are_counted_anew(queue: Queue[str]) -> None:
    slow, quick = (100.0, 200.0), (1.0, 2.0)
    assert 80 <= queue.retry("a", slow) <= 100
    assert queue.retry("a", quick) <= 1
    assert 1.6 <= queue.retry("a", quick) <= 2
    assert 80 <= queue.retry("a", slow) <= 100


async def test_what_can_wait_lets_others_by_but_not_for_ever(queue: Queue[str], clock: ManualClock) -> None:
    queue.add("patient", can_wait=True)
    await clock.advance(LENIENCE)
    queue.add("a moment later")
    await clock.advance(0.1)
    queue.add("too late")
    assert [await queue.get() for _ in range(3)] == ["a moment later", "patient", "too late"]


async def test_what_could_wait_is_hurried_by_whoever_cannot(queue: Queue[str]) -> None:
    for key in ("first", "second"):
        queue.add(key, can_wait=True)
    queue.add("second")
    assert await queue.get() == "second"


async def test_a_neighbour_is_next_although_a_thousand_keys_of_another_namespace_are_ready(
    clock: ManualClock,
) -> None:
    queue = Queue("test", clock, Metrics(), namespace=space)
    for number in range(1000):
        queue.add(f"x{number}")
    assert await queue.get() == "x0"
    queue.add("y")
    assert [await queue.get() for _ in range(3)] == ["x1", "y", "x2"]


async def test_a_neighbour_who_can_wait_is_next_after_a_second_although_a_thousand_are_ready(
    clock: ManualClock,
) -> None:
    queue = Queue("test", clock, Metrics(), namespace=space)
    for number in range(1000):
        queue.add(f"x{number}")
    queue.add("y", can_wait=True)
    assert [await queue.get() for _ in range(2)] == ["x0", "x1"]
    await clock.advance(LENIENCE + 0.1)
    assert [await queue.get() for _ in range(2)] == ["x2", "y"]


async def test_looks_that_take_for_ever_leave_workers_to_the_neighbours(clock: ManualClock) -> None:
    queue = Queue("test", clock, Metrics(), namespace=space, most=3)
    for number in range(1000):
        queue.add(f"x{number}")
    slow = [await queue.get() for _ in range(3)]
    async with asyncio.TaskGroup() as workers:
        free = workers.create_task(queue.get())
        await clock.settle()
        assert not free.done()
        queue.add("y", can_wait=True)
        assert await free == "y"
    queue.done(slow.pop())
    assert await queue.get() == "x3"


@given(st.lists(st.sampled_from("xyz"), max_size=60))
def test_of_namespaces_that_wait_none_is_served_twice_before_the_others_are_served(spaces: list[str]) -> None:
    async def serve() -> list[str]:
        queue = Queue("test", ManualClock(), Metrics(), namespace=space)
        for number, name in enumerate(spaces):
            queue.add(f"{name}{number}")
        return [await queue.get() for _ in spaces]

    served = asyncio.run(serve())
    assert sorted(served) == sorted(f"{name}{number}" for number, name in enumerate(spaces))
    for name in "xyz":
        assert [key for key in served if space(key) == name] == [
            f"{name}{number}" for number, one in enumerate(spaces) if one == name
        ]
    for place, key in enumerate(served):
        waiting = {space(later) for later in served[place:]}
        turn = [space(one) for one in served[place : place + len(waiting)]]
        assert len(set(turn)) == len(turn), key
