"""The operator: every controller, server and watch of one replica, put together from the settings."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from hibernator.admission import server as admission
from hibernator.admission.assembly import add_webhooks, handlers, webhook_server
from hibernator.admission.paths import Gate
from hibernator.admission.registration import Address, Endpoint, Service
from hibernator.admission.webhooks.validation import Governance
from hibernator.approvals.people import Naming, People, read_naming
from hibernator.approvals.policies import Policies
from hibernator.approvals.rego import Rego
from hibernator.audit.checkpoints import Signer, signer
from hibernator.audit.database import Database
from hibernator.audit.memory import CheckpointMemory
from hibernator.audit.sealing import Sealer
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers import (
    hibernateplan,
    metrics as controller_metrics,
    remediation,
    scheduleexception,
    shared,
    strays,
    timewindowscaler,
)
from hibernator.controllers.audit import deletion_recorder, spool_controller
from hibernator.controllers.connectors import connector_controllers
from hibernator.controllers.daysoff_reader import calendar_child, holiday_controller
from hibernator.controllers.exceptionpolicy import policy_controller
from hibernator.controllers.means import Means
from hibernator.controllers.planrequest import request_controller
from hibernator.decisions.scheduleexception_request import Rules
from hibernator.decisions.timewindowscaler_case import Pace
from hibernator.executors.connectors import Connectors
from hibernator.executors.registry import executors
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, SystemClock, call_when_set
from hibernator.kube.controller import Controller
from hibernator.kube.credentials import Credentials
from hibernator.kube.election import ApiLeases, Elector, new_identity
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.lease import Timing
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import RUNTIME, Metrics
from hibernator.kube.reading import REQUESTS as READ_REQUESTS
from hibernator.kube.serving import Server
from hibernator.operator import auditing
from hibernator.operator.auditing import AUDIT_METRICS, AuditMetrics, Sealing
from hibernator.operator.settings import Settings
from hibernator.operator.trail import PublishedAuthority, TrailServer
from hibernator.settings import SettingsError

LEASE: Final = "hibernator"
_READERS: Final = 2  # of calendars: one for a namespace whose calendars take long, one for the others
METRICS: Final = (
    *RUNTIME,
    *timewindowscaler.METRICS,
    *controller_metrics.METRICS,
    strays.STRAYS,
    *admission.METRICS,
    *AUDIT_METRICS,
    READ_REQUESTS,
)


@dataclass(frozen=True, slots=True)
class Operator:
    """What runs, and what tests and the demo want to look at."""

    manager: Manager
    metrics: Metrics
    trail: Trail
    port: int  # of health and metrics
    trail_port: int = 0  # of the read API for the web process; 0 where it is not served


@asynccontextmanager
async def operator(
    settings: Settings, credentials: Credentials, *, clock: Clock | None = None, timing: Timing | None = None
) -> AsyncIterator[Operator]:
    """Put one replica together; `await operator.manager.run()` runs it."""
    clock = clock or SystemClock()
    metrics = Metrics(METRICS)
    database = _database(settings)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(credentials, metrics=metrics))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        identity = new_identity()
        elector = None
        writer = client
        if settings.leader_elect:
            leases = ApiLeases(client, LEASE, settings.namespace)
            elector = Elector(leases, metrics, identity=identity, timing=timing or Timing())
            writer = client.fenced(elector.may_write)
        recorder = Recorder(client, clock, metrics, instance=identity)
        health = Health(metrics)
        manager = Manager(health, elector=elector, recorder=recorder)
        host, _, port = settings.listen.rpartition(":")
        server = Server(health.app(), host=host, port=int(port))
        manager.add("health and metrics", server.run)
        manager.add("time of day", lambda: call_when_set(clock, manager.look_at_all))
        await stack.enter_async_context(database)
        signs = _signer(settings)
        audit_metrics = AuditMetrics(metrics)
        trail = Trail(
            ChainStore(database, now=clock.now, signer=signs),
            identity=identity,
            keep_months=settings.audit_months or None,
            watch=audit_metrics,
            resync=manager.look_at_all,
        )
        manager.add("audit trail", trail.run)
        sealing = None
        if signs:
            reading = await stack.enter_async_context(Database(settings.database, read_only=True))
            memory = CheckpointMemory(writer, settings.namespace)
            sealer = Sealer(reading, trail, signs, memory, now=clock.now, broken=audit_metrics.broken)
            sealing = Sealing(sealer, manager.leading, clock)
            manager.add("audit checkpoints", sealing.run)
        manager.flush_with(lambda seconds: auditing.flush(trail, sealing, seconds))
        manager.on_lead(trail.lead)
        manager.on_rewind(lambda: trail.record(auditing.rewound(clock.now())))
        spool = AuditSpool(client, trail, settings.namespace)
        means = Means(
            client=writer,
            caches=Caches(writer, metrics, settings.watch_namespace),
            recorder=recorder,
            clock=clock,
            metrics=metrics,
            trail=trail,
            spool=spool,
            workers=settings.workers,
        )
        fence = elector.may_write if elector else None
        connectors = await stack.enter_async_context(Connectors(writer, session, fence=fence))
        rego = await stack.enter_async_context(Rego())
        readers = [await stack.enter_async_context(calendar_child()) for _ in range(_READERS)]
        manager.add_controller(holiday_controller(means, readers))
        for controller in controllers(settings, means, manager, elector, connectors, rego, session):
            manager.add_controller(controller)
        trail_port = await _add_webhooks(settings, manager, health, client, means, stack)
        yield Operator(manager, metrics, trail, server.port, trail_port)


async def _add_webhooks(
    settings: Settings, manager: Manager, health: Health, client: Client, means: Means, stack: AsyncExitStack
) -> int:
    """The webhooks, and beside them the read API, where settings want them; the port of that, or 0."""
    if not settings.webhook_listen:
        return 0
    exceptions = shared.exceptions(means.caches)
    home = settings.namespace
    people = People.of(means.caches, naming(settings), settings.approver_roles, home)
    served = handlers(
        client,
        means.clock,
        means.spool,
        lambda *plan: exceptions.find(shared.OPEN, "/".join(plan)),
        Governance(Policies(means.caches, home), people),
    )
    gate = Gate(tuple(served))
    webhooks = webhook_server(settings.webhook_listen, means.metrics, served, gate)
    trail = None
    if settings.trail_listen:
        database = await stack.enter_async_context(Database(settings.database, read_only=True))
        trail = TrailServer(settings.trail_listen, client, database, webhooks, means.metrics)
        stack.callback(trail.close)
        manager.add("trail", trail.run)
    add_webhooks(
        manager,
        health,
        means.client,
        webhooks,
        gate,
        endpoint(settings),
        namespace=settings.namespace,
        only_namespace=settings.watch_namespace,
        metrics=means.metrics,
        folder=Path(settings.webhook_certificates) if settings.webhook_certificates else None,
        others=(PublishedAuthority(means.client, settings.namespace),) if trail else (),
    )
    return trail.port if trail else 0


def controllers(
    settings: Settings,
    means: Means,
    manager: Manager,
    elector: Elector | None,
    connectors: Connectors,
    rego: Rego,
    session: aiohttp.ClientSession,
) -> Iterator[Controller]:
    """All of them, over caches that they share."""
    yield spool_controller(means, settings.namespace)
    yield from timewindowscaler.scaler_controllers(
        means,
        session=session,
        pace=Pace(
            jitter_from=settings.scaler_jitter_from,
            jitter_to=settings.scaler_jitter_to,
            minimum=settings.scaler_minimum,
        ),
        follow=manager.follow,
    )
    registry = executors(
        connectors, own_namespace=settings.namespace, only_namespace=settings.watch_namespace
    )
    found = strays.strays_of(means, connectors, registry, manager.follow, settings.watch_namespace)
    yield hibernateplan.plan_controller(means, registry=registry, strays=found)
    sweeper = strays.strays_controller(means, found)
    manager.on_lead(lambda: sweeper.queue.add(strays.SWEEP))
    yield sweeper
    yield from connector_controllers(means, connectors, found.left)
    yield scheduleexception.exception_controller(
        means,
        rules=Rules(
            patience_hours=settings.approval_patience_hours, own_allowed=settings.approval_of_own_requests
        ),
        naming=naming(settings),
        roles=settings.approver_roles,
        home=settings.namespace,
    )
    yield policy_controller(means, home=settings.namespace)
    yield request_controller(means)
    yield from remediation.remediation_controllers(
        means,
        rego=rego,
        naming=naming(settings),
        roles=settings.approver_roles,
        policy=settings.remediation_policy,
        home=settings.namespace,
        own_allowed=settings.approval_of_own_requests,
    )
    manager.on_lead(controller_metrics.ApprovalMetrics(means).lead)
    controller_metrics.show_savings(means)
    deletions = deletion_recorder(means)
    manager.on_lead(lambda: deletions.lead(elector.left_at if elector else None))
    yield deletions.controller


def _database(settings: Settings) -> Database:
    try:
        return Database(settings.database)
    except ValueError as error:
        raise SettingsError(f"database cannot be used: {error}") from error


def _signer(settings: Settings) -> Signer | None:
    """What signs checkpoints; None where no key is given."""
    if not settings.audit_key:
        return None
    try:
        return signer(Path(settings.audit_key).read_bytes())
    except OSError as error:
        raise SettingsError(
            f"auditKey is {settings.audit_key!r}, which cannot be read: {error.strerror}. Check the path, or "
            "make a key with `hibernator audit keygen`."
        ) from error
    except ValueError as error:
        raise SettingsError(
            f"auditKey is {settings.audit_key!r}: {error}. Make one with `hibernator audit keygen`."
        ) from error


def naming(settings: Settings) -> Naming:
    """How user names become e-mail addresses."""
    try:
        return read_naming(settings.approver_emails)
    except ValueError as error:
        raise SettingsError(f"approverEmails cannot be used: {error}.") from error


def endpoint(settings: Settings) -> Endpoint:
    """Where the API server finds the webhooks."""
    if not settings.webhook_url:
        return Service(settings.webhook_service, settings.namespace)
    try:
        return Address(settings.webhook_url)
    except ValueError as error:
        raise SettingsError(f"webhookUrl cannot be used: {error}.") from error
