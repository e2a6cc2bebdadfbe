"""Which replica leads: a Lease in the API server, renewed by the rules of `kube.lease`.

    await elector.acquire()      # returns once this replica leads
    await elector.hold()         # renews, and ends only by raising LeaseLostError
    await elector.release()      # once nothing is being written any more

A replica that lost its lease does not become a candidate again: its process ends and starts afresh, because
whatever it had in hand rests on a leadership that is over. While it leads, every write asks `may_write`, and
a `Watchdog` stands by for the case that the event loop cannot ask anything any more.

Ends the process when its leadership is over and the event loop did not notice.

An event loop that is blocked, or that was frozen together with its process, cannot see that its lease ran
out. A thread can. It ends the process the hard way, because nothing in it can be trusted to let go in time.

A call into C that keeps Python's global lock holds this thread up as well. Then nothing else runs either, and
once it returns, every write asks for its permission first and is refused.
"""

import faulthandler
import os
import random
import socket
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol

import structlog
from whenever import Instant

from hibernator.api.core import LEASES, Lease
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, SystemClock, deadline, steady
from hibernator.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from hibernator.kube.lease import Candidacy, Create, Take, Timing, Wait, went_back
from hibernator.kube.metrics import LEASE_REQUESTS, WRITES_FENCED, Metrics

# The exit status of a process that ended because it no longer led; "temporary failure" of sysexits.h.
LEASE_LOST: Final = 75

# How long a suspended machine's thread may stay asleep after it wakes up, because its timers stood still.
_LONGEST_NAP: Final = 0.5


class Watchdog:
    """Watches from `start` to `stop` that the moment which `over_at` returns is not reached."""

    def __init__(self, over_at: Callable[[], float]) -> None:
        self._over_at = over_at
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lease-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._off.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while (remaining := self._over_at() - steady()) > 0:
            if self._off.wait(min(remaining, _LONGEST_NAP)):
                return
        if not self._off.is_set():
            _end_process()


def _end_process() -> None:
    """Say what every thread was doing, in case that is what blocked the event loop, and be gone."""
    os.set_blocking(2, False)  # no one may be reading what is written there
    with suppress(OSError):
        os.write(2, b"hibernator: the lease ran out while the process was blocked or frozen; it ends here.\n")
        faulthandler.dump_traceback(file=2)
    os._exit(LEASE_LOST)


log = structlog.get_logger(__name__)

_JITTER: Final = 0.2  # so that candidates do not knock in step
_RELEASE: Final = 2.0  # seconds for a release; who stops is in a hurry


class LeaseLostError(Exception):
    """This replica led and does not any more."""


class NotLeadingError(Exception):
    """A write was not started, because this replica could not prove that it leads."""


class Leases(Protocol):
    """Where the lease is kept: one object, with writes that fail if it is not what was read."""

    async def get(self) -> Lease | None: ...

    async def create(self, spec: dict[str, Any]) -> Lease: ...

    async def patch(self, spec: dict[str, Any], resource_version: str) -> Lease: ...


