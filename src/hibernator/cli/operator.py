"""`hibernator operator` and `hibernator config`."""

import typer
import yaml

from hibernator.cli.settings import with_flags
from hibernator.operator.settings import SCHEMA, Settings, printable, settings


def _operator(chosen: Settings) -> None:
    """Run the operator: all controllers, health and metrics, until it is stopped.

    Every setting can be written as a flag (`--log-level`), as an environment variable
    (`HIBERNATOR_LOG_LEVEL`) or in a file (`logLevel`); the later of file, environment and flag wins.
    `hibernator config` prints the result, as a file.
    """
    from hibernator.kube.memory import spare_the_buffers, spare_the_caches

    spare_the_caches()  # also while modules are read, which makes many objects that stay
    spare_the_buffers()

    from hibernator.cli.process import run
    from hibernator.operator import app

    run(chosen, lambda credentials: app.operator(chosen, credentials), "--listen or --webhook-listen")


def _config(chosen: Settings) -> None:
    """Print the settings that result from flags, environment and file, as a file.

    Only the password of the database is left out.
    """
    for name, words, value in printable(chosen):
        typer.echo(f"# {words}")
        typer.echo(yaml.safe_dump({name: value}).rstrip())


operator = with_flags(SCHEMA, settings, _operator)
config = with_flags(SCHEMA, settings, _config)
