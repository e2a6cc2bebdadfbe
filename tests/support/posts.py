"""The messages of the web process in a test: under its own account, to mail or Slack on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.credentials import find
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import RUNTIME, Metrics
from hibernator.messages.sending import MESSAGES
from hibernator.messages.slack_api import ACCEPTED, SlackApi
from hibernator.messages.smtp import SmtpServer
from hibernator.web.cases import Cases
from hibernator.web.outgoing import outgoing
from support.account import web_kubeconfig, web_settles_in
from support.mailserver import MailServer
from support.settled import settled
from support.webs import web_settings

FROM = "hibernator@company.com"


@dataclass
class Post:
    """One replica that leads, and what tests look at."""

    manager: Manager
    cases: Cases
    client: Client
    metrics: Metrics

    async def settle(self) -> None:
        await settled(self.manager)


@asynccontextmanager
async def posting(
    admin: Path,
    namespace: str,
    folder: Path,
    clock: Clock,
    server: MailServer | None = None,
    *,
    is_first: bool = True,  # else its rights are there already
    **slack: Any,
) -> AsyncIterator[Post]:
    """Run the controllers of messages until the block ends; a cancelled one dies where it stands."""
    if is_first:
        await asyncio.to_thread(web_settles_in, admin, namespace)
    chosen = web_settings(
        folder,
        oidc_issuer="https://id.company.com",
        namespace=namespace,
        watch_namespace=namespace,
        **(_mail(server.server()) if server else {}),
        **slack,
    )
    metrics = Metrics((*RUNTIME, MESSAGES, ACCEPTED))
    async with (
        Client(find(str(web_kubeconfig(admin))), metrics=metrics) as client,
        aiohttp.ClientSession() as session,
    ):
        recorder = Recorder(client, clock, metrics, instance="post")
        manager = Manager(Health(metrics), recorder=recorder)
        caches = Caches(client, metrics, namespace)
        cases = Cases.of(caches, chosen)
        for cache in cases.caches:
            manager.add_cache(cache)
        api = (
            SlackApi(chosen.slack_api_url, chosen.slack_bot_token_file, session, clock, metrics)
            if slack
            else None
        )
        for controller in outgoing(
            chosen, client, caches, cases, recorder=recorder, clock=clock, metrics=metrics, slack=api
        ):
            manager.add_controller(controller)
        task = asyncio.create_task(manager.run())
        try:
            post = Post(manager, cases, client, metrics)
            await post.settle()
            yield post
        finally:
            manager.stop()
            await asyncio.wait([task])
        task.result()


def _mail(given: SmtpServer) -> dict[str, str]:
    return {
        "smtp_url": f"smtp://{given.user}@{given.host}:{given.port}?tls={given.tls}",
        "smtp_password_file": given.password_file,
        "smtp_ca_file": given.ca_file,
        "mail_from": FROM,
    }
