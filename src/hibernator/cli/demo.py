"""`hibernator demo`: see it work, on a control plane that is gone afterwards."""

import asyncio
import re
from typing import Annotated

import typer

from hibernator.cli.exits import CliError, Exit

_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+)s)?")


def demo(
    speed: Annotated[
        float, typer.Option(help="How many times as fast as real time the days pass.", min=1, max=3600)
    ] = 600.0,
    for_: Annotated[
        str | None, typer.Option("--for", help="End by itself after so long, as `90s` or `3m`.")
    ] = None,
) -> None:
    """Start a real control plane and the operator, and watch a shop through its days.

    Nothing is left behind, however it ends. The first start builds the control plane, which takes some
    minutes; `hibernator controlplane build` does that beforehand. For example: `hibernator demo --for 3m`
    """
    from hibernator.controlplane.binaries import find_or_build
    from hibernator.controlplane.cluster import KubectlError
    from hibernator.controlplane.errors import ControlPlaneError
    from hibernator.controlplane.progress import reporting
    from hibernator.controlplane.versions import needed
    from hibernator.demo.run import play
    from hibernator.kube.logging import configure

    seconds = _seconds(for_) if for_ else None
    configure("warning")
    try:
        with reporting() as reporter:
            binaries = find_or_build(needed(nodes=False), reporter)
        summary = asyncio.run(play(binaries, typer.echo, speed=speed, seconds=seconds))
    except (ControlPlaneError, KubectlError) as error:
        raise CliError(str(error), code=Exit.UNAVAILABLE) from error
    until = summary.until.format_iso(unit="minute")
    typer.echo(f"{summary.changes} changes until {until}. Everything is gone again.")


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text)
    if not text or not found:
        raise CliError(f"--for is {text!r}; write a duration such as 90s, 3m or 2m30s", code=Exit.USAGE)
    minutes, seconds = found.groups(default="0")
    return int(minutes) * 60.0 + int(seconds)
