"""Who may send a request next, so that a storm of one kind cannot starve another.

Requests in flight are bounded. Each kind has a few slots of its own, and beyond those the kinds that wait
take turns for the shared ones. The own slots matter when the API server hangs: thousands of patches may then
hold every shared slot until their deadlines, and a Lease must be renewed all the same. Waiting has no
deadline of its own here, because everyone ahead has one.
"""

import asyncio
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from types import TracebackType


class Lane:
    """The requests of one kind. `async with lane:` holds a slot for as long as a request is in flight."""

    def __init__(self, lanes: "Lanes") -> None:
        self._lanes = lanes
        self.busy = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.resting: asyncio.TimerHandle | None = None

    def rest(self, seconds: float) -> None:
        """Let nothing more through for a while, because the API server asked for it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        if self.resting is not None:
            until = max(until, self.resting.when())
            self.resting.cancel()
        self.resting = loop.call_at(until, self._rested)

    def _rested(self) -> None:
        self.resting = None
        self._lanes.admit()

    async def __aenter__(self) -> None:
        if not self.waiting and self._lanes.take(self):
            return
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        self._lanes.queue(self)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                with suppress(ValueError):
                    self.waiting.remove(turn)
            else:  # the turn came in the very moment in which its owner gave up
                self._lanes.give_back(self)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lanes.give_back(self)

    def admit_one(self) -> bool:
        """Let the first in line go, if there is one and a slot for it."""
        while self.waiting and self.waiting[0].done():
            self.waiting.popleft()
        if not self.waiting or not self._lanes.take(self):
            return False
        self.waiting.popleft().set_result(None)
        return True


class Lanes:
    """All kinds together: `shared` slots for all that come, and `own` more for each kind."""

    def __init__(self, *, shared: int = 32, own: int = 2) -> None:
        self._free = shared
        self._own = own
        self._lanes: dict[Hashable, Lane] = {}
        self._queue: deque[Lane] = deque()  # the lanes in which someone waits, the next first

    def lane(self, kind: Hashable) -> Lane:
        lane = self._lanes.get(kind)
        if lane is None:
            lane = self._lanes[kind] = Lane(self)
        return lane

    def take(self, lane: Lane) -> bool:
        """Take a slot, if there is one for this lane."""
        if lane.resting is not None:
            return False
        if lane.busy >= self._own:
            if not self._free:
                return False
            self._free -= 1
        lane.busy += 1
        return True

    def give_back(self, lane: Lane) -> None:
        lane.busy -= 1
        if lane.busy >= self._own:
            self._free += 1
        self.admit()

    def queue(self, lane: Lane) -> None:
        if lane not in self._queue:
            self._queue.append(lane)

    def admit(self) -> None:
        """Let go all that can, one from each lane in turn, until no one can."""
        refused = 0
        while refused < len(self._queue):
            lane = self._queue.popleft()
            refused = 0 if lane.admit_one() else refused + 1
            if lane.waiting:
                self._queue.append(lane)
