"""Names for the Tab key, from the cluster. Where it does not answer soon, there are none."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import typer

from hibernator.api.kind import Kind
from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError
from hibernator.cli.options import Place

_PATIENCE_SECONDS: Final = 3.0


def names_of(kind: Kind[Any]) -> Callable[[typer.Context, str], list[str]]:
    """What completes the name of an object, in the namespace that was given before it."""

    def propose(ctx: typer.Context, incomplete: str) -> list[str]:
        async def ask(session: Session) -> list[Any]:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await session.client.list(kind, session.namespace if kind.namespaced else "")

        given = {key: ctx.params.get(key) for key in ("kubeconfig", "context", "namespace")}
        with suppress(CliError, TimeoutError):
            found = talk(ask, Place(**given))
            return sorted(one.metadata.name for one in found if one.metadata.name.startswith(incomplete))
        return []

    return propose
