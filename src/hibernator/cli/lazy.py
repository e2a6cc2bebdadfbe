"""Commands that are imported when they run.

A command is one of some twenty, and most of them need libraries that take longer to import than the command
takes to run. So the front door knows each by its name, its module and its first sentence. That is enough to
list them, to complete their names and to guess what a mistyped one was meant to be.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar, Final, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

from hibernator.cli.exits import ReaderGoneError

COMPLETES: Final = "_HIBERNATOR_COMPLETE"  # set by a shell when Tab is pressed
_MARKUP: Final = "markdown"  # help texts are reflowed to the width of the terminal


class Entry(NamedTuple):
    where: str  # a module, and what in it: a Typer app, or the function of a single command
    help: str  # the first sentence of its help
    panel: str  # under which title it is listed


class LazyGroup(TyperGroup):
    """A group that shows its commands from a table, and imports one when it is the one to run."""

    entries: ClassVar[Mapping[str, Entry]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in self.entries.items():
            self.add_command(
                TyperCommand(name, help=entry.help, rich_markup_mode=_MARKUP, rich_help_panel=entry.panel)
            )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, loaded(name, self.entries[name].where) if name else command, rest

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        with _readers():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        with _readers():
            return super().invoke(ctx)

    def main(self, *arguments: Any, **more: Any) -> Any:
        if COMPLETES in os.environ:
            from typer import completion

            vars(completion)["completion_init"]()  # typed as private; else only Typer's own options do it
        return super().main(*arguments, **more)

    def load(self) -> None:
        """Import every command, for those who want to know all about all of them."""
        for name, entry in self.entries.items():
            self.add_command(loaded(name, entry.where))


@contextmanager
def _readers() -> Iterator[None]:
    """Raise `ReaderGoneError` where the output is read no further. Rich would end the process by itself."""
    try:
        yield
    except BrokenPipeError as error:
        raise ReaderGoneError from error
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            raise ReaderGoneError from end
        raise


def loaded(name: str, where: str) -> Any:
    """The command itself. Typer's classes for it are not public, hence `Any`."""
    module, _, attribute = where.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        group = typer.main.get_group(found)
        group.name = name
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=_MARKUP)
    single.command(name)(found)
    return typer.main.get_command(single)


def group(words: str) -> typer.Typer:
    """The app of a group of commands, such as `hibernator plan`."""
    return typer.Typer(help=words, no_args_is_help=True, rich_markup_mode=_MARKUP)
