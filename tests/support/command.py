"""Runs the `hibernator` command in this process, as its front door does, and keeps what it said."""

from dataclasses import dataclass

from typer.testing import CliRunner
from whenever import Instant

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.main import app
from hibernator.schedule.errors import TimeError


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def hibernator(
    *arguments: object, stdin: str | bytes = "", now: Instant | None = None, env: dict[str, str] | None = None
) -> Ran:
    """Run a command; anything but a sentence at its end is raised here."""
    settings = {"NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"} | (env or {})
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin, obj=now, env=settings)
    if isinstance(result.exception, CliError | TimeError):
        said = "\n".join(filter(None, [f"error: {result.exception}", result.exception.hint]))
        code = result.exception.code if isinstance(result.exception, CliError) else Exit.USAGE
        return Ran(code, result.stdout, f"{result.stderr}{said}\n")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)
