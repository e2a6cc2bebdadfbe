"""The web process: every page, server, watch and message of one replica, put together from the settings.

Every replica serves pages; one of them, by a Lease, keeps the messages.
"""

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from hibernator.audit.reading import TrailReader
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, SystemClock, call_when_set
from hibernator.kube.credentials import Credentials
from hibernator.kube.election import ApiLeases, Elector, new_identity
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.lease import Timing
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import RUNTIME, Metrics
from hibernator.kube.remote import Remote
from hibernator.kube.serving import Server
from hibernator.messages.sending import MESSAGES
from hibernator.messages.slack_api import ACCEPTED, SlackApi
from hibernator.notifications.metrics import METRICS as NOTIFICATION_METRICS
from hibernator.settings import SettingsError
from hibernator.web import metrics as counted
from hibernator.web.application import application
from hibernator.web.attempts import Attempts
from hibernator.web.cases import Cases
from hibernator.web.certificate import MountedCertificate
from hibernator.web.dashboard.changes import Changes
from hibernator.web.dashboard.kept import RestoreData
from hibernator.web.dashboard.routes import dashboard
from hibernator.web.dashboard.saved import Savings
from hibernator.web.dashboard.seeing import Visibility
from hibernator.web.ended import Ended
from hibernator.web.limits import Limits, Rates
from hibernator.web.notifying import notifying
from hibernator.web.oidc import Oidc
from hibernator.web.outgoing import outgoing
from hibernator.web.pages import Pages
from hibernator.web.pricing import prices_of
from hibernator.web.provider import Provider
from hibernator.web.requests import Requests
from hibernator.web.saml.login import METADATA, Saml
from hibernator.web.saml.replay import keep_forgetting
from hibernator.web.saml.service import ServiceProvider
from hibernator.web.sealing import Keyring
from hibernator.web.sessions import Sessions
from hibernator.web.settings import Settings
from hibernator.web.site import Login, Site
from hibernator.web.slack import Interactions
from hibernator.web.slack_clicks import Clicks
from hibernator.web.slack_socket import Socket
from hibernator.web.trail import operator_of, trail_reader
from hibernator.web.typed import Typed

LEASE: Final = "hibernator-web"
_DRAINING: Final = 6  # seconds: a page says for up to four what the operator makes of a decision
METRICS: Final = (*RUNTIME, *counted.METRICS, *NOTIFICATION_METRICS, MESSAGES, ACCEPTED)


@dataclass(frozen=True, slots=True)
class Web:
    """What runs, and what tests want to look at."""

    manager: Manager
    metrics: Metrics
    site: Site
    port: int  # of the pages
    metrics_port: int


@asynccontextmanager
async def web(
    settings: Settings,
    credentials: Credentials,
    *,
    clock: Clock | None = None,
    wall_clock: Clock | None = None,
    timing: Timing | None = None,
    rates: Rates | None = None,
) -> AsyncIterator[Web]:
    """Put one replica together; `await web.manager.run()` runs it.

    Log-ins and looks at peers go by `wall_clock`, where that is another one: in a demo, a day takes minutes.
    """
    clock = clock or SystemClock()
    wall_clock = wall_clock or clock
    metrics = Metrics(METRICS)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(credentials, metrics=metrics))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        identity = new_identity()
        elector = None
        if settings.leader_elect:
            leases = ApiLeases(client, LEASE, settings.namespace)
            elector = Elector(leases, metrics, identity=identity, timing=timing or Timing())
        recorder = Recorder(client, clock, metrics, instance=identity)
        health = Health(metrics)
        manager = Manager(health, elector=elector, recorder=recorder)
        manager.add("time of day", lambda: call_when_set(clock, manager.look_at_all))
        caches = Caches(client, metrics, settings.watch_namespace)
        cases = Cases.of(caches, settings)
        for cache in cases.caches:
            manager.add_cache(cache)
        writer = client.fenced(elector.may_write) if elector else client
        slack = None
        if settings.slack_bot_token_file:
            slack = SlackApi(settings.slack_api_url, settings.slack_bot_token_file, session, clock, metrics)
        for controller in outgoing(
            settings, writer, caches, cases, recorder=recorder, clock=clock, metrics=metrics, slack=slack
        ):
            manager.add_controller(controller)
        operator = operator_of(settings, client, session, credentials)
        read = await stack.enter_async_context(trail_reader(settings, operator))
        site = _site(settings, (clock, wall_clock), metrics, client, cases, rates, read, operator)
        if site.savings:
            manager.add("savings", site.savings.run)
        await stack.enter_async_context(
            notifying(
                settings, writer, caches, manager, read, clock=clock, wall_clock=wall_clock, metrics=metrics
            )
        )
        mounted = MountedCertificate(Path(settings.certificates), clock) if settings.certificates else None
        tls = mounted.front.context if mounted else None
        if mounted:
            manager.add("certificate", mounted.follow)
        manager.add("ended sessions", site.ended.follow)
        tidy = partial(keep_forgetting, client, settings.namespace, wall_clock, manager.leading)
        manager.add("used assertions and ended sessions", tidy)
        routes = [*Requests(site).routes(), *dashboard(site)]
        if slack:
            routes += _slack_routes(site, slack, session, manager)
        app = application(site, _logins(site, session), routes)
        pages = _server(app, settings.listen, tls, websockets=True, draining=_DRAINING)
        private = _server(health.app(), settings.metrics_listen)
        stack.callback(pages.close)
        stack.callback(private.close)
        manager.add("pages", pages.run)
        manager.add("health and metrics", private.run)
        yield Web(manager, metrics, site, pages.port, private.port)


