"""The offline commands as the command line sees them; the work is in the module of each command's name."""

from enum import StrEnum
from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="FILE",
        help="A file, a directory (read with all below it), or - for standard input. May be repeated.",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Where to begin: 2026-03-01T08:00:00Z, or 2026-03-01 for midnight on the local clock.",
        show_default="today",
    ),
]


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    SVG = "svg"
    ICS = "ics"


def simulate(
    context: typer.Context,
    filename: Files,
    start: From = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Where to end.", show_default="two weeks later"),
    ] = None,
    output: Annotated[
        Output,
        typer.Option(
            "-o",
            "--output",
            help="text for the terminal, json for programs, svg for a picture, ics for a calendar.",
        ),
    ] = Output.TEXT,
    width: Annotated[
        int | None,
        typer.Option(
            min=40, max=400, help="The columns of the text.", show_default="those of the terminal, or 80"
        ),
    ] = None,
) -> None:
    """Show what will be asleep when, and how many replicas will run.

    Plans are shown with the exceptions and holidays (ConfigMaps) that are among the files. An exception that
    still waits for approval is hatched: it changes nothing yet.

    Two weeks from today: `hibernator simulate -f plans/`

    March, as a picture: `hibernator simulate -f plans/ --from 2026-03-01 --to 2026-04-01 -o svg > march.svg`
    """
    from hibernator.cli.offline.simulate import run

    run(filename, start, end, output, width, context.obj)
