"""A notifier on the real API server and a real trail, with sinks on loopback that remember what they got."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from aiohttp import web
from whenever import Instant

from hibernator.api.hibernatenotification import NOTIFICATIONS, HibernateNotification, SinkStatus
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent, Resource, event
from hibernator.audit.migrate import migrate
from hibernator.audit.reading import Reader
from hibernator.audit.store import ChainStore
from hibernator.kube import credentials
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.client import Client
from hibernator.kube.controller import Key, Result
from hibernator.kube.metrics import RUNTIME, Metrics
from hibernator.kube.together import together
from hibernator.notifications.apprise import Apprises
from hibernator.notifications.controller import Notifier, objects_of, sink_keys
from hibernator.notifications.courier import CourierMeans
from hibernator.notifications.metrics import METRICS
from hibernator.notifications.outbound import Outbound
from hibernator.notifications.records import sink_status
from hibernator.notifications.sinks import Mailing, SinkClients
from hibernator.notifications.templates import Templates
from support.caches import running
from support.clock import ManualClock
from support.cluster import ClusterInTest

LOOPBACK = (ip_network("127.0.0.0/8"),)
EVENING = Instant.from_utc(2026, 3, 2, 20)


@dataclass
class Sink:
    """An HTTP server that takes messages, unless a test says otherwise."""

    url: str = ""
    got: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)  # instead, one after another
    away: bool = False
    hangs: bool = False  # it takes what it is asked and never answers
    asked: int = 0
    taken: Callable[[], object] = lambda: None  # called when a message came that is taken, or hangs
    bodies: list[bytes] = field(default_factory=list)
    _recent: list[float] = field(default_factory=list)
    limit: tuple[int, Callable[[], float]] | None = None  # how many it takes a second of which clock

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.asked += 1
        if self.hangs:
            self.taken()
            await asyncio.Event().wait()
        if self.away:
            return web.Response(status=502, text="away")
        if self._is_too_much():
            return web.Response(status=429, headers={"Retry-After": "1"})
        if self.answers:
            status, headers, text = self.answers.pop(0)
            return web.Response(status=status, headers=headers, text=text)
        self.bodies.append(body)
        self.got.append(json.loads(body))
        self.headers.append({key.lower(): value for key, value in request.headers.items()})
        self.paths.append(request.path)
        self.taken()
        return web.json_response({"ok": True, "ts": f"{len(self.got)}.0001"})

    def forget(self) -> None:
        for kept in (self.got, self.headers, self.paths, self.bodies):
            kept.clear()

    def _is_too_much(self) -> bool:
        if self.limit is None:
            return False
        most, clock = self.limit
        self._recent = [at for at in self._recent if at > clock() - 1]
        if len(self._recent) >= most:
            return True
        self._recent.append(clock())
        return False


@asynccontextmanager
async def http_sink() -> AsyncIterator[Sink]:
    sink = Sink()
    app = web.Application()
    app.router.add_post("/{path:.*}", sink.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    sink.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield sink
    finally:
        await runner.cleanup()


def cycles(got: Mapping[str, Any]) -> list[int]:
    """Of which cycles a message to a webhook is, one or a group."""
    return [one["cycle"] for one in got["data"].get("events", [got["data"]])]


@dataclass
class Scene:
    cluster: ClusterInTest
    namespace: str
    client: Client
    caches: Caches
    store: ChainStore
    clock: ManualClock
    metrics: Metrics
    means: CourierMeans
    notifier: Notifier

    async def plan(self, name: str = "shop", **labels: str) -> None:
        found = {**PLAN, "metadata": {"name": name, "labels": labels}}
        self.notifier.objects.plans.wrote(await self.client.create(PLANS, found, self.namespace))

    async def notification(
        self, config: Mapping[str, Any] | str, *, type_: str = "webhook", name: str = "on-call", **spec: Any
    ) -> None:
        self.secret(name, config)
        body = {
            "apiVersion": NOTIFICATIONS.api_version,
            "kind": NOTIFICATIONS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "selector": {},
                "onEvents": ["Start", "Success", "Failure"],
                "sinks": [{"name": "out", "type": type_, "secretRef": {"name": name}}],
            }
            | spec,
        }
        made = await self.client.create(NOTIFICATIONS, body, self.namespace)
        self.notifier.cache.wrote(made)

    def secret(self, name: str, config: Mapping[str, Any] | str) -> None:
        text = config if isinstance(config, str) else json.dumps(config)
        data = {"config": base64.b64encode(text.encode()).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        self.cluster.request("POST", f"/api/v1/namespaces/{self.namespace}/secrets", secret)

    async def exception(self, name: str, *, until: Instant) -> None:
        """An active one of the plan shop."""
        spec = {
            "planRef": {"name": "shop"},
            "type": "suspend",
            "validFrom": self.clock.now().subtract(hours=1).format_iso(),
            "validUntil": until.format_iso(),
            "windows": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["MON"]}],
        }
        found = {
            "apiVersion": EXCEPTIONS.api_version,
            "kind": EXCEPTIONS.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        await self.client.create(EXCEPTIONS, found, self.namespace)
        written = await self.client.patch(
            EXCEPTIONS,
            name,
            self.namespace,
            {"status": {"state": "Active"}},
            resource_version=None,
            subresource="status",
        )
        self.notifier.objects.exceptions.wrote(written)

    async def gone(self, cache: Cache[Any], kind: Kind[Any], name: str) -> None:
        """It is deleted, and the cache has seen that."""
        seen = asyncio.Event()
        cache.on_change(lambda _old, new: seen.set() if new is None else None)
        self.cluster.request("DELETE", kind.path(self.namespace, name))
        async with asyncio.timeout(30):
            while cache.get(self.namespace, name):
                await seen.wait()

    def decided(self, name: str) -> AuditEvent:
        about = Resource(
            group="hibernator.ardikabs.com",
            kind="ScheduleException",
            namespace=self.namespace,
            name=name,
            uid=f"uid-{name}",
        )
        return event("scheduleexception.rejected", about, at=self.clock.now(), identity=(1,))

    async def happens(self, *events: AuditEvent) -> None:
        """The operator writes into the trail."""
        await self.store.append(await self.store.claim("operator"), list(events))

    def slept(
        self,
        cycle: int,
        what: str = "sleep.started",
        name: str = "shop",
        *,
        namespace: str = "",
        **data: Any,
    ) -> AuditEvent:
        plan = Resource(
            group="hibernator.ardikabs.com",
            kind="HibernatePlan",
            namespace=namespace or self.namespace,
            name=name,
            uid=f"uid-{name}{namespace}",
        )
        said = {"cycle": cycle, **data}
        return event(f"hibernateplan.{what}", plan, at=self.clock.now(), identity=(cycle,), data=said)

    async def look(self, name: str = "on-call") -> Result:
        """At all of its sinks, side by side, as the workers do."""
        found = self.notifier.cache.get(self.namespace, name)
        keys = list(sink_keys(found)) if found else [Key(self.namespace, name)]
        results = await together(self.notifier.reconcile(key) for key in keys)
        return Result(min((one.after for one in results if one.after is not None), default=None))

    async def look_until_done(self, name: str = "on-call") -> Result:
        while (result := await self.look(name)).after == 0.0:
            pass
        return result

    def sink(self, name: str = "on-call") -> SinkStatus:
        found = self.notifier.cache.get(self.namespace, name)
        assert found
        return sink_status(found.status, "out")

    def ready(self, name: str = "on-call") -> tuple[str, str, str]:
        found = self.notifier.cache.get(self.namespace, name)
        assert found
        [one] = found.status.conditions
        return one.status, one.reason, one.message

    def reborn(self, found: HibernateNotification) -> None:
        """Another process, which knows only what is written."""
        self.notifier.cache.wrote(found)
        self.notifier = Notifier(
            client=self.client,
            cache=self.notifier.cache,
            objects=self.notifier.objects,
            means=self.means,
            clock=self.clock,
            home="hibernator-system",
        )


@asynccontextmanager
async def notifying(
    cluster: ClusterInTest, namespace: str, folder: Path, *, mailing: Mailing | None = None
) -> AsyncIterator[Scene]:
    clock = ManualClock(EVENING)
    metrics = Metrics((*RUNTIME, *METRICS))
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(credentials.find(str(cluster.kubeconfig))))
        database = await stack.enter_async_context(Database(f"sqlite:///{folder}/audit.db"))
        await migrate(database)
        out = await stack.enter_async_context(Outbound(LOOPBACK))
        apprises = await stack.enter_async_context(Apprises(LOOPBACK))
        templates = await stack.enter_async_context(Templates())
        means = CourierMeans(
            client=client,
            trail=Reader(database),
            clients=SinkClients(out, mailing, apprises),
            templates=templates,
            clock=clock,
            metrics=metrics,
            base_url="https://hibernator.test",
            account="hibernator-system:hibernator-web",
            spread=lambda: 1.0,
        )
        caches = Caches(client, metrics, namespace)
        objects = objects_of(caches)
        notifications = caches.of(NOTIFICATIONS)
        notifier = Notifier(client, notifications, objects, means, clock, "hibernator-system")
        for cache in (notifications, objects.plans, objects.scalers, objects.approvals, objects.exceptions):
            await stack.enter_async_context(running(cache))
            await cache.wait_synced()
        store = ChainStore(database, now=clock.now)
        yield Scene(cluster, namespace, client, caches, store, clock, metrics, means, notifier)


PLAN: dict[str, Any] = {
    "apiVersion": "hibernator.ardikabs.com/v1alpha1",
    "kind": "HibernatePlan",
    "metadata": {},
    "spec": {
        "schedule": {
            "timezone": "UTC",
            "offHours": [{"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE"]}],
        },
        "targets": [
            {
                "name": "web",
                "type": "noop",
                "connectorRef": {"kind": "K8SCluster", "name": "here"},
                "parameters": {},
            }
        ],
    },
}
