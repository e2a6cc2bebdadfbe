"""The front door: `hibernator`, and `kubectl hibernator`."""

import errno
import os
import sys

import typer

from hibernator import __version__
from hibernator.cli.commands import COMMANDS
from hibernator.cli.exits import CliError, Exit, ReaderGoneError
from hibernator.cli.lazy import LazyGroup
from hibernator.cli.plain import forgive


class _Commands(LazyGroup):
    entries = COMMANDS


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

app = typer.Typer(
    name="hibernator",
    cls=_Commands,
    help="Put workloads and cloud resources to sleep and wake them, on a schedule and with approvals.",
    no_args_is_help=True,
    add_completion=False,  # `hibernator completion` is the one way
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


def main() -> None:
    """Run a command; whatever goes wrong ends in one sentence and a documented exit code."""
    for stream in (sys.stdout, sys.stderr):
        forgive(stream)
    try:
        code = _ended()
        sys.stdout.flush()
    except (ReaderGoneError, BrokenPipeError):  # the reader has seen enough (`| head`)
        _leave_the_output()
        code = Exit.OK
    except OSError as error:
        if error.errno not in _FULL:
            raise
        _leave_the_output()
        code = _report(error, "Nothing more could be written. Make room, and run it again.", Exit.UNAVAILABLE)
    sys.exit(code)


def _leave_the_output() -> None:
    """Python must not complain about what it cannot write while it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ended() -> int | str | None:
    """Run the command, and say how it ended."""
    try:
        app()
    except CliError as error:
        return _report(error, error.hint, error.code)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except SystemExit as end:
        return end.code
    except Exception as error:
        from hibernator.schedule.errors import TimeError  # a command that did not need it has no such error

        if not isinstance(error, TimeError):
            raise
        return _report(error, error.hint, Exit.USAGE)
    return Exit.OK


def _report(error: Exception, hint: str, code: Exit) -> Exit:
    said = error.strerror if isinstance(error, OSError) else error
    typer.echo(f"error: {said}", err=True)
    if hint:
        typer.echo(hint, err=True)
    return code


if __name__ == "__main__":
    main()
