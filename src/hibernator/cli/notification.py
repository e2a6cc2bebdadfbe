"""`hibernator notification`: list and preview notifications, and send a test."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.lazy import group
from hibernator.cli.names import one_of, some_of
from hibernator.cli.options import ClusterOptions, Listing, spread

if TYPE_CHECKING:
    from hibernator.api.hibernatenotification import HibernateNotification

app = group("List notifications, preview their messages, and send a test.")

Name = Annotated[str, one_of("HibernateNotification", "HibernateNotification")]
Names = Annotated[list[str] | None, some_of("HibernateNotification", "notifications")]
SinkName = Annotated[str, typer.Option("--sink", help="The sink; without it, the first.", metavar="NAME")]
Event = Annotated[str, typer.Option("--event", help="The event, as in onEvents.", metavar="EVENT")]


@app.command("list")
@spread
def list_(listing: Listing, place: ClusterOptions, names: Names = None) -> None:
    """List HibernateNotifications with what they select and whether their sinks take messages.

    For example: `hibernator notification list -A`
    """
    from hibernator.api.hibernatenotification import NOTIFICATIONS
    from hibernator.cli.listing import show_list
    from hibernator.cli.notification_words import columns

    show_list(NOTIFICATIONS, columns(), listing, place, names=names or ())


@app.command()
@spread
def describe(name: Name, place: ClusterOptions) -> None:
    """Describe what a notification sends, to which sinks, and which deliveries failed.

    For example: `hibernator notification describe on-call -n shop`
    """
    from hibernator.cli.notification_words import described

    for line in described(_read(name, place)):
        typer.echo(line)


@app.command()
@spread
def render(
    name: Name,
    place: ClusterOptions,
    event: Event = "Failure",
    sink: SinkName = "",
    template: Annotated[
        Path | None,
        typer.Option("--template", help="A file with a template to try, instead of the sink's.", exists=True),
    ] = None,
) -> None:
    """Preview a message. Nothing is sent.

    For example: `hibernator notification render on-call --event Failure -n shop`
    """
    from hibernator.cli.notification_send import rendered

    text = template.read_text("utf-8") if template else None
    typer.echo(talk(lambda session: rendered(session, name, sink, event, text), place))


@app.command()
@spread
def send(
    name: Name,
    place: ClusterOptions,
    sink: SinkName = "",
    event: Event = "Failure",
    network: Annotated[
        list[str] | None,
        typer.Option(
            "--network",
            help="A network inside that the sink may be in, as notificationNetworks.",
            metavar="CIDR",
        ),
    ] = None,
) -> None:
    """Send a test message to a sink, from here and with your own rights to its Secret.

    For example: `hibernator notification send on-call --sink slack -n shop`
    """
    from hibernator.cli.notification_send import networks_of, sent

    networks = networks_of(network or ())
    typer.echo(talk(lambda session: sent(session, name, sink, event, networks), place))


def _read(name: str, place: ClusterOptions) -> "HibernateNotification":
    from hibernator.api.hibernatenotification import NOTIFICATIONS

    async def ask(session: Session) -> "HibernateNotification":
        return await session.client.get(NOTIFICATIONS, name, session.namespace)

    return talk(ask, place, role="hibernator-auditor")
