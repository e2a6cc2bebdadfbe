"""`hibernator scaler`: what scalers do, why, and how to stop them for a while."""

from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.lazy import group
from hibernator.cli.names import one_of, some_of
from hibernator.cli.options import ClusterOptions, Listing, Patience, spread

if TYPE_CHECKING:
    from hibernator.api.timewindowscaler import TimeWindowScaler

app = group("List and describe TimeWindowScalers; pause or resume them.")

Name = Annotated[str, one_of("TimeWindowScaler", "scaler")]
Names = Annotated[list[str] | None, some_of("TimeWindowScaler", "scalers")]


@app.command("list")
@spread
def list_(
    listing: Listing,
    place: ClusterOptions,
    names: Names = None,
) -> None:
    """List scalers with the current window and the next change.

    For example: `hibernator scaler list -A -o wide`
    """
    from hibernator.api.timewindowscaler import SCALERS
    from hibernator.cli.listing import show_list
    from hibernator.cli.scaler_list import columns
    from hibernator.kube.clustertime import clock_of

    show_list(SCALERS, columns(clock_of(place.kubeconfig)), listing, place, names=names or ())


@app.command()
@spread
def describe(name: Name, place: ClusterOptions) -> None:
    """Describe what a scaler does now and why.

    For example: `hibernator scaler describe office-hours -n shop`
    """
    from hibernator.api.timewindowscaler import SCALERS
    from hibernator.cli.output import condition_lines, distanced
    from hibernator.cli.scaler_list import number
    from hibernator.kube.clustertime import now

    async def ask(session: Session) -> "TimeWindowScaler":
        return await session.client.get(SCALERS, name, session.namespace)

    scaler = talk(ask, place, role="hibernator-auditor")
    status, target = scaler.status, scaler.spec.target_ref
    zone, read_at = scaler.spec.timezone, now(place.kubeconfig)
    typer.echo(f"{scaler.metadata.namespace}/{scaler.metadata.name} scales {target.kind} {target.name}")
    facts = (
        ("wanted now", number(status.effective_replicas)),
        ("there are", number(status.target_observed_replicas)),
        ("at first", number(status.baseline_replicas)),
        ("window", status.current_window),
        ("next change", distanced(status.next_boundary, zone, read_at)),
        ("last scaled", distanced(status.last_scale_time, zone, read_at)),
        ("grace until", distanced(status.grace_period_expiry, zone, read_at)),
        ("paused", "yes" if scaler.spec.pause else ""),
    )
    for title, value in facts:
        if value:
            typer.echo(f"  {title:<12} {value}")
    for line in condition_lines(status.conditions):
        typer.echo(line)


@app.command()
@spread
def pause(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Pause a scaler: it reports, but does not change its target."""
    _set_pause(name, place, patience, paused=True)


@app.command()
@spread
def resume(name: Name, place: ClusterOptions, patience: Patience) -> None:
    """Resume a paused scaler."""
    _set_pause(name, place, patience, paused=False)


def _set_pause(name: str, place: ClusterOptions, patience: Patience, *, paused: bool) -> None:
    from hibernator.api.timewindowscaler import SCALERS
    from hibernator.cli.settled import settled

    longest, words = patience.seconds, "paused" if paused else "at work"

    def seen(scaler: "TimeWindowScaler") -> bool:
        return scaler.status.observed_generation == scaler.metadata.generation

    async def ask(session: Session) -> None:
        scaler = await session.client.get(SCALERS, name, session.namespace)
        if scaler.spec.pause == paused and seen(scaler):
            typer.echo(f"{name} was already {words}")
            return
        await session.client.patch(
            SCALERS,
            name,
            session.namespace,
            {"spec": {"pause": paused}},
            resource_version=scaler.metadata.resource_version,
        )
        if await settled(session, SCALERS, name, seen, words, longest):
            typer.echo(f"{name} is {words}")

    talk(ask, place, role="hibernator-editor")
