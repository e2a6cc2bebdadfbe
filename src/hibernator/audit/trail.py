"""What the rest of the house talks to: `record` returns at once, a writer behind it does the rest.

The objects' own status is the buffer that counts. A controller records the transitions that it finds there on
each pass, again and again: what the trail already has costs a look into a set, and what was lost with a
process, or did not fit in while the database was away, is written after a later pass. So memory stays small,
and nothing on the reconcile's path waits for a database.

Where an approval must not go ahead unaudited, `record_now` returns once the event is durable, or raises.
"""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, Protocol

import structlog

from hibernator.audit.asked import DeletionRequest
from hibernator.audit.chain import START
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent
from hibernator.audit.store import ChainStore, Life, Superseded


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
        """The database could not be reached: fail those that wait for it now."""
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.set_exception(error)
            waiter.exception()  # its waiter may have timed out; then nothing else retrieves it

    async def until_durable(self, ids: Iterable[str]) -> None:
        """Return when all of these have arrived; raise what `failed` got, if that comes first."""
        for event_id in ids:
            if event_id in self._pending:
                waiter = self._waiters.setdefault(event_id, asyncio.get_running_loop().create_future())
                await asyncio.shield(waiter)

    def pending_ids(self) -> list[str]:
        return list(self._pending)


BATCH: Final = 4000  # the cost of a commit, and of some twenty ways to a thread and back, vanishes in it
_PATIENCE: Final = 5.0
_DRAIN_EVERY: Final = 1.0
_PRUNE_EVERY: Final = 3600.0
_RECLAIM_AFTER: Final = 60.0  # longer than any lease: a leader that was replaced has ended by then
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 30.0

_log: Final = structlog.get_logger(__name__)


class Watch(Protocol):
    """What metrics want to hear."""

    def written(self, count: int, lag: float) -> None:
        """So many events are durable; the oldest of them had waited that many seconds."""

    def dropped(self) -> None:
        """An event did not fit in; a later pass will record it again."""

    def away(self, reason: str) -> None:
        """The database cannot be used; empty when it can again."""


class _Unwatched:
    def written(self, count: int, lag: float) -> None: ...

    def dropped(self) -> None: ...

    def away(self, reason: str) -> None: ...


