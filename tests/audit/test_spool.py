"""Where events wait while the database is away, on the real API server: filled, full, and emptied again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hibernator.api.core import CONFIG_MAPS
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.spool import NAME, AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers.audit import SpoolReconciler
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.credentials import find
from hibernator.kube.errors import NotFound
from hibernator.kube.metrics import API_REQUESTS, RUNTIME, Metrics
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.trail import NOON, slept

_DEADLINE = 60.0  # real seconds; reached only by a test that fails


@dataclass
class Scene:
    """A leader with its spool, whose database the test takes away and brings back."""

    client: Client
    namespace: str
    folder: Path
    trail: Trail
    spool: AuditSpool
    metrics: Metrics
    clock: ManualClock

    async def keep(self, *events: AuditEvent) -> None:
        await self.spool.keep(*events, patience=0.01)

    def requests(self, verb: str) -> float:
        """How many the API server has answered."""
        lines = self.metrics.text().decode().splitlines()
        found = [line for line in lines if line.startswith(API_REQUESTS.name) and f'verb="{verb}"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    async def waiting(self) -> set[str]:
        """The ids of the events in the ConfigMap."""
        try:
            return set((await self.client.get(CONFIG_MAPS, NAME, self.namespace)).data)
        except NotFound:
            return set()

    async def bring_back(self) -> None:
        """Let the leader take to the trail what waits."""
        self.folder.unlink()
        self._aside.rename(self.folder) if self._aside.exists() else self.folder.mkdir()
        spools = Cache(self.client, CONFIG_MAPS, self.namespace, field_selector=f"metadata.name={NAME}")
        following = asyncio.create_task(spools.run())
        try:
            await spools.wait_synced()
            await self._written()
            await SpoolReconciler(self.client, spools, self.trail).reconcile(Key(self.namespace, NAME))
        finally:
            following.cancel()
            await asyncio.wait([following])

    async def _written(self) -> None:
        while True:
            try:
                return await self.trail.flush(_DEADLINE)
            except AuditUnavailable:
                continue  # it has not noticed yet that it is back

    def take_away(self) -> None:
        self.folder.rename(self._aside)
        self.folder.touch()  # a file where a folder is needed: nothing can be written there

    @property
    def _aside(self) -> Path:
        return self.folder.with_suffix(".aside")

    async def told(self) -> set[str]:
        async with Database(f"sqlite:///{self.folder}/audit.db", read_only=True) as database:
            return {entry.id for entry in await Reader(database).page(Filter(), limit=10_000)}


@asynccontextmanager
async def away(
    cluster: ClusterInTest, namespace: str, tmp_path: Path, *, largest: int = 900_000
) -> AsyncIterator[Scene]:
    folder = tmp_path / "volume"
    folder.touch()
    metrics = Metrics(RUNTIME)
    clock = ManualClock(NOON)
    async with (
        Client(find(str(cluster.kubeconfig)), metrics=metrics) as client,
        Database(f"sqlite:///{folder}/audit.db") as database,
    ):
        trail = Trail(ChainStore(database, now=clock.now), identity="test")
        trail.lead()
        spool = AuditSpool(client, trail, namespace, largest=largest, steady=clock.monotonic)
        made = Scene(client, namespace, folder, trail, spool, metrics, clock)
        running = asyncio.create_task(trail.run())
        try:
            async with asyncio.timeout(4 * _DEADLINE):
                yield made
        finally:
            running.cancel()
            await asyncio.wait([running])


@pytest.fixture
async def scene(cluster: ClusterInTest, namespace: str, tmp_path: Path) -> AsyncIterator[Scene]:
    async with away(cluster, namespace, tmp_path) as made:
        yield made


async def test_a_batch_of_501_is_kept_whole(scene: Scene) -> None:
    """As when an object goes whose journal is full."""
    events = [slept(cycle) for cycle in range(501)]
    await scene.keep(*events)
    assert await scene.waiting() == {one.id for one in events}
    await scene.bring_back()
    assert await scene.waiting() == set()
    assert await scene.told() == {one.id for one in events}


async def test_two_hundred_at_once_are_kept_with_a_few_writes(scene: Scene) -> None:
    """One write for each would have all of them wait for each other at one object."""
    events = [slept(cycle) for cycle in range(200)]
    async with asyncio.TaskGroup() as group:
        for one in events:
            group.create_task(scene.keep(one))
    assert await scene.waiting() == {one.id for one in events}
    assert scene.requests("patch") <= 20


async def test_one_that_gives_up_loses_nothing_of_the_others(scene: Scene) -> None:
    events = [slept(cycle) for cycle in range(20)]

    async def impatient(one: AuditEvent, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await scene.keep(one)
        except TimeoutError:
            pass

    async with asyncio.TaskGroup() as group:
        for number, one in enumerate(events):
            group.create_task(impatient(one, 0.02 if number < 5 else _DEADLINE))
    assert await scene.waiting() >= {one.id for one in events[5:]}


async def test_what_finds_no_room_is_logged_whole_and_keeps_no_one(
    cluster: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    async with away(cluster, namespace, tmp_path, largest=5_000) as scene:
        events = [slept(cycle) for cycle in range(20)]
        with capture_logs() as lines:
            await scene.keep(*events)
        kept = await scene.waiting()
        assert 0 < len(kept) < len(events)
        found = await scene.client.get(CONFIG_MAPS, NAME, scene.namespace)
        assert sum(len(key) + len(text.encode()) for key, text in found.data.items()) <= 5_000
        lost = [line["record"] for line in lines if line["event"] == "audit spool full"]
        assert len(lost) == len(events) - len(kept)
        assert all(one.id in str(lost) for one in events if one.id not in kept)


async def test_a_spool_that_was_full_takes_events_again_once_it_is_drained_and_twice_in_a_row(
    cluster: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    async with away(cluster, namespace, tmp_path, largest=5_000) as scene:
        for outage in range(2):
            first = 100 * outage
            await scene.clock.advance(1)
            await scene.keep(*(slept(first + cycle) for cycle in range(20)))
            full = await scene.waiting()
            await scene.keep(slept(first + 50))
            assert await scene.waiting() == full, "it is full"
            await scene.bring_back()
            assert await scene.waiting() == set()
            assert full <= await scene.told()
            scene.take_away()
            await scene.clock.advance(1)
            await scene.keep(slept(first + 60))
            assert await scene.waiting() == {slept(first + 60).id}, f"after outage {outage}"
            await scene.bring_back()
            scene.take_away()


async def test_a_full_spool_is_looked_at_once_a_second_and_not_for_every_event(
    cluster: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    async with away(cluster, namespace, tmp_path, largest=5_000) as scene:
        await scene.keep(*(slept(cycle) for cycle in range(20)))
        before = scene.requests("get") + scene.requests("patch")
        for cycle in range(100, 150):
            await scene.keep(slept(cycle))
        assert scene.requests("get") + scene.requests("patch") - before <= 1
