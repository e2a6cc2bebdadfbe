"""`hibernator scaler`: what scalers do, why, and how to stop them for a while."""

from typing import Annotated, Final

import typer

from hibernator.api.timewindowscaler import SCALERS, TimeWindowScaler
from hibernator.cli.cluster import Session, talk
from hibernator.cli.listing import show_list
from hibernator.cli.names import names_of
from hibernator.cli.options import Listing, Place, spread
from hibernator.cli.output import Column, moment
from hibernator.decisions.conditions import find

app = typer.Typer(help="See what TimeWindowScalers do, and pause or resume them.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="The name of the scaler.", metavar="NAME", autocompletion=names_of(SCALERS))
]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: Place,
) -> None:
    """List scalers with the window that holds now and the next change.

    For example: `hibernator scaler list -A -o wide`
    """
    show_list(SCALERS, _COLUMNS, listing, place)


@app.command()
@spread
def describe(name: Name, place: Place) -> None:
    """Say in words what a scaler does now and why.

    For example: `hibernator scaler describe office-hours -n shop`
    """

    async def ask(session: Session) -> TimeWindowScaler:
        return await session.client.get(SCALERS, name, session.namespace)

    scaler = talk(ask, place, role="hibernator-auditor")
    status, target = scaler.status, scaler.spec.target_ref
    typer.echo(f"{scaler.metadata.namespace}/{scaler.metadata.name} scales {target.kind} {target.name}")
    facts = (
        ("wanted now", _number(status.effective_replicas)),
        ("there are", _number(status.target_observed_replicas)),
        ("at first", _number(status.baseline_replicas)),
        ("window", status.current_window),
        ("next change", moment(status.next_boundary)),
        ("last scaled", moment(status.last_scale_time)),
        ("grace until", moment(status.grace_period_expiry)),
        ("paused", "yes" if scaler.spec.pause else ""),
    )
    for title, value in facts:
        if value:
            typer.echo(f"  {title:<12} {value}")
    for condition in status.conditions:
        words = f": {condition.message}" if condition.message else ""
        typer.echo(f"  {condition.type} is {condition.status} ({condition.reason}){words}")


@app.command()
@spread
def pause(name: Name, place: Place) -> None:
    """Let a scaler watch and report, but not touch its target."""
    _set_pause(name, place, paused=True)


@app.command()
@spread
def resume(name: Name, place: Place) -> None:
    """Let a paused scaler work again."""
    _set_pause(name, place, paused=False)


def _set_pause(name: str, place: Place, *, paused: bool) -> None:
    async def ask(session: Session) -> bool:
        scaler = await session.client.get(SCALERS, name, session.namespace)
        if scaler.spec.pause == paused:
            return False
        await session.client.patch(
            SCALERS,
            name,
            session.namespace,
            {"spec": {"pause": paused}},
            resource_version=scaler.metadata.resource_version,
        )
        return True

    changed = talk(ask, place, role="hibernator-editor")
    typer.echo(f"{name} {'is' if changed else 'was already'} {'paused' if paused else 'at work'}")


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _ready(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.status if condition else ""


def _message(scaler: TimeWindowScaler) -> str:
    condition = find(scaler.status.conditions, "Ready")
    return condition.message if condition else ""


_COLUMNS: Final[tuple[Column[TimeWindowScaler], ...]] = (
    Column("Target", lambda one: f"{one.spec.target_ref.kind}/{one.spec.target_ref.name}".lower()),
    Column("Window", lambda one: one.status.current_window),
    Column("Replicas", lambda one: _number(one.status.effective_replicas)),
    Column("Next change", lambda one: moment(one.status.next_boundary)),
    Column("Ready", _ready),
    Column("Timezone", lambda one: one.spec.timezone, wide=True),
    Column("Message", _message, wide=True),
)
