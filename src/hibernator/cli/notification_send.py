"""Renders or sends a message about what did not happen, through the parts that send the real ones."""

from collections.abc import Iterable
from ipaddress import ip_network
from typing import Final, cast, get_args
from uuid import uuid4

from whenever import Instant

from hibernator.api.core import CONFIG_MAPS, SECRETS
from hibernator.api.hibernatenotification import (
    NOTIFICATIONS,
    HibernateNotification,
    NotificationEvent,
    NotificationSink,
)
from hibernator.cli.cluster import Session
from hibernator.cli.exits import CliError, Exit
from hibernator.messages.channel import AwayError, RefusedError
from hibernator.notifications.apprise import Apprises
from hibernator.notifications.config import Config, ConfigError, hide, read_config
from hibernator.notifications.markup import MARKUPS
from hibernator.notifications.occasions import Occasion, Parcel
from hibernator.notifications.outbound import Networks, Outbound
from hibernator.notifications.sinks import SinkClients, deliver, markup_of
from hibernator.notifications.templates import TemplateError, Templates, template_in
from hibernator.notifications.wording import explained, text

_MARKUP: Final = {"slack": "slack", "apprise": "apprise"}


async def rendered(session: Session, name: str, sink: str, event: str, template: str | None) -> str:
    found = await session.client.get(NOTIFICATIONS, name, session.namespace)
    chosen = _sink(found, sink)
    return await _text(session, chosen, _parcel(found, event), _MARKUP.get(chosen.type, "plain"), template)


async def sent(session: Session, name: str, sink: str, event: str, networks: Networks = ()) -> str:
    found = await session.client.get(NOTIFICATIONS, name, session.namespace)
    chosen, parcel = _sink(found, sink), _parcel(found, event)
    config = await _config(session, chosen)
    said = await _text(session, chosen, parcel, markup_of(config), None)
    try:
        async with Outbound(networks) as out, Apprises(networks) as apprises:
            await deliver(SinkClients(out, apprises=apprises), config, parcel, said, Instant.now())
    except (AwayError, RefusedError) as error:
        raise CliError(f"The sink {chosen.name} did not take it: {hide(str(error), config)}.") from None
    return f"The sink {chosen.name} took the test message {parcel.id}."


def networks_of(words: Iterable[str]) -> Networks:
    try:
        return tuple(ip_network(word) for word in words)
    except ValueError as error:
        raise CliError(f"--network: {error}. Write it like 10.0.0.0/8.") from None


def _sink(found: HibernateNotification, name: str) -> NotificationSink:
    for sink in found.spec.sinks:
        if not name or sink.name == name:
            return sink
    names = ", ".join(sink.name for sink in found.spec.sinks)
    raise CliError(f"--sink is {name!r}: {found.metadata.name} has {names}.")


def _parcel(found: HibernateNotification, event: str) -> Parcel:
    if event not in get_args(NotificationEvent):
        words = f"--event is {event!r}: write one of {', '.join(get_args(NotificationEvent))}."
        raise CliError(words, code=Exit.USAGE)
    metadata = found.metadata
    plan = found.status.watched_plans[0].name if found.status.watched_plans else "example"
    occasion = Occasion(
        id=str(uuid4()),
        event=cast("NotificationEvent", event),
        type="hibernator.test",
        kind="HibernatePlan",
        namespace=metadata.namespace,
        name=plan,
        uid=metadata.uid,
        time=Instant.now().round("second").format_iso(),
        message="This is a test: nothing happened.",
        plan=plan,
        cycle=1,
        seconds=95,
    )
    return Parcel(f"msg_test_{uuid4().hex[:16]}", (explained(occasion, ""),))


async def _config(session: Session, sink: NotificationSink) -> Config:
    reference = sink.secret_ref
    secret = await session.client.get(SECRETS, reference.name, session.namespace)
    try:
        return read_config(sink.type, secret.data.get(reference.key, b""))
    except ConfigError as error:
        raise CliError(f"The Secret {reference.name}, key {reference.key}: {error}.") from None


async def _text(
    session: Session, sink: NotificationSink, parcel: Parcel, markup: str, template: str | None
) -> str:
    if template is None and (reference := sink.template_ref):
        found = await session.client.get(CONFIG_MAPS, reference.name, session.namespace)
        try:
            template = template_in(found.data, reference.key)
        except TemplateError as error:
            raise CliError(f"The template {reference.name} cannot be used: {error}.") from None
    if template is None:
        return text(parcel, MARKUPS[markup])
    try:
        async with Templates() as templates:
            return await templates.render(template, parcel, markup)
    except TemplateError as error:
        raise CliError(f"The template cannot be used: {error}.") from None
