"""Where output goes: what was asked for to stdout, remarks to stderr, and never a crash over a character."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from hibernator.api.structural import show
from hibernator.cli.exits import CliError
from hibernator.cli.offline.loading.documents import Mistake
from hibernator.pictures.ink import ASCII, UNICODE, Ink


def console(width: int | None) -> Console:
    """The terminal, or a plain stream: Rich honours NO_COLOR, pipes and COLUMNS by itself."""
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def ink(target: Console) -> Ink:
    return UNICODE if target.encoding.lower().startswith("utf") else ASCII


def lines(target: Console, texts: Iterable[Text]) -> None:
    for text in texts:
        if target.color_system is None:
            target.file.write(f"{text.plain}\n")  # the same, at a tenth of the time
        else:
            target.print(text, soft_wrap=True)


def line(text: str) -> None:
    typer.echo(text)


def data(text: str) -> None:
    """What programs read is UTF-8, whatever the terminal speaks."""
    typer.echo(text.encode(), nl=False)


def notes(remarks: Sequence[str]) -> None:
    for remark in remarks:
        typer.echo(f"note: {remark}", err=True)


def sentence(mistake: Mistake) -> str:
    """Place, field, value, what is wrong, and the fix, on one line."""
    problem = mistake.problem
    parts = [str(mistake.place)]
    if problem.path:
        parts.append(problem.path)
    if problem.value is not None and not _quoted(problem.value, problem.message):
        parts.append(show(problem.value))
    return f"{': '.join(parts)}: {problem.message.rstrip('.')}. {problem.fix}"


def ordered(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """As a reader goes through the files."""
    return sorted(mistakes, key=lambda mistake: (mistake.place.file, mistake.place.line))


def _quoted(value: Any, message: str) -> bool:
    return isinstance(value, str | int) and str(value) in message


def refuse(mistakes: Sequence[Mistake], so: str = "so that there is nothing to show") -> None:
    """End a command that cannot go on with what it was given."""
    for mistake in ordered(mistakes):
        typer.echo(sentence(mistake), err=True)
    if mistakes:
        raise CliError(f"{counted(len(mistakes), 'mistake')}, {so}.")


def counted(number: int, what: str) -> str:
    """`1 mistake`, `2 mistakes`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
