"""Where output goes: what was asked for to stdout, remarks to stderr, and never a crash over a character."""

import sys
from collections.abc import Iterable, Sequence

import typer
from rich.console import Console
from rich.text import Text

from hibernator.cli.offline.pictures.ink import ASCII, UNICODE, Ink


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
