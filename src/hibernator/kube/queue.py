"""The keys that wait to be looked at: each at most once, and never with two workers at a time.

The two sets are those of client-go. A key is *dirty* from the moment someone asks for a look until a worker
takes it, and *taken* until that worker is done; a key that becomes dirty while it is taken waits for that
end. So no change is missed, and a thousand changes in a row cost one look.

Later looks live in one heap behind one timer: no task and no timer per object. Of two moments asked for the
earlier wins, and a look that begins forgets the one still to come, because each look says again when it wants
the next. (client-go would keep it and look once more for nothing.)

What can wait a little is added as such, and lets others by who came up to a second later: what has to be
written now goes before what only reports it. After that second it waits like any other.

Namespaces take turns. Anyone who fills a queue with a thousand keys of one namespace makes no one wait in
another: its next key goes next. A key waits for as many others as there are namespaces, times its place among
those of its own, so that nothing waits for ever. And no namespace has more than its share of the workers
(`most`): looks that take long, because something behind them answers slowly, leave workers to the others.

Every controller has a queue and workers of its own. A shared queue would need shares and weights to keep a
storm of one kind from burying the rest; with separate ones the rest does not even notice.
"""

import asyncio
import heapq
import itertools
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Container, Iterator, Sequence
from random import Random
from typing import Final, Generic, TypeVar

from hibernator.kube.clock import Clock, Timer, steady
from hibernator.kube.metrics import QUEUE_DELAYED, QUEUE_DEPTH, QUEUE_WAIT_SECONDS, Metrics

K = TypeVar("K")
V = TypeVar("V")


class Turns(Generic[K, V]):
    """Keys with what is known of them. Within a lane the first to come is the first to go."""

    def __init__(self, lane: Callable[[K], str]) -> None:
        self._lane = lane
        self._lanes: OrderedDict[str, OrderedDict[K, V]] = OrderedDict()  # whose turn it is comes first
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        """In the order in which they would go if no others came, but for the turns."""
        for keys in self._lanes.values():
            yield from keys

    def waiting(self, lane: str) -> int:
        """How many wait in a lane."""
        return len(self._lanes.get(lane, ()))

    def get(self, key: K) -> V | None:
        """What is known of a key that waits."""
        keys = self._lanes.get(self._lane(key))
        return keys.get(key) if keys else None

    def add(self, key: K, known: V) -> None:
        """Let a key wait that does not yet; a lane that was empty has its turn after all the others."""
        self._lanes.setdefault(self._lane(key), OrderedDict())[key] = known
        self._count += 1

    def remove(self, key: K) -> None:
        """Let a key that waits wait no longer."""
        name = self._lane(key)
        keys = self._lanes[name]
        del keys[key]
        if not keys:
            del self._lanes[name]
        self._count -= 1

    def take(self, full: Container[str] = ()) -> tuple[K, V] | None:
        """The first of the lane whose turn it is. A full lane is passed over and keeps its place."""
        name = next((name for name in self._lanes if name not in full), None)
        if name is None:
            return None
        keys = self._lanes[name]
        first = keys.popitem(last=False)
        if keys:
            self._lanes.move_to_end(name)
        else:
            del self._lanes[name]
        self._count -= 1
        return first

    def clear(self) -> None:
        self._lanes.clear()
        self._count = 0


# A retry comes up to a fifth earlier than its table says: spread out, and never later than promised.
JITTER: Final = 0.2
# By how many seconds others may come later, and still go before a key that can wait.
LENIENCE: Final = 1.0
# Overtaken entries stay in the heap until they surface. This many, and twice the living, are put up with.
_STALE: Final = 64


class QueueClosedError(Exception):
    """No more work is handed out."""


