"""The offline commands as the command line sees them; the work is in the module of each command's name."""

from enum import StrEnum
from typing import Annotated

import typer

from hibernator.cli.options import ClusterOptions, Everywhere, spread
from hibernator.schedule.errors import FORMS

Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="FILE",
        help="A file, a directory (read with all below it), or - for standard input. May be repeated.",
    ),
]
FilesOrNone = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--filename",
        metavar="FILE",
        help="A file, a directory, or - for standard input. Repeatable. Without it, the cluster is asked.",
    ),
]
Named = typer.Argument(
    metavar="[NAME]...",
    help="Only these: plan/NAME or scaler/NAME in the cluster; NAME or namespace/NAME in files.",
)
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Where to begin: 2026-03-01 for local midnight, tomorrow 07:00, or 2026-03-01T08:00:00Z.",
        show_default="today",
    ),
]


Width = Annotated[
    int | None,
    typer.Option(
        min=40, max=400, help="The columns of the text.", show_default="those of the terminal, or 80"
    ),
]


class DiffOutput(StrEnum):
    TEXT = "text"
    JSON = "json"


class Format(StrEnum):
    OFF_HOURS = "off-hours"
    CRON = "cron"


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    SVG = "svg"
    ICS = "ics"


@spread
def simulate(
    run_: typer.Context,
    place: ClusterOptions,
    names: Annotated[list[str] | None, Named] = None,
    filename: FilesOrNone = None,
    everywhere: Everywhere = False,
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
    width: Width = None,
) -> None:
    """Show what will be asleep when, and how many replicas will run.

    Plans are shown with the exceptions and holidays (ConfigMaps) that are among the files, or in the cluster.
    An exception that still waits for approval is hatched: it changes nothing yet.

    Two weeks from today: `hibernator simulate -f plans/`

    A plan in the cluster: `hibernator simulate plan/nights -n shop`

    March, as a picture: `hibernator simulate -f plans/ --from 2026-03-01 --to 2026-04-01 -o svg > march.svg`
    """
    from hibernator.cli.offline.simulate import run
    from hibernator.cli.offline.source import Source

    source = Source(filename or (), names or (), place, everywhere)
    run(source, start, end, output, width, run_.obj)


def validate(filename: Files) -> None:
    """Check files for mistakes, without a cluster.

    Each mistake is shown with its file, document, field, value and fix. The exit code is 1 if there is one.

    `hibernator validate -f plans/`

    `helm template my-chart | hibernator validate -f -`
    """
    from hibernator.cli.offline.validate import run

    run(filename)


@spread
def explain(
    run_: typer.Context,
    place: ClusterOptions,
    names: Annotated[list[str] | None, Named] = None,
    filename: FilesOrNone = None,
    everywhere: Everywhere = False,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help=f"The moment: {FORMS}. Local times are in the zone of the plan or scaler.",
            show_default="now",
        ),
    ] = None,
) -> None:
    """Explain why something is asleep or awake, and when that changes.

    `hibernator explain dev -f plans/`

    `hibernator explain plan/nights -n shop`

    `hibernator explain -f plan.yaml --at 2026-12-25T09:00:00Z`
    """
    from hibernator.cli.offline.explain import run
    from hibernator.cli.offline.source import Source

    run(Source(filename or (), names or (), place, everywhere), at, run_.obj)


def diff(
    context: typer.Context,
    filename: Annotated[
        list[str],
        typer.Option(
            "-f",
            "--filename",
            metavar="FILE",
            help="Twice: the old version, then the new one. A file, a directory, or - for standard input.",
        ),
    ],
    start: From = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="Where to end.", show_default="four weeks later"),
    ] = None,
    output: Annotated[
        DiffOutput, typer.Option("-o", "--output", help="text for the terminal, json for programs.")
    ] = DiffOutput.TEXT,
    width: Width = None,
) -> None:
    """Compare two versions: what would change over the next four weeks.

    `hibernator diff -f old.yaml -f new.yaml`

    `git show HEAD:plan.yaml | hibernator diff -f - -f plan.yaml`
    """
    from hibernator.cli.offline.diff import run

    run(filename, start, end, output, width, context.obj)


def convert(
    filename: Files,
    to: Annotated[Format, typer.Option("--to", help="The format of the plans that are printed.")],
    *,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="Leave out namespaces with mistakes and print the others."),
    ] = False,
) -> None:
    """Convert other formats to plans with off-hours, or such plans to cron lines.

    To off-hours: plans with cron lines, also of the group that they used to be in; SleepInfos of kube-green;
    and the annotations of kube-downscaler on workloads and Namespaces. All documents of files are printed:
    what is converted loses its comments, everything else stays as it is, and new plans come last. Of objects
    from a cluster, those that change are printed, ready to be applied. What has no equivalent is refused.

    `hibernator convert -f old/ --to off-hours > plans.yaml`

    `kubectl get ns,sleepinfo,deployment -A -o yaml | hibernator convert -f - --to off-hours > plans.yaml`
    """
    from hibernator.cli.offline.convert import run

    run(filename, to, keep_going=keep_going)
