"""Notifications in the web process, put together from its settings; the replica that leads sends them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.audit.reading import TrailReader
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import Metrics
from hibernator.messages.smtp import Smtp, read_sender, read_server
from hibernator.notifications.apprise import Apprises
from hibernator.notifications.controller import Notifier, follow_trail, notification_controller, objects_of
from hibernator.notifications.courier import CourierMeans
from hibernator.notifications.outbound import Outbound
from hibernator.notifications.sinks import Mailing, SinkClients
from hibernator.notifications.templates import Templates
from hibernator.web.settings import Settings, mail_domains, notification_networks

_ACCOUNT = "hibernator-web"


@asynccontextmanager
async def notifying(
    settings: Settings,
    client: Client,
    caches: Caches,
    manager: Manager,
    trail: TrailReader | None,
    *,
    clock: Clock,
    wall_clock: Clock,
    metrics: Metrics,
) -> AsyncIterator[None]:
    """The controller, which writes through `client`: one that is fenced by the Lease."""
    async with AsyncExitStack() as stack:
        means = None
        if trail:
            networks = notification_networks(settings)
            out = await stack.enter_async_context(Outbound(networks))
            apprises = await stack.enter_async_context(Apprises(networks))
            means = CourierMeans(
                client=client,
                trail=trail,
                clients=SinkClients(out, mailing(settings), apprises),
                templates=await stack.enter_async_context(Templates()),
                clock=clock,
                metrics=metrics,
                base_url=settings.base_url,
                account=f"{settings.namespace}:{_ACCOUNT}",
            )
        objects, notifications = objects_of(caches), caches.of(NOTIFICATIONS)
        for cache in (notifications, objects.scalers):
            if cache not in manager.caches:
                manager.add_cache(cache)
        notifier = Notifier(client, notifications, objects, means, clock, settings.namespace)
        controller = notification_controller(notifier, metrics)
        manager.add_controller(controller)
        if means:
            follow = partial(follow_trail, means, controller, manager.leading, wall_clock)
            manager.add("trail of notifications", follow)
        yield


def mailing(settings: Settings) -> Mailing | None:
    """The mail server for sinks of type email; None where the process has none."""
    if not settings.smtp_url:
        return None
    server = read_server(settings.smtp_url, settings.smtp_password_file, settings.smtp_ca_file)
    domain = urlsplit(settings.base_url).hostname or "hibernator"
    return Mailing(Smtp(server), read_sender(settings.mail_from), domain, mail_domains(settings))
