"""Names of objects as arguments, with names for the Tab key: from the cluster, or none where it is slow."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError
from hibernator.cli.options import ClusterOptions

_PATIENCE_SECONDS: Final = 3.0


def one_of(kind: str, words: str) -> Any:
    """The argument that names one object of a kind."""
    return typer.Argument(help=f"The name of the {words}.", metavar="NAME", autocompletion=names_of(kind))


def some_of(kind: str, words: str) -> Any:
    """The argument that names some objects of a kind; all, where there is none."""
    return typer.Argument(help=f"Only these {words}.", metavar="[NAME]...", autocompletion=names_of(kind))


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
