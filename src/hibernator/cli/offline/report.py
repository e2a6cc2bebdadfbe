"""How mistakes and notes are told on the terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

import typer

from hibernator.api.structural import show
from hibernator.cli.exits import CliError
from hibernator.cli.offline.loading.documents import Mistake


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
