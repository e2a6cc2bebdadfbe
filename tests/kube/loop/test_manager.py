"""A whole replica against the real API server: a day in no time, standing by, stopping, and failing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from hibernator.api.core import CONFIG_MAPS, EVENTS, LEASES, ConfigMap
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, For, Key, Result
from hibernator.kube.credentials import find
from hibernator.kube.election import ApiLeases, Elector, LeaseLostError, NotLeadingError
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.lease import Timing
from hibernator.kube.manager import EndedError, Manager, WorldWentBackError
from hibernator.kube.metrics import LEADER, LEASE_REQUESTS, RECONCILES, WRITES_FENCED, Metrics
from hibernator.kube.serving import Server
from hibernator.kube.together import together
from support.clock import ManualClock
from support.faultproxy import FaultProxy
from support.faults import Delay
from support.settled import settled

# Long, because a watchdog that finds this process late would end the whole test run.
TIMING = Timing(duration=60, renew_deadline=40, retry=0.1)
SELECTOR = "app=x"


@dataclass
class Replica:
    """One replica in this process, with a controller that writes down when it looked at what."""

    client: Client
    namespace: str
    clock: ManualClock
    name: str = "a"
    elects: bool = False
    metrics: Metrics = field(default_factory=Metrics)
    before_write: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        leases = ApiLeases(self.client, "leader", self.namespace)
        self.elector = Elector(leases, self.metrics, identity=self.name, timing=TIMING)
        self.recorder = Recorder(self.client, self.clock, self.metrics, instance=self.name)
        self.health = Health(self.metrics)
        elector = self.elector if self.elects else None
        self.manager = Manager(self.health, elector=elector, recorder=self.recorder)
        self.cache = Cache(self.client, CONFIG_MAPS, self.namespace, label_selector=SELECTOR)
        self.writer = self.client.fenced(self.elector.may_write) if self.elects else self.client
        self.manager.add_controller(
            Controller(
                "maps", self.reconcile, sources=[For(self.cache)], clock=self.clock, metrics=self.metrics
            )
        )

    async def reconcile(self, key: Key) -> Result:
        """Write the full hour into the object as soon as it has begun."""
        seen = self.cache.get(*key)
        if seen is None:
            return Result()
        now = self.clock.now()
        hour = now.round("hour", mode="floor")
        if seen.data.get("hour") != (text := hour.format_iso()):
            if self.before_write:
                await self.before_write()
            patch = {"data": {"hour": text, "count": str(int(seen.data.get("count", "0")) + 1)}}
            written = await self.writer.patch(
                CONFIG_MAPS, key.name, key.namespace, patch, resource_version=seen.metadata.resource_version
            )
            self.cache.wrote(written)
            self.recorder.note(CONFIG_MAPS, seen, "Normal", "Struck", f"it is {text}")
        return Result(after=(hour.add(hours=1) - now).total("seconds"))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        run = asyncio.create_task(self.manager.run())
        try:
            yield run
        finally:
            self.manager.stop()
            async with asyncio.timeout(15):
                await asyncio.wait([run])


async def make(client: Client, namespace: str, name: str) -> ConfigMap:
    body = {"metadata": {"name": name, "labels": {"app": "x"}}}
    return await client.create(CONFIG_MAPS, body, namespace)


async def ship_lease(client: Client, namespace: str) -> None:
    """What an installation does, so that the first start need not wait."""
    await client.create(LEASES, {"metadata": {"name": "leader"}, "spec": {}}, namespace)


async def leading(replica: Replica) -> None:
    async with asyncio.timeout(15):
        await replica.manager.leading.wait()


async def candidate(replica: Replica) -> None:
    """Wait until a replica that does not lead has looked at the lease."""
    async with asyncio.timeout(15):
        while True:
            if replica.metrics.value(LEASE_REQUESTS, "waiting"):
                return
            await asyncio.sleep(0.01)  # nobody tells


async def test_a_day_passes_in_no_time_with_every_write_at_its_hour(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    replica = Replica(client, namespace, clock)
    for name in "ab":
        await make(client, namespace, name)
    clock.settles_with(lambda: settled(replica.manager))
    history: list[tuple[str, str]] = []
    replica.cache.on_change(
        lambda _, new: history.append((new.metadata.name, new.data.get("hour", "")) if new else ("", ""))
    )
    async with replica.running():
        await clock.advance(24 * 3600 - 1)
    hours = [f"2026-01-05T{hour:02}:00:00Z" for hour in range(24)]
    for name in "ab":
        assert [hour for who, hour in history if who == name and hour] == hours
    assert {obj.data["count"] for obj in replica.cache.values()} == {"24"}


async def test_what_a_test_writes_is_reconciled_once_everything_has_settled(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    replica = Replica(client, namespace, clock)
    async with replica.running():
        await make(client, namespace, "late")
        await settled(replica.manager)
        assert (await client.get(CONFIG_MAPS, "late", namespace)).data["count"] == "1"


async def test_a_replica_that_stands_by_is_warm_and_idle_and_takes_over_when_the_leader_stops(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    await ship_lease(client, namespace)
    await make(client, namespace, "map")
    first = Replica(client, namespace, clock, "first", elects=True)
    second = Replica(client, namespace, clock, "second", elects=True)
    async with second.running() as running:
        async with first.running():
            await first.cache.wait_synced()
            await second.cache.wait_synced()
            either = [asyncio.create_task(leading(replica)) for replica in (first, second)]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            leader, other = (first, second) if first.manager.leading.is_set() else (second, first)
            await settled(leader.manager)
            assert other.cache.get(namespace, "map") is not None
            assert other.metrics.value(RECONCILES, "maps", "later") == 0
            assert (leader.metrics.value(LEADER), other.metrics.value(LEADER)) == (1, 0)
            leader.manager.stop()
            await asyncio.gather(*either)
            assert other.elector.epoch == leader.elector.epoch + 1
        assert running.done() == (leader is second)


async def test_stopping_lets_a_reconcile_finish_writes_its_events_and_gives_the_lease_back(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    await ship_lease(client, namespace)
    await make(client, namespace, "map")
    begun, go_on = asyncio.Event(), asyncio.Event()

    def hold_up() -> asyncio.Future[None]:
        begun.set()
        return asyncio.ensure_future(_until(go_on))

    replica = Replica(client, namespace, clock, elects=True, before_write=hold_up)
    async with replica.running() as run:
        await begun.wait()
        replica.manager.stop()
        go_on.set()
        await run
    assert (await client.get(CONFIG_MAPS, "map", namespace)).data["count"] == "1"
    assert [event.reason for event in await client.list(EVENTS, namespace)] == ["Struck"]
    lease = await client.get(LEASES, "leader", namespace)
    assert (lease.spec.holder_identity, lease.spec.lease_duration_seconds) == ("", None)


async def _until(event: asyncio.Event) -> None:
    await event.wait()


async def test_a_reconcile_that_does_not_end_is_cut_short_and_the_lease_is_left_to_run_out(
    client: Client, namespace: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hibernator.kube.manager._DRAIN", 0.1)
    monkeypatch.setattr("hibernator.kube.manager._LAST_WRITES", 0.1)
    await ship_lease(client, namespace)
    await make(client, namespace, "map")
    begun, ended = asyncio.Event(), []

    async def hang(name: str) -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    replica = Replica(client, namespace, clock, elects=True, before_write=lambda: both(hang))
    before = asyncio.all_tasks()
    async with replica.running() as run:
        await begun.wait()
        replica.manager.stop()
        await run
    assert sorted(ended) == ["one", "other"]
    assert asyncio.all_tasks() == before
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == "a"


async def both(hang: Callable[[str], Awaitable[None]]) -> None:
    await together(map(hang, ("one", "other")))


async def test_a_reconcile_that_goes_on_writing_ends_at_its_next_write_and_another_leads_at_once(
    client: Client, namespace: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hibernator.kube.manager._DRAIN", 0.1)
    await ship_lease(client, namespace)
    await make(client, namespace, "map")
    written: list[str] = []
    replica = Replica(client, namespace, clock, elects=True)

    async def write_on_and_on() -> None:
        while True:
            body = {"metadata": {"name": f"w{len(written)}"}}
            made = await replica.writer.create(CONFIG_MAPS, body, namespace)
            written.append(made.metadata.name)
            if len(written) == 3:
                replica.manager.stop()

    replica.before_write = write_on_and_on
    standby = Replica(client, namespace, clock, "standby", elects=True)
    async with replica.running() as run:
        await leading(replica)
        async with standby.running():
            await run
            await leading(standby)
            assert standby.elector.epoch == replica.elector.epoch + 1
    found = {obj.metadata.name for obj in await client.list(CONFIG_MAPS, namespace)}
    assert {name for name in found if name.startswith("w")} == set(written)  # none of unknown outcome
    assert replica.metrics.value(RECONCILES, "maps", "fenced") == 1


async def test_a_replica_whose_lease_was_taken_ends_and_starts_no_write_from_then_on(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    await ship_lease(client, namespace)
    replica = Replica(client, namespace, clock, elects=True)
    async with replica.running() as run:
        await leading(replica)
        usurper = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 60}}
        await client.patch(LEASES, "leader", namespace, usurper, resource_version=None)
        with pytest.raises(LeaseLostError, match="usurper"):
            await run
        obj = await make(client, namespace, "map")
        with pytest.raises(NotLeadingError):
            await replica.writer.patch(
                CONFIG_MAPS,
                "map",
                namespace,
                {"data": {"a": "b"}},
                resource_version=obj.metadata.resource_version,
            )
        with pytest.raises(NotLeadingError):
            await replica.writer.delete(CONFIG_MAPS, "map", namespace)
        assert (await replica.writer.get(CONFIG_MAPS, "map", namespace)).data == {}
    assert replica.metrics.value(WRITES_FENCED) == 2
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == "usurper"


async def test_a_leader_whose_world_went_back_writes_nothing_more_gives_the_lease_back_and_ends(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    await ship_lease(client, namespace)
    obj = await make(client, namespace, "map")
    replica = Replica(client, namespace, clock, elects=True)
    told: list[str] = []
    replica.manager.on_rewind(lambda: told.append("rewind"))
    async with replica.running() as run:
        await settled(replica.manager)
        replica.cache.went_back()
        with pytest.raises(NotLeadingError):
            await replica.writer.patch(
                CONFIG_MAPS,
                "map",
                namespace,
                {"data": {"a": "b"}},
                resource_version=obj.metadata.resource_version,
            )
        with pytest.raises(WorldWentBackError):
            await run
    assert told == ["rewind"]
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == ""


async def test_a_replica_that_stands_by_reads_everything_anew_and_leads_only_after_that(
    proxy: FaultProxy, client: Client, namespace: str, clock: ManualClock
) -> None:
    lists = f"{namespace}/configmaps[?]limit"
    await ship_lease(client, namespace)
    await make(client, namespace, "map")
    leader = Replica(client, namespace, clock, "leader", elects=True)
    async with leader.running(), Client(find(str(proxy.kubeconfig))) as shaken:
        await leading(leader)
        standby = Replica(shaken, namespace, clock, "standby", elects=True)
        async with standby.running() as run:
            await candidate(standby)
            hold = Delay()
            rule = proxy.next(path=lists, action=hold)
            standby.cache.went_back()
            await rule.hit()
            leader.manager.stop()
            await leading(standby)
            assert standby.metrics.value(RECONCILES, "maps", "later") == 0
            hold.over.set()
            await standby.cache.wait_synced()
            await settled(standby.manager)
            assert standby.metrics.value(RECONCILES, "maps", "later") > 0
            assert not run.done()


async def test_a_replica_that_is_stopped_in_the_moment_of_its_election_gives_the_lease_back(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    await ship_lease(client, namespace)
    replica = Replica(client, namespace, clock, elects=True)
    await replica.elector.acquire()
    replica.manager.stop()
    await replica.manager.run()
    assert (await client.get(LEASES, "leader", namespace)).spec.holder_identity == ""


async def test_whatever_ends_by_itself_ends_the_replica_with_the_reason(
    client: Client, namespace: str, clock: ManualClock
) -> None:
    async def broken() -> None:
        raise ValueError("no port left")

    async def finished() -> None:
        pass

    for run, error in ((broken, ValueError), (finished, EndedError)):
        replica = Replica(client, namespace, clock)
        replica.manager.add("web", run)
        with pytest.raises(error, match=r"web|no port left"):
            await replica.manager.run()


async def test_health_tells_what_is_missing_and_metrics_are_served(
    proxy: FaultProxy, client: Client, namespace: str, clock: ManualClock
) -> None:
    hold = Delay()
    await make(client, namespace, "map")
    held, go_on = asyncio.Event(), asyncio.Event()

    def hold_up() -> asyncio.Future[None]:
        held.set()
        return asyncio.ensure_future(_until(go_on))

    proxy.next(path=f"{namespace}/configmaps", action=hold)
    async with Client(find(str(proxy.kubeconfig))) as shaken, aiohttp.ClientSession() as session:
        replica = Replica(shaken, namespace, clock, before_write=hold_up)
        server = Server(replica.health.app(), host="127.0.0.1", port=0)
        replica.manager.add("health", server.run)
        base = f"http://127.0.0.1:{server.port}"
        async with replica.running():
            await server.listening.wait()
            async with session.get(f"{base}/readyz") as answer:
                assert answer.status == 503
                assert "no  caches: waiting for the first list of configmaps" in await answer.text()
            async with session.get(f"{base}/healthz") as answer:
                assert (answer.status, await answer.text()) == (200, "ok  loop\n")
            hold.over.set()
            await leading(replica)
            async with session.get(f"{base}/readyz") as answer:
                assert (answer.status, await answer.text()) == (200, "ok  caches\nok  running\n")
            async with session.get(f"{base}/metrics") as answer:
                text = await answer.text()
            assert "hibernator_leader 1.0" in text
            assert 'hibernator_queue_depth{controller="maps"} 0.0' in text
            await held.wait()
            replica.manager.stop()
            async with session.get(f"{base}/readyz") as answer:
                assert await answer.text() == "ok  caches\nno  running: about to stop\n"
            go_on.set()
