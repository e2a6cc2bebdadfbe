"""What the trail holds in memory: events on their way, and the ids of those that have arrived."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice

from hibernator.audit.event import AuditEvent


class Buffer:
    """Bounded on both sides. Not safe between threads; everything happens in the event loop."""

    def __init__(self, capacity: int, memory: int) -> None:
        self._capacity = capacity
        self._memory = memory
        self._pending: dict[str, tuple[AuditEvent, float]] = {}
        self._durable: OrderedDict[str, None] = OrderedDict()
        self._waiters: dict[str, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def has(self, event_id: str) -> bool:
        """Whether this event is known to be in the database."""
        if event_id not in self._durable:
            return False
        self._durable.move_to_end(event_id)
        return True

    def add(self, event: AuditEvent) -> bool:
        """Take an event in; False when there is no room."""
        if self.has(event.id) or event.id in self._pending:
            return True
        if len(self._pending) >= self._capacity:
            return False
        self._pending[event.id] = event, time.monotonic()
        return True

    def first(self, count: int) -> list[AuditEvent]:
        return [event for event, _since in islice(self._pending.values(), count)]

    def lag(self) -> float:
        """For how long the oldest event has been waiting, in seconds."""
        for _event, since in self._pending.values():
            return time.monotonic() - since
        return 0.0

    def arrived(self, events: Iterable[AuditEvent]) -> None:
        """Those events are in the database."""
        for event in events:
            self._pending.pop(event.id, None)
            self._durable[event.id] = None
            if waiter := self._waiters.pop(event.id, None):
                waiter.set_result(None)
        while len(self._durable) > self._memory:
            self._durable.popitem(last=False)

    def failed(self, error: Exception) -> None:
        """The database could not be reached: whoever waits is told now."""
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.set_exception(error)
            waiter.exception()  # whoever waited may have lost patience, which is nothing to complain about

    async def until_durable(self, ids: Iterable[str]) -> None:
        """Return when all of these have arrived; raise what `failed` was told, if that comes first."""
        for event_id in ids:
            if event_id in self._pending:
                waiter = self._waiters.setdefault(event_id, asyncio.get_running_loop().create_future())
                await asyncio.shield(waiter)

    def pending_ids(self) -> list[str]:
        return list(self._pending)
