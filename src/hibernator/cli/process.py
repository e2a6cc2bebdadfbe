"""Runs a process for as long as it should run, and says in one sentence why it ended by itself."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from hibernator.cli.exits import CliError, Exit
from hibernator.kube import credentials, logging
from hibernator.kube.credentials import Credentials
from hibernator.kube.election import LeaseLostError
from hibernator.kube.errors import BadCredentials
from hibernator.kube.manager import Manager, WorldWentBackError, stopped_by_signals
from hibernator.kube.serving import CannotListenError


class Made(Protocol):
    """One replica, put together."""

    @property
    def manager(self) -> Manager: ...


class Chosen(Protocol):
    """The settings that every process has."""

    @property
    def kubeconfig(self) -> str: ...
    @property
    def context(self) -> str: ...
    @property
    def log_level(self) -> str: ...
    @property
    def log_format(self) -> str: ...


def run(
    chosen: Chosen, make: Callable[[Credentials], AbstractAsyncContextManager[Made]], addresses: str
) -> None:
    """Run what `make` puts together; `addresses` names the flags of those that it serves at."""
    logging.configure(
        chosen.log_level, json=None if chosen.log_format == "auto" else chosen.log_format == "json"
    )

    async def main() -> None:
        found = credentials.find(chosen.kubeconfig or None, chosen.context or None)
        async with make(found) as made:
            with stopped_by_signals(made.manager):
                await made.manager.run()

    try:
        asyncio.run(main())
    except LeaseLostError as error:
        raise CliError(
            str(error), hint="Another replica leads now. Start this one again.", code=Exit.LOST
        ) from error
    except WorldWentBackError as error:
        raise CliError(
            f"{error}.", hint="Start this replica again: it then reads everything again.", code=Exit.LOST
        ) from error
    except CannotListenError as error:
        hint = f"Give another address with {addresses}."
        raise CliError(f"{error}.", hint=hint, code=Exit.UNAVAILABLE) from error
    except BadCredentials as error:
        raise CliError(str(error), code=Exit.UNAVAILABLE) from error
