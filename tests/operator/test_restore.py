"""Etcd is restored from a backup under operators that run: they see the world as it is now, and no other."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hibernator.api.core import CONFIG_MAPS, LEASES, ConfigMap
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, For, Key, Result
from hibernator.kube.credentials import find
from hibernator.kube.election import ApiLeases, Elector
from hibernator.kube.health import Health
from hibernator.kube.lease import Timing
from hibernator.kube.manager import Manager, WorldWentBackError
from hibernator.kube.metrics import Metrics
from hibernator.kube.reflector import ReflectorTuning
from support.clock import ManualClock
from support.operators import Running, running
from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan
from support.restorable import Restorable, restorable

NAMESPACE = "team"
SELECTOR = "app=x"
# Long, because a watchdog that finds this process late would end the whole test run.
TIMING = Timing(duration=90, renew_deadline=60, retry=0.2)
IMPATIENT = ReflectorTuning(
    first_wait=0.05, longest_wait=0.2, longest_absence=0.5, believe_older_lists_after=1.0
)


@pytest.fixture
def world() -> Iterator[Restorable]:
    with restorable() as made:
        made.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield made


@pytest.fixture
async def client(world: Restorable) -> AsyncIterator[Client]:
    async with Client(find(str(world.cluster.kubeconfig))) as made:
        yield made


@dataclass
class Replica:
    """One that looks at ConfigMaps, and at the lease if it is a candidate."""

    client: Client
    name: str
    elects: bool = True
    looks: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        metrics = Metrics()
        leases = ApiLeases(self.client, "leader", NAMESPACE)
        elector = Elector(leases, metrics, identity=self.name, timing=TIMING)
        self.manager = Manager(Health(metrics), elector=elector if self.elects else None)
        self.cache = Cache(self.client, CONFIG_MAPS, NAMESPACE, label_selector=SELECTOR, habits=IMPATIENT)
        self.manager.add_controller(
            Controller("maps", self.look, sources=[For(self.cache)], clock=ManualClock(), metrics=metrics)
        )

    async def look(self, key: Key) -> Result:
        found = self.cache.get(*key)
        if found:
            self.looks[key.name] = found.data["v"]
        return Result()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        run = asyncio.create_task(self.manager.run())
        try:
            await self.cache.wait_synced()
            yield run
        finally:
            self.manager.stop()
            await asyncio.wait([run])

    async def until(self, *wanted: ConfigMap) -> None:
        """Return when the cache shows exactly these."""
        await until(lambda: set(map(_version, self.cache.values())) == set(map(_version, wanted)))


async def until(fact: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            if fact():
                return
            await asyncio.sleep(0.02)  # nobody tells


def _version(obj: ConfigMap) -> tuple[str, str, str, str]:
    meta = obj.metadata
    return meta.name, meta.uid, meta.resource_version, obj.data["v"]


async def make(client: Client, name: str, value: str) -> ConfigMap:
    body = {"metadata": {"name": name, "labels": {"app": "x"}}, "data": {"v": value}}
    return await client.create(CONFIG_MAPS, body, NAMESPACE)


async def live_on(client: Client) -> None:
    """What the backup does not know."""
    await client.patch(CONFIG_MAPS, "a", NAMESPACE, {"data": {"v": "after"}}, resource_version=None)
    await client.delete(CONFIG_MAPS, "b", NAMESPACE)
    await make(client, "c", "after")


@pytest.mark.parametrize("bump", [True, False], ids=["bumped", "as it was"])
async def test_a_leader_ends_and_the_one_that_stands_by_leads_on_with_the_world_as_it_is_now(
    world: Restorable, client: Client, *, bump: bool
) -> None:
    before = [await make(client, name, "before") for name in "ab"]
    await client.create(LEASES, {"metadata": {"name": "leader"}, "spec": {}}, NAMESPACE)
    leader, standby = Replica(client, "leader"), Replica(client, "standby")
    async with leader.running() as first:
        await leader.manager.leading.wait()
        async with standby.running() as second:
            await asyncio.to_thread(world.backup)
            await live_on(client)
            truth = await client.list(CONFIG_MAPS, NAMESPACE, label_selector=SELECTOR)
            await leader.until(*truth)
            await standby.until(*truth)
            await asyncio.to_thread(world.restore, bump=bump)
            async with asyncio.timeout(90):
                with pytest.raises(WorldWentBackError):
                    await first
                await standby.manager.leading.wait()
            await standby.until(*before)
            await until(lambda: standby.looks == {"a": "before", "b": "before"})
            assert not second.done()


async def test_a_replica_without_election_finds_it_in_its_lists_and_ends(
    world: Restorable, client: Client
) -> None:
    """Of a restore with bumped revisions. Without, a watch may resume as if nothing had happened."""
    before = [await make(client, name, "before") for name in "ab"]
    replica = Replica(client, "only", elects=False)
    async with replica.running() as run:
        await asyncio.to_thread(world.backup)
        await live_on(client)
        await replica.until(*await client.list(CONFIG_MAPS, NAMESPACE, label_selector=SELECTOR))
        await asyncio.to_thread(world.restore, bump=True)
        async with asyncio.timeout(200):  # a watch that brings nothing counts as dead after 90 s
            with pytest.raises(WorldWentBackError):
                await run
        assert set(map(_version, replica.cache.values())) == set(map(_version, before))


async def test_a_waking_that_is_lived_twice_is_told_twice_and_everything_else_once(
    world: Restorable, tmp_path: Path
) -> None:
    database = f"sqlite:///{tmp_path}/audit.db"
    world.cluster.install_crds()
    scene = PlanScene(world.cluster, NAMESPACE)
    scene.create(plan(noop("drill")))
    clock = ManualClock("2026-03-02T08:00:00Z")
    async with running(world.cluster.kubeconfig, NAMESPACE, clock, database=database) as run:
        await run.advance_to(EVENING)
        assert scene.phase() == "Hibernated"
        await asyncio.to_thread(world.backup)
        await run.settle()
        await run.advance_to(MORNING)
        assert scene.phase() == "Active"
        assert await told(run) == {"sleep": (1, 1), "wake": (1, 1)}
        await asyncio.to_thread(world.restore, bump=True)
        async with asyncio.timeout(60):
            assert isinstance(await run.ended(), WorldWentBackError)
    assert scene.phase() == "Hibernated"
    again = ManualClock("2026-03-03T06:10:00Z")
    async with running(world.cluster.kubeconfig, NAMESPACE, again, database=database) as run:
        await run.until(lambda: scene.phase() == "Active")
        assert await told(run) == {"sleep": (1, 1), "wake": (2, 2)}
        assert await count(run, "audit.rewound") == 1


async def told(run: Running) -> dict[str, tuple[int, int]]:
    """How many of each the trail has: begun and ended."""
    return {
        "sleep": (
            await count(run, "hibernateplan.sleep.started"),
            await count(run, "hibernateplan.sleep.completed"),
        ),
        "wake": (
            await count(run, "hibernateplan.wake.started"),
            await count(run, "hibernateplan.wake.completed"),
        ),
    }


async def count(run: Running, type_: str) -> int:
    return len(await run.trail(type_))
