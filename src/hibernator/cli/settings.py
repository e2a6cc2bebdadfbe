"""Commands with a flag for every setting of a process, made from the one schema of its settings."""

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
import typer
from msgspec.structs import FieldInfo

from hibernator.cli.exits import CliError, Exit
from hibernator.settings import Schema, SettingsError, flag

S = TypeVar("S", bound=msgspec.Struct)

Read = Callable[[Mapping[str, Any], Mapping[str, str], Path | None], S]


def with_flags(schema: Schema[S], read: Read[S], command: Callable[[S], None]) -> Callable[..., None]:
    """Give a command a flag for every setting, and hand it the settings that all the sources make."""

    def run(config: Path | None = None, **flags: Any) -> None:
        try:
            command(read(flags, os.environ, config))
        except SettingsError as error:
            raise CliError(str(error), code=Exit.USAGE) from error

    file = schema.variable("config")
    words = f"A YAML file with settings; {file} names one, too."
    option = typer.Option("--config", envvar=file, show_envvar=False, help=words)
    parameters = [_parameter("config", Annotated[Path | None, option])]
    parameters += [
        _parameter(field.name, Annotated[_plain(type_) | None, _option(field, words, type_)])
        for field, words, type_ in schema.fields()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__.lstrip("_")
    return run


def _option(field: FieldInfo, words: str, type_: Any) -> Any:
    """A flag. Switches go into a panel of their own, because their two names would narrow all the others."""
    shown = "" if field.default == "" else f" [default: {field.default}]"
    name, text = flag(field.name), f"{words}{_choices(type_)}{shown}"
    if type_ is not bool:
        return typer.Option(name, help=text, show_default=False)
    both = f"{name}/--no-{name.removeprefix('--')}"
    return typer.Option(both, help=text, show_default=False, metavar="", rich_help_panel="Switches")


def _plain(type_: Any) -> Any:
    return type_ if type_ in {bool, int, float} else str


def _choices(type_: Any) -> str:
    return f" One of {', '.join(get_args(type_))}." if get_origin(type_) is Literal else ""


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
