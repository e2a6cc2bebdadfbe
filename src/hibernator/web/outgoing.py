"""The messages of the web process, put together from its settings; the replica that leads keeps them."""

from collections.abc import Iterator

from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import Metrics
from hibernator.messages.channel import Channel
from hibernator.messages.controller import message_controllers
from hibernator.messages.mail import Mail
from hibernator.messages.sending import SendingMeans
from hibernator.messages.slack import Slack
from hibernator.messages.slack_api import SlackApi
from hibernator.messages.slack_post import SlackPost
from hibernator.messages.smtp import Smtp, read_sender, read_server
from hibernator.web.cases import Cases
from hibernator.web.settings import Settings, domains


def channels(settings: Settings, clock: Clock, slack: SlackApi | None = None) -> Iterator[Channel]:
    if slack:
        yield Slack(slack, clock, mode=settings.slack_mode, team=settings.slack_team_id)
        if settings.slack_channel:
            yield SlackPost(slack, clock, mode=settings.slack_mode, channel=settings.slack_channel)
    if not settings.smtp_url:
        return
    server = read_server(settings.smtp_url, settings.smtp_password_file, settings.smtp_ca_file)
    sender = read_sender(settings.mail_from)
    yield Mail(
        Smtp(server), sender=sender, base_url=settings.base_url, now=clock.now, domains=domains(settings)
    )


def outgoing(
    settings: Settings,
    client: Client,
    caches: Caches,
    cases: Cases,
    *,
    recorder: Recorder,
    clock: Clock,
    metrics: Metrics,
    slack: SlackApi | None = None,
) -> Iterator[Controller]:
    """The controllers, which write through `client`: one that is fenced by the Lease."""
    means = SendingMeans(
        client=client,
        caches=caches,
        recorder=recorder,
        clock=clock,
        metrics=metrics,
        people=cases.people,
        base_url=settings.base_url,
        channels=tuple(channels(settings, clock, slack)),
    )
    yield from message_controllers(
        means,
        exceptions=cases.exceptions,
        plans=cases.plans,
        requests=cases.approvals,
        figuring=cases.figuring,
        people=cases.maps,
    )
