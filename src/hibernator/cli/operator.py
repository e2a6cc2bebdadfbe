"""`hibernator operator` and `hibernator config`. Their flags are made from the one schema of settings."""

import asyncio
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import typer
import yaml
from msgspec.structs import FieldInfo

from hibernator.cli.exits import CliError, Exit
from hibernator.operator.settings import Settings, SettingsError, fields, flag, printable, settings

_FILE: Final = "HIBERNATOR_CONFIG"


def _with_flags(command: Callable[[Settings], None]) -> Callable[..., None]:
    """Give a command a flag for every setting, and hand it the settings that all the sources make."""

    def run(config: Path | None = None, **flags: Any) -> None:
        try:
            command(settings(flags, os.environ, config))
        except SettingsError as error:
            raise CliError(str(error), code=Exit.USAGE) from error

    words = f"A YAML file with settings; {_FILE} names one, too."
    option = typer.Option("--config", envvar=_FILE, show_envvar=False, help=words)
    parameters = [_parameter("config", Annotated[Path | None, option])]
    parameters += [
        _parameter(field.name, Annotated[_plain(type_) | None, _option(field, words, type_)])
        for field, words, type_ in fields()
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


def _operator(chosen: Settings) -> None:
    """Run the operator: all controllers, health and metrics, until it is stopped.

    Every setting can be written as a flag (`--log-level`), as an environment variable
    (`HIBERNATOR_LOG_LEVEL`) or in a file (`logLevel`); the later of file, environment and flag wins.
    `hibernator config` shows what they make together, as a file.
    """
    from hibernator.kube.memory import spare_the_buffers, spare_the_caches

    spare_the_caches()  # also while modules are read, which makes many objects that stay
    spare_the_buffers()

    from hibernator.kube import credentials, logging
    from hibernator.kube.election import LeaseLostError
    from hibernator.kube.errors import BadCredentials
    from hibernator.kube.manager import WorldWentBackError, stopped_by_signals
    from hibernator.kube.serving import CannotListenError
    from hibernator.operator import app

    logging.configure(
        chosen.log_level, json=None if chosen.log_format == "auto" else chosen.log_format == "json"
    )

    async def run() -> None:
        found = credentials.find(chosen.kubeconfig or None, chosen.context or None)
        async with app.operator(chosen, found) as made:
            with stopped_by_signals(made.manager):
                await made.manager.run()

    try:
        asyncio.run(run())
    except LeaseLostError as error:
        raise CliError(
            str(error), hint="Another replica leads now. Start this one again.", code=Exit.LOST
        ) from error
    except WorldWentBackError as error:
        raise CliError(
            f"{error}.", hint="Start this replica again: it then reads everything anew.", code=Exit.LOST
        ) from error
    except CannotListenError as error:
        raise CliError(
            f"{error}.", hint="Give another address with --listen or --webhook-listen.", code=Exit.UNAVAILABLE
        ) from error
    except BadCredentials as error:
        raise CliError(str(error), code=Exit.UNAVAILABLE) from error


def _config(chosen: Settings) -> None:
    """Print the settings that flags, environment and file make together, as a file that says the same.

    Only the password of the database is left out.
    """
    for name, words, value in printable(chosen):
        typer.echo(f"# {words}")
        typer.echo(yaml.safe_dump({name: value}).rstrip())


operator = _with_flags(_operator)
config = _with_flags(_config)
