"""`hibernator operator` and `hibernator config`. Their flags are made from the one schema of settings."""

import asyncio
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml

from hibernator.cli.exits import CliError, Exit
from hibernator.operator.settings import Settings, SettingsError, fields, flag, settings, variable

_FILE: Final = "HIBERNATOR_CONFIG"


def _with_flags(command: Callable[[Settings], None]) -> Callable[..., None]:
    """Give a command a flag for every setting, and hand it the settings that all the sources make."""

    def run(config: Path | None = None, **flags: Any) -> None:
        try:
            command(settings(flags, os.environ, config))
        except SettingsError as error:
            raise CliError(str(error), code=Exit.USAGE) from error

    option = typer.Option("--config", envvar=_FILE, help="A YAML file with settings.")
    parameters = [_parameter("config", Annotated[Path | None, option])]
    for field, words, type_ in fields():
        name = f"{flag(field.name)}/--no-{flag(field.name)[2:]}" if type_ is bool else flag(field.name)
        shown = "" if field.default == "" else f" [default: {field.default}]"
        option = typer.Option(name, help=f"{words}{shown} [env: {variable(field.name)}]", show_default=False)
        plain = type_ if type_ in {bool, int, float} else str
        parameters.append(_parameter(field.name, Annotated[plain | None, option]))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what Typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = command.__doc__
    run.__name__ = command.__name__.lstrip("_")
    return run


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _operator(chosen: Settings) -> None:
    """Run the operator: all controllers, health and metrics, until it is told to stop.

    Every setting can be written as a flag, as an environment variable or in a file; the later of file,
    environment and flag wins. `hibernator config` shows what they make together.
    """
    from hibernator.kube import credentials, logging
    from hibernator.kube.election import LeaseLostError
    from hibernator.kube.errors import BadCredentials
    from hibernator.kube.manager import stopped_by_signals
    from hibernator.kube.memory import spare_the_buffers, spare_the_caches
    from hibernator.kube.serving import CannotListenError
    from hibernator.operator import app

    logging.configure(
        chosen.log_level, json=None if chosen.log_format == "auto" else chosen.log_format == "json"
    )
    spare_the_caches()
    spare_the_buffers()

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
    except CannotListenError as error:
        raise CliError(
            f"{error}.", hint="Give another address with --listen or --webhook-listen.", code=Exit.UNAVAILABLE
        ) from error
    except BadCredentials as error:
        raise CliError(str(error), code=Exit.UNAVAILABLE) from error


def _config(chosen: Settings) -> None:
    """Print the settings that flags, environment and file make together, as a file that says the same."""
    for field, words, _ in fields():
        typer.echo(f"# {words}")
        typer.echo(yaml.safe_dump({field.encode_name: getattr(chosen, field.name)}).rstrip())


operator = _with_flags(_operator)
config = _with_flags(_config)
