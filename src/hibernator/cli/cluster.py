"""What every command that talks to a cluster shares: who it is, which namespace, and how a "no" is told."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

import typer

from hibernator.cli.exits import CliError, Exit
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.errors import (
    ApiError,
    BadCredentials,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Throttled,
    Unauthorized,
    Unavailable,
)

R = TypeVar("R")

Kubeconfig = Annotated[str | None, typer.Option("--kubeconfig", help="The kubeconfig to use.")]
Context = Annotated[str | None, typer.Option("--context", help="The context of the kubeconfig to use.")]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="The namespace; the context's own when not given.")
]
Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to the cluster that the user means."""

    client: Client
    namespace: str


def talk(
    question: Callable[[Session], Awaitable[R]],
    *,
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None = None,
) -> R:
    """Ask the cluster something; what goes wrong becomes a sentence and an exit code."""

    async def ask() -> R:
        found = credentials.find(kubeconfig, context)
        async with Client(found) as client:
            return await question(Session(client, namespace or found.namespace))

    try:
        return asyncio.run(ask())
    except ApiError as error:
        raise refusal(error) from error


def refusal(error: ApiError) -> CliError:
    match error:
        case BadCredentials() | Unavailable() | Throttled():
            return CliError(error.message, code=Exit.UNAVAILABLE)
        case Unauthorized():
            hint = "Log in again, or choose another context with --context."
            return CliError(f"the cluster does not know you: {error.message}", hint=hint, code=Exit.REFUSED)
        case Forbidden() if "denied the request" in error.message:  # a rule said no, not a missing role
            return CliError(error.message, code=Exit.REFUSED)
        case Forbidden():
            hint = "Ask an administrator for one of the hibernator-* ClusterRoles, or use another --context."
            return CliError(error.message, hint=hint, code=Exit.REFUSED)
        case Conflict():
            return CliError("somebody else changed it just now", hint="Look at it and try again.")
        case NotFound():
            hint = (
                "Check the name and the namespace (-n), and that the CRDs are installed: `hibernator crds`."
            )
            return CliError(error.message, hint=hint)
        case Invalid():
            return CliError(error.message)
        case _:
            return CliError(str(error))
