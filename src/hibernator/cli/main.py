"""Where every command hangs. Each lives in a module of its own and imports what it needs when it runs."""

import os
import sys

import typer

from hibernator import __version__
from hibernator.cli import (
    audit,
    controlplane,
    crds,
    demo,
    detach,
    doctor,
    exception,
    manifests,
    operator,
    plan,
    remediation,
    scaler,
)
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.offline import commands as offline
from hibernator.cli.plain import forgive

app = typer.Typer(
    name="hibernator",
    help="Put clusters to sleep and wake them, by the clock and by consent.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # help texts are reflowed to the width of the terminal
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hibernator {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass


app.add_typer(audit.app, name="audit")
app.add_typer(controlplane.app, name="controlplane")
app.add_typer(exception.app, name="exception")
app.add_typer(plan.app, name="plan")
app.add_typer(remediation.app, name="remediation")
app.add_typer(scaler.app, name="scaler")
app.command()(crds.crds)
app.command()(demo.demo)
app.command()(detach.detach)
app.command()(doctor.doctor)
app.command()(manifests.manifests)
app.command()(operator.operator)
app.command()(operator.config)
app.command()(offline.simulate)
app.command()(offline.validate)
app.command()(offline.explain)
app.command()(offline.diff)
app.command()(offline.convert)


def main() -> None:
    """Run a command; whatever goes wrong ends in one sentence and a documented exit code."""
    for stream in (sys.stdout, sys.stderr):
        forgive(stream)
    try:
        app()
    except CliError as error:
        typer.echo(f"error: {error}", err=True)
        if error.hint:
            typer.echo(error.hint, err=True)
        sys.exit(error.code)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`| head`); Python must not complain about it while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.OK)


if __name__ == "__main__":
    main()