class Trail:
    """One for each process. Runs on every replica; `lead` makes this one the writer of the chain."""

    def __init__(
        self,
        store: ChainStore,
        *,
        identity: str,
        keep_months: int | None = None,
        capacity: int = 20_000,
        watch: Watch | None = None,
        resync: Callable[[], object] = lambda: None,
    ) -> None:
        """`resync` shall let every object be looked at again; called when events had to be dropped."""
        self._store = store
        self._identity = identity
        self._keep_months = keep_months
        self._buffer = Buffer(capacity, memory=5 * capacity)
        self._watch = watch or _Unwatched()
        self._resync = resync
        self._more = asyncio.Event()
        self._urgent = asyncio.Event()
        self._prepared = asyncio.Event()
        self._elected = False
        self._epoch: int | None = None
        self._claim_at = 0.0
        self._drain_at = 0.0
        self._prune_at = 0.0
        self._dropped = False
        self._away = ""
        self.head = START

    @property
    def waiting(self) -> int:
        """How many events are only in memory so far."""
        return len(self._buffer)

    @property
    def lag(self) -> float:
        """For how many seconds the oldest of them has been."""
        return self._buffer.lag()

    @property
    def away(self) -> str:
        """Why the database cannot be used; empty while it can."""
        return self._away

    def has(self, event_id: str) -> bool:
        """Whether this event is durable, as far as this process knows.

        A controller that is about to replace the last trace of a transition in an object's status asks this
        first, and keeps the trace while the answer is no.
        """
        return self._buffer.has(event_id)

    def record(self, event: AuditEvent) -> bool:
        """Record a transition, without waiting; False when there is no room and it must be recorded again."""
        if not self._buffer.add(event):
            self._dropped = True
            self._watch.dropped()
            return False
        self._more.set()
        return True

    async def record_now(self, *events: AuditEvent, patience: float = _PATIENCE) -> None:
        """Record what already stands in an object's status, and return when it is durable.

        What follows from it (an exception becomes Active, a remediation runs) is done only after this. On
        `AuditUnavailable` nothing may follow yet; the event itself stays true, and is recorded again.
        """
        recorded = [self.record(event) for event in events]
        if not all(recorded):
            raise AuditUnavailable(f"{self._away or 'The audit trail has no room.'} {_CLOSED}")
        await self._durable([event.id for event in events], patience)

    async def flush(self, patience: float = _PATIENCE) -> None:
        """Return when everything that was recorded so far is durable, or raise AuditUnavailable."""
        await self._durable(self._buffer.pending_ids(), patience)

    async def living(self) -> list[Life]:
        """Every object whose beginning is in the chain and whose end is not; raises AuditUnavailable."""
        await self._there()
        return await self._store.living()

    async def asked(self, uids: Sequence[str]) -> list[DeletionRequest]:
        """Who asked to delete these objects; raises AuditUnavailable."""
        await self._there()
        return await self._store.asked(uids)

    def lead(self) -> None:
        """This replica has been elected. It remains so until its process ends."""
        self._elected = True
        self._more.set()

    async def run(self) -> None:
        """Write until cancelled."""
        failures = 0
        while True:
            try:
                await self._turn()
            except AuditUnavailable as error:
                self._went_away(error)
                await self._pause(failures)
                failures += 1
            except Superseded:
                self._lost_the_chain()
            else:
                failures = 0
                self._reached()
                self._heal()
                await self._rest()

    async def _turn(self) -> None:
        if not self._prepared.is_set():
            await self._store.prepare()
            self._prepared.set()
        now = time.monotonic()
        if self._elected and self._epoch is None and now >= self._claim_at:
            self._epoch = await self._store.claim(self._identity)
            _log.info("writing the audit chain", epoch=self._epoch)
        if batch := self._buffer.first(BATCH):
            await self._write(batch)
        if self._epoch is not None:
            await self._tend(self._epoch, now)

    async def _write(self, batch: list[AuditEvent]) -> None:
        if self._epoch is None:
            await self._store.deliver(batch)
        else:
            self.head = await self._store.append(self._epoch, batch)
        lag = self._buffer.lag()
        self._reached()
        self._buffer.arrived(batch)
        self._watch.written(len(batch), lag)

    async def _tend(self, epoch: int, now: float) -> None:
        """Record what others left in the inbox, and drop what is too old."""
        if now >= self._drain_at:
            full = await self._store.drain(epoch, BATCH) == BATCH
            self._drain_at = now if full else now + _DRAIN_EVERY
        if self._keep_months is not None and now >= self._prune_at:
            if removed := await self._store.prune(epoch, self._keep_months):
                _log.info("removed old audit events", events=removed, kept_months=self._keep_months)
            self._prune_at = now + _PRUNE_EVERY

    async def _rest(self) -> None:
        """Wait for the next event, or until it is time to look into the inbox or to claim the chain again."""
        if len(self._buffer):
            return
        self._more.clear()
        self._urgent.clear()
        due = self._drain_at if self._epoch is not None else self._claim_at
        await _wait(self._more, max(0.0, due - time.monotonic()) if self._elected else None)

    async def _pause(self, failures: int) -> None:
        """Back off with jitter; an approval that waits cuts it short, though not below the first step."""
        self._urgent.clear()
        await asyncio.sleep(_FIRST_PAUSE * random.uniform(0.5, 1))
        limit = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**failures)
        await _wait(self._urgent, limit * random.uniform(0.5, 1))

    async def _there(self) -> None:
        """Return when the database has its tables, or raise AuditUnavailable."""
        if not self._away:
            await _wait(self._prepared, _PATIENCE)
        if self._away or not self._prepared.is_set():
            raise AuditUnavailable(self._away or "The audit database has not answered yet.")

    async def _durable(self, ids: list[str], patience: float) -> None:
        self._urgent.set()
        try:
            async with asyncio.timeout(patience):
                await self._buffer.until_durable(ids)
        except TimeoutError:
            waited = f"The audit database has not answered within {patience:g} seconds."
            raise AuditUnavailable(f"{self._away or waited} {_CLOSED}") from None

    def _went_away(self, error: AuditUnavailable) -> None:
        if not self._away:
            _log.warning("audit database away", reason=str(error), waiting=len(self._buffer))
        self._away = str(error)
        self._watch.away(self._away)
        self._buffer.failed(AuditUnavailable(f"{error} {_CLOSED}"))

    def _reached(self) -> None:
        if self._away:
            _log.info("audit database back", waiting=len(self._buffer))
            self._away = ""
            self._watch.away("")

    def _heal(self) -> None:
        """Once there is room again, have everything recorded again that had to be dropped."""
        if self._dropped and not len(self._buffer):
            self._dropped = False
            self._resync()

    def _lost_the_chain(self) -> None:
        _log.warning("another replica writes the audit chain now")
        self._epoch = None
        self._claim_at = time.monotonic() + _RECLAIM_AFTER


_CLOSED: Final = "Nothing goes ahead without its record: try again when the database is back."


async def _wait(flag: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await flag.wait()
    except TimeoutError:
        pass