class Queue(Generic[K]):
    """`namespace` says in which one a key is, `most` how many of one may be taken at once."""

    def __init__(
        self,
        name: str,
        clock: Clock,
        metrics: Metrics,
        *,
        namespace: Callable[[K], str] = lambda _key: "",
        most: int | None = None,
        random: Random | None = None,
    ) -> None:
        self._name = name
        self._clock = clock
        self._metrics = metrics
        self._random = random or Random()
        self._namespace = namespace
        self._most = float("inf") if most is None else most
        self._busy: Counter[str] = Counter()  # how many of a namespace are taken
        self._full: set[str] = set()  # the namespaces that have as many as they may
        self._ready: Turns[K, float] = Turns(namespace)  # since when, in real time
        self._lenient: Turns[K, tuple[float, float]] = Turns(namespace)  # since when by the clock, and really
        self._patience: deque[tuple[float, K]] = deque()  # of these and of some who have gone, in order
        self._permits = asyncio.Semaphore(0)  # as many as can be taken of these two
        self._dirty: dict[K, bool] = {}  # and whether it can wait
        self._taken: set[K] = set()
        self._delayed: dict[K, tuple[float, int]] = {}  # when, and its entry in the heap
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = itertools.count()
        self._timer: Timer | None = None
        self._failures: dict[K, tuple[Sequence[float], int]] = {}
        self._closed = False
        self._idle = asyncio.Event()
        self._idle.set()
        metrics.follow(QUEUE_DEPTH, lambda: len(self._ready) + len(self._lenient), name)
        metrics.follow(QUEUE_DELAYED, lambda: len(self._delayed), name)

    def add(self, key: K, *, can_wait: bool = False) -> None:
        """Ask for a look as soon as possible; one that can wait lets others by."""
        if self._closed:
            return
        if key in self._dirty:
            if self._dirty[key] and not can_wait:
                self._hurry(key)
            return
        self._dirty[key] = can_wait
        self._idle.clear()
        if key not in self._taken:
            self._make_ready(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a look in a while; one that comes earlier anyway makes this one unnecessary."""
        if self._closed:
            return
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if (earlier := self._delayed.get(key)) and earlier[0] <= due:
            return
        number = next(self._sequence)
        self._delayed[key] = (due, number)
        heapq.heappush(self._heap, (due, number, key))
        self._compact()
        if self._heap[0][1] == number:
            self._arm()

    def retry(self, key: K, delays: Sequence[float], *, at_least: float | None = None) -> float:
        """Ask for another look after a failure: the nth in a row waits for the nth delay, or for the last.

        A failure of another sort, with other delays, begins a new row. `at_least` is what a server asked for.
        """
        before, failures = self._failures.get(key, (delays, 0))
        failures = failures if before == delays else 0
        self._failures[key] = delays, failures + 1
        delay = delays[min(failures, len(delays) - 1)] * self._random.uniform(1 - JITTER, 1)
        delay = max(delay, (at_least or 0.0) * self._random.uniform(1, 1 + JITTER))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """Take the failures of a key as over."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Take the key whose turn it is; anyone who takes one must say `done`."""
        await self._permits.acquire()
        if self._closed:
            self._permits.release()  # pass the news on to the next who waits
            raise QueueClosedError
        key, since = self._take()
        del self._dirty[key]
        self._taken.add(key)
        self._occupy(self._namespace(key))
        self._delayed.pop(key, None)
        self._metrics.observe(QUEUE_WAIT_SECONDS, steady() - since, self._name)
        return key

    def done(self, key: K) -> None:
        """Give a key back, so that others may take it again."""
        self._taken.remove(key)
        self._vacate(self._namespace(key))
        if key in self._dirty:
            self._make_ready(key)
        elif not self._dirty and not self._taken:
            self._idle.set()

    def close(self) -> None:
        """Hand out nothing more and forget what waits; the next leader finds all of it again."""
        self._closed = True
        self._ready.clear()
        self._lenient.clear()
        self._patience.clear()
        self._dirty.clear()
        self._delayed.clear()
        self._heap.clear()
        self._arm()
        self._permits.release()
        if not self._taken:
            self._idle.set()

    @property
    def idle(self) -> bool:
        """Nothing is due and nothing is taken; something may still be wanted later."""
        return self._idle.is_set()

    async def wait_idle(self) -> None:
        """Return once nothing is due and nothing is taken. After `close`: once the last key is done."""
        await self._idle.wait()

    def _make_ready(self, key: K) -> None:
        lane = self._namespace(key)
        if self._waiting(lane) + self._busy[lane] < self._most:
            self._permits.release()
        if self._dirty[key]:
            since = self._clock.monotonic()
            self._lenient.add(key, (since, steady()))
            self._patience.append((since, key))
        else:
            self._promote()
            self._ready.add(key, steady())

    def _waiting(self, lane: str) -> int:
        return self._ready.waiting(lane) + self._lenient.waiting(lane)

    def _occupy(self, lane: str) -> None:
        self._busy[lane] += 1
        if self._busy[lane] >= self._most:
            self._full.add(lane)

    def _vacate(self, lane: str) -> None:
        if self._waiting(lane) + self._busy[lane] > self._most:
            self._permits.release()
        self._busy[lane] -= 1
        self._full.discard(lane)
        if not self._busy[lane]:
            del self._busy[lane]

    def _hurry(self, key: K) -> None:
        self._promote()
        if self._dirty[key]:  # still: it may just have been promoted
            self._dirty[key] = False
            if waits := self._lenient.get(key):
                self._lenient.remove(key)
                self._ready.add(key, waits[1])

    def _promote(self) -> None:
        """Let those who have let others by for long enough wait like these."""
        passed = self._clock.monotonic() - LENIENCE
        while self._patience and self._patience[0][0] < passed:
            since, key = self._patience.popleft()
            waits = self._lenient.get(key)
            if waits and waits[0] == since:
                self._lenient.remove(key)
                self._dirty[key] = False
                self._ready.add(key, waits[1])

    def _take(self) -> tuple[K, float]:
        self._promote()
        if ready := self._ready.take(self._full):
            return ready
        lenient = self._lenient.take(self._full)
        if lenient is None:
            raise RuntimeError("a permit without a key that can be taken")
        return lenient[0], lenient[1][1]

    def _arm(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._clock.call_at(self._heap[0][0], self._wake) if self._heap else None

    def _wake(self) -> None:
        now = self._clock.monotonic()
        while self._heap and self._heap[0][0] <= now:
            due, number, key = heapq.heappop(self._heap)
            if self._delayed.get(key) == (due, number):
                del self._delayed[key]
                self.add(key)
        self._arm()

    def _compact(self) -> None:
        if len(self._heap) > _STALE + 2 * len(self._delayed):
            self._heap = [entry for entry in self._heap if self._delayed.get(entry[2]) == entry[:2]]
            heapq.heapify(self._heap)