class ApiLeases:
    """The Lease in the API server."""

    def __init__(self, client: Client, name: str, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace

    async def get(self) -> Lease | None:
        try:
            return await self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            return None

    async def create(self, spec: dict[str, Any]) -> Lease:
        metadata = {"name": self._name, "namespace": self._namespace}
        return await self._client.create(LEASES, {"metadata": metadata, "spec": spec})

    async def patch(self, spec: dict[str, Any], resource_version: str) -> Lease:
        return await self._client.patch(
            LEASES, self._name, self._namespace, {"spec": spec}, resource_version=resource_version
        )


def new_identity() -> str:
    """A name that no other process has had: one that starts again on the same host is someone else."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    def __init__(
        self,
        leases: Leases,
        metrics: Metrics,
        *,
        identity: str,
        timing: Timing,
        clock: Clock | None = None,
    ) -> None:
        self._leases = leases
        self._metrics = metrics
        self._timing = timing
        self._clock = clock or SystemClock()
        self._candidacy = Candidacy(identity, timing)
        self._on_rewind: Callable[[], object] = lambda: None
        self._closed = False

    @property
    def identity(self) -> str:
        return self._candidacy.identity

    @property
    def epoch(self) -> int:
        """The number of this leadership. The next has a greater one, unless the Lease was deleted."""
        return self._candidacy.epoch

    @property
    def left_at(self) -> Instant | None:
        """When the last leader was last known to lead."""
        return self._candidacy.left_at

    @property
    def over_at(self) -> float:
        """The reading of the clock at which nothing of this leadership may still be going on."""
        return self._candidacy.over_at

    def on_rewind(self, handler: Callable[[], object]) -> None:
        """Call back when the lease proves that the API server was set back to an older state."""
        self._on_rewind = handler

    def fence(self) -> None:
        """Let no write begin any more, although the lease is held and renewed until it is released."""
        self._closed = True

    def may_write(self) -> float:
        """How many seconds a write that starts now may take; raises NotLeadingError if it must not start."""
        now = self._clock.monotonic()
        if self._closed or now >= self._candidacy.relied_upon_until:
            self._metrics.count(WRITES_FENCED)
            why = "this replica is about to stop" if self._closed else "it cannot prove that it leads"
            raise NotLeadingError(f"no write begins here: {why}; another replica may lead")
        return self._candidacy.over_at - now

    async def acquire(self) -> None:
        """Try until this replica leads."""
        while not await self._attempt(self._timing.request):
            await self._clock.sleep(self._retry())
        log.info("leading", identity=self.identity, epoch=self.epoch)

    async def hold(self) -> NoReturn:
        """Renew for as long as it goes well."""
        while True:
            await self._clock.sleep(min(self._retry(), self._remaining()))
            if self._remaining() > 0:
                await self._attempt(min(self._timing.request, self._remaining()))
            if self._candidacy.holder not in {self.identity, ""}:
                self._candidacy.give_up()
                raise LeaseLostError(f"the lease was taken by {self._candidacy.holder}")
            if self._remaining() <= 0:
                patience = self._timing.renew_deadline
                raise LeaseLostError(f"the lease could not be renewed for {patience:g} seconds")

    async def release(self) -> None:
        """Let another replica lead at once. Only when nothing of this leadership is going on any more."""
        self._closed = True
        try:
            async with deadline(self._clock, _RELEASE):
                released = await self._release()
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released; the next leader has to wait for its end", error=str(error))
        else:
            if released:
                log.info("lease released")
        self._candidacy.give_up()

    async def _release(self) -> bool:
        try:
            return await self._give_away()
        except Conflict:  # someone has touched it, which does not make it theirs
            self._candidacy.saw(await self._leases.get(), self._clock.monotonic())
            return await self._give_away()

    async def _give_away(self) -> bool:
        step = self._candidacy.release(self._clock.monotonic(), self._clock.now())
        if step is None:
            return False
        await self._leases.patch(step.spec, step.resource_version)
        return True

    def _remaining(self) -> float:
        return self._candidacy.relied_upon_until - self._clock.monotonic()

    def _retry(self) -> float:
        return self._timing.retry * random.uniform(1, 1 + _JITTER)

    async def _attempt(self, seconds: float) -> bool:
        """Take or renew the lease; whether it is ours afterwards."""
        try:
            async with deadline(self._clock, seconds):
                ours = await self._renew() or await self._look_and_take()
        except (ApiError, TimeoutError) as error:
            log.warning("lease not reached", error=str(error) or "no answer in time")
            self._metrics.count(LEASE_REQUESTS, "failed")
            return False
        self._metrics.count(LEASE_REQUESTS, "held" if ours else "waiting")
        return ours

    async def _renew(self) -> bool:
        """Renew without looking first, as a leader that no one disturbs does."""
        if self._remaining() <= 0:
            return False
        try:
            return await self._take()
        except (AlreadyExists, Conflict, NotFound):
            return False

    async def _look_and_take(self) -> bool:
        lease = await self._leases.get()
        if went_back(self._candidacy.lease, lease):
            self._on_rewind()
        self._candidacy.saw(lease, self._clock.monotonic())
        try:
            return await self._take()
        except (AlreadyExists, Conflict, NotFound):
            return False  # another was quicker; the next look will show who

    async def _take(self) -> bool:
        asked = self._clock.monotonic()
        step = self._candidacy.next(asked, self._clock.now())
        match step:
            case Wait():
                return False
            case Create(ours=False):
                self._candidacy.saw(await self._leases.create(step.spec), self._clock.monotonic())
                return False
            case Create():
                lease = await self._leases.create(step.spec)
            case Take():
                lease = await self._leases.patch(step.spec, step.resource_version)
        self._candidacy.won(lease, asked)
        return True
