"""Names for the Tab key, from the cluster. Where it does not answer soon, there are none."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError
from hibernator.cli.options import ClusterOptions

_PATIENCE_SECONDS: Final = 3.0


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes the name of an object of a kind, in the namespace that was given before it."""

    def propose(ctx: typer.Context, incomplete: str) -> list[str]:
        import asyncio

        from hibernator.api.kinds import DEFINITIONS

        meant = next(each.kind for each in DEFINITIONS if each.kind.kind == kind)

        async def ask(session: Session) -> list[Any]:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await session.client.list(meant, session.namespace if meant.namespaced else "")

        given = {key: ctx.params.get(key) for key in ("kubeconfig", "context", "namespace")}
        with suppress(CliError, TimeoutError):
            found = talk(ask, ClusterOptions(**given))
            return sorted(one.metadata.name for one in found if one.metadata.name.startswith(incomplete))
        return []

    return propose