def _slack_routes(
    site: Site, slack: SlackApi, session: aiohttp.ClientSession, manager: Manager
) -> list[BaseRoute]:
    """Clicks come in at every replica."""
    interactions = Interactions(site, Clicks(site, slack, session))
    manager.add("slack clicks", interactions.run)
    if site.settings.slack_app_token_file:
        manager.add("slack socket", Socket(site, interactions).run)
    return interactions.routes()


def _server(app: ASGIApp, address: str, tls: ssl.SSLContext | None = None, **more: Any) -> Server:
    host, _, port = address.rpartition(":")
    return Server(app, host=host, port=int(port), tls=tls, **more)


def _site(
    settings: Settings,
    clocks: tuple[Clock, Clock],
    metrics: Metrics,
    client: Client,
    cases: Cases,
    rates: Rates | None,
    trail: TrailReader | None,
    operator: Remote | None,
) -> Site:
    clock, wall_clock = clocks
    keys = Keyring(Path(settings.session_key_file), monotonic=wall_clock.monotonic)
    sessions = Sessions(keys, wall_clock)
    return Site(
        settings=settings,
        clock=clock,
        wall_clock=wall_clock,
        metrics=metrics,
        client=client,
        cases=cases,
        sessions=sessions,
        ended=Ended(client, settings.namespace, wall_clock),
        attempts=Attempts(keys, wall_clock),
        pages=Pages(sessions),
        typed=Typed(keys, wall_clock),
        limits=Limits(rates),
        seeing=Visibility(client, wall_clock, settings.watch_namespace),
        changes=Changes(cases),
        trail=trail,
        savings=Savings(trail, clock, prices_of(settings.prices_file)) if trail else None,
        restore_data=RestoreData(operator, wall_clock) if operator else None,
    )


def _logins(site: Site, session: aiohttp.ClientSession) -> Sequence[Login]:
    """How people log in, in the order in which it is offered."""
    ways: list[Login] = []
    if site.settings.oidc_issuer:
        provider = Provider(site.settings.oidc_issuer, session, site.wall_clock, _trust(site.settings))
        ways.append(Oidc(site, provider))
    if site.settings.saml_idp_metadata_file:
        ways.append(Saml(site, _service(site.settings)))
    return ways


def _service(settings: Settings) -> ServiceProvider:
    try:
        return ServiceProvider.load(
            Path(settings.saml_idp_metadata_file),
            settings.saml_entity_id or f"{settings.base_url}{METADATA}",
            settings.base_url,
            unsolicited=settings.saml_allow_unsolicited,
        )
    except ValueError as error:
        raise SettingsError(f"samlIdpMetadataFile cannot be used: {error}.") from error


def _trust(settings: Settings) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=settings.oidc_ca_file) if settings.oidc_ca_file else None
