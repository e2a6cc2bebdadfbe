"""Thousands of simulated minutes in which everything goes wrong for three replicas, and one invariant.

The elector is the real one. What is simulated is the world: a register that is linearizable, as etcd is,
messages that take their time, get lost or commit without an answer, hosts that freeze and clocks that neither
agree on the time nor run at the same speed. Real processes and a real API server are in `test_election`.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, TypeVar

import msgspec
from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.api.core import Lease, LeaseSpec
from hibernator.api.meta import ObjectMeta
from hibernator.kube.clock import Timer
from hibernator.kube.election import Elector, LeaseLostError, NotLeadingError
from hibernator.kube.errors import AlreadyExists, Conflict, NotFound
from hibernator.kube.lease import Timing
from hibernator.kube.metrics import Metrics
from support.clock import ManualClock

T = TypeVar("T")
TIMING = Timing(retry=0.5)  # looks often, so that a lease is taken as soon as it may be
METRICS = Metrics()


class Register:
    """The lease as etcd would keep it, and who got it when."""

    def __init__(self, world: ManualClock) -> None:
        self._world = world
        self._versions = itertools.count(1)
        self.lease: Lease | None = None
        self.taken: list[tuple[float, str]] = []  # when, and by whom

    def get(self) -> Lease | None:
        return self.lease

    def create(self, spec: dict[str, Any]) -> Lease:
        if self.lease:
            raise AlreadyExists("it is there")
        return self._store(msgspec.convert(spec, LeaseSpec), uid=f"uid-{next(self._versions)}")

    def patch(self, spec: dict[str, Any], resource_version: str) -> Lease:
        if not self.lease:
            raise NotFound("it is gone")
        if self.lease.metadata.resource_version != resource_version:
            raise Conflict("it has changed")
        merged = msgspec.to_builtins(self.lease.spec) | spec
        return self._store(msgspec.convert(merged, LeaseSpec), uid=self.lease.metadata.uid)

    def delete(self) -> None:
        self.lease = None

    def _store(self, spec: LeaseSpec, uid: str) -> Lease:
        self.lease = Lease(
            metadata=ObjectMeta(uid=uid, resource_version=str(next(self._versions))), spec=spec
        )
        holder = spec.holder_identity or ""
        if holder and (not self.taken or self.taken[-1][1] != holder):
            self.taken.append((self._world.monotonic(), holder))
        return self.lease


@dataclass
class Host:
    """A machine: a clock of its own, a way to the API server, and the power to stand still."""

    world: ManualClock
    register: Register
    random: Random
    offset: float
    rate: float
    frozen_until: float = 0.0
    cut_until: float = 0.0
    slow_until: float = 0.0
    commits: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def disturbed_until(self) -> float:
        return max(self.frozen_until, self.cut_until, self.slow_until, self.world.monotonic())

    # The clock.

    def now(self) -> Instant:
        return self.world.now().add(seconds=self.offset)

    def monotonic(self) -> float:
        return self.offset + self.world.monotonic() * self.rate

    async def sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        timer = self.call_at(self.monotonic() + max(0.0, seconds), over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        return HostTimer(self, when, callback)

    # The way to the register.

    async def get(self) -> Lease | None:
        return await self._exchange(self.register.get)

    async def create(self, spec: dict[str, Any]) -> Lease:
        return await self._exchange(lambda: self.register.create(spec))

    async def patch(self, spec: dict[str, Any], resource_version: str) -> Lease:
        return await self._exchange(lambda: self.register.patch(spec, resource_version))

    async def _exchange(self, commit: Callable[[], T]) -> T:
        """A request happens even if its sender gave up on it, and its answer may come late or never."""
        task = asyncio.create_task(self._deliver(commit))
        self.commits.add(task)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        answer = await asyncio.shield(task)
        await self._travel()
        return answer

    async def _deliver(self, commit: Callable[[], T]) -> T:
        await self._travel()
        return commit()

    async def _travel(self) -> None:
        slow = self.slow_until > self.world.monotonic()
        await self.world.sleep(self.random.uniform(0.5, 6) if slow else self.random.uniform(0.001, 0.05))
        if self.cut_until > self.world.monotonic():
            await asyncio.Event().wait()
        while self.frozen_until > self.world.monotonic():
            await self.world.sleep(self.frozen_until - self.world.monotonic())


class HostTimer:
    """Goes off late when its host is frozen in the very moment."""

    def __init__(self, host: Host, when: float, callback: Callable[[], object]) -> None:
        self._host = host
        self._when = when
        self._callback = callback
        self._timer = host.world.call_at((when - host.offset) / host.rate, self._due)

    def cancel(self) -> None:
        self._timer.cancel()

    def _due(self) -> None:
        host, now = self._host, self._host.world.monotonic()
        if host.frozen_until > now:
            self._timer = host.world.call_at(host.frozen_until, self._due)
        elif host.monotonic() < self._when:  # rounded down on the way through both clocks
            self._timer = host.world.call_at(now + 1e-6, self._due)
        else:
            self._callback()


@dataclass
class Written:
    by: str
    epoch: int
    began: float
    ended: float


@dataclass
class Fault:
    after: float
    what: Literal["freeze", "cut", "slow", "delete"]
    host: int | None  # None is the one that leads
    seconds: float


async def replica(host: Host, name: str, written: list[Written]) -> None:
    """A process that writes while it leads, and starts again as somebody else when it lost its lease."""
    for life in itertools.count():
        elector = Elector(host, METRICS, identity=f"{name}.{life}", timing=TIMING, clock=host)
        await elector.acquire()
        writing = asyncio.create_task(write(host, elector, written))
        try:
            with suppress(LeaseLostError):
                await elector.hold()
        finally:
            writing.cancel()
        await host.sleep(1)


async def write(host: Host, elector: Elector, written: list[Written]) -> None:
    while True:
        with suppress(NotLeadingError):
            allowed = elector.may_write() / host.rate
            began = host.world.monotonic()
            takes = allowed * host.random.choice([0.001, 0.5, 1.0])
            written.append(Written(elector.identity, elector.epoch, began, began + takes))
        await host.sleep(0.3)


FAULTS = st.lists(
    st.builds(
        Fault,
        after=st.floats(min_value=0, max_value=20),
        what=st.sampled_from(["freeze", "cut", "slow", "delete"]),
        host=st.sampled_from([None, None, None, 0, 1, 2]),
        seconds=st.floats(min_value=0.5, max_value=40),
    ),
    min_size=3,
    max_size=12,
)
SKEWS = st.tuples(
    st.floats(min_value=-1e6, max_value=1e6), st.floats(min_value=0.99, max_value=1.01)
)  # a percent is a hundred times what a bad quartz does


async def run(world: ManualClock, hosts: list[Host], faults: list[Fault], work: Awaitable[Any]) -> None:
    running = asyncio.ensure_future(work)
    await world.advance(20)
    for fault in faults:
        await world.advance(fault.after)
        strike(fault, hosts)
    await world.advance(max(host.disturbed_until for host in hosts) - world.monotonic() + 60)
    running.cancel()
    for task in (task for host in hosts for task in host.commits):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await running


def strike(fault: Fault, hosts: list[Host]) -> None:
    register = hosts[0].register
    leader = (register.lease and register.lease.spec.holder_identity) or "0"
    host = hosts[int(leader[0]) if fault.host is None else fault.host]
    until = host.world.monotonic() + fault.seconds
    match fault.what:
        case "freeze":
            host.frozen_until = max(until, host.frozen_until)
        case "cut":
            host.cut_until = max(until, host.cut_until)
        case "slow":
            host.slow_until = max(until, host.slow_until)
        case "delete":
            register.delete()


@given(FAULTS, st.lists(SKEWS, min_size=3, max_size=3), st.integers(min_value=0))
async def test_whatever_happens_no_two_replicas_write_at_a_time_and_one_always_comes_back(
    faults: list[Fault], skews: list[tuple[float, float]], seed: int
) -> None:
    world, random = ManualClock(), Random(seed)
    register = Register(world)
    hosts = [Host(world, register, random, offset, rate) for offset, rate in skews]
    written: list[Written] = []
    replicas = [replica(host, str(number), written) for number, host in enumerate(hosts)]
    await run(world, hosts, faults, asyncio.gather(*replicas))

    for taken, holder in register.taken:
        for write in written:
            if write.began < taken and write.by != holder:
                assert write.ended < taken, f"{write} was not over when {holder} took the lease"
    if not any(fault.what == "delete" for fault in faults):
        epochs = [write.epoch for write in sorted(written, key=lambda write: write.began)]
        assert epochs == sorted(epochs)
    assert written
    silence = world.monotonic() - max(write.began for write in written)
    assert silence < 10, "nobody leads although nothing is wrong any more"
