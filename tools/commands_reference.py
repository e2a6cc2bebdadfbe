"""docs/reference/commands.md: every command, argument and option, as `--help` says it."""

from collections.abc import Iterator
from typing import Any

import typer
import typer.main

from hibernator.cli.main import app

INTRODUCTION = """\
<!-- Made from src/hibernator/cli by `make generate`; do not edit. -->

# Commands

`hibernator` is also installed as `kubectl-hibernator`, so that `kubectl hibernator` works the same way. Every
command explains itself with `--help`. How commands end is in [exit codes](exit-codes.md), and
how times are written in [times](times.md).
"""


def text() -> str:
    root: Any = typer.main.get_command(app)
    root.load()
    parts = [INTRODUCTION, *_sections(root, "hibernator")]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _sections(command: Any, name: str) -> Iterator[str]:
    """A command and those below it. Typer's own classes for them are not public, hence `Any`."""
    for word, inner in sorted(getattr(command, "commands", {}).items()):
        if not inner.hidden:
            yield _section(inner, f"{name} {word}")
            yield from _sections(inner, f"{name} {word}")


def _section(command: Any, name: str) -> str:
    context = typer.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    rows = [record for param in command.params if (record := param.get_help_record(context))]
    level = "#" * len(name.split())
    parts = [f"{level} {name}", command.help or "", f"```\n{usage}\n```"]
    if rows:
        parts.append("| option | meaning |\n|---|---|\n" + "\n".join(_row(*row) for row in rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _row(option: str, meaning: str) -> str:
    return f"| `{_cell(option)}` | {_cell(meaning)} |"


def _cell(words: str) -> str:
    return " ".join(words.split()).replace("|", r"\|")
