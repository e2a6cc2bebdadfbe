"""What every command that talks to a cluster shares: user, namespace, and the errors of the API server."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import ClusterOptions

if TYPE_CHECKING:
    from hibernator.kube.client import Client
    from hibernator.kube.errors import ApiError

R = TypeVar("R")

_DENIED: Final = re.compile(r" denied (?:the )?request: (.+)", re.DOTALL)  # by a webhook or a policy


@dataclass(frozen=True, slots=True)
class Session:
    """A connection to the cluster that the user means."""

    client: "Client"
    namespace: str
    options: str = ""  # the same place for another command, to be written behind it
    cluster: str = ""  # the same cluster, for a command that names its namespace itself or needs none


def talk(
    question: Callable[[Session], Awaitable[R]],
    place: ClusterOptions,
    *,
    role: str = "",
    everywhere: bool = False,
) -> R:
    """Ask the cluster something; what goes wrong becomes a sentence and an exit code.

    `role` is the ClusterRole that allows it; the error for users without it names it.
    """
    import asyncio

    from hibernator.kube import credentials
    from hibernator.kube.client import Client
    from hibernator.kube.errors import ApiError, Forbidden, NotFound

    async def ask() -> R:
        found = credentials.find(
            place.kubeconfig, place.context, as_user=place.as_user, as_groups=place.as_group or ()
        )
        async with Client(found) as client:
            namespace = place.namespace or found.namespace
            session = Session(client, namespace, place.options, place.cluster)
            try:
                return await question(session)
            except Forbidden as error:
                where = "all namespaces" if everywhere else f"the namespace {session.namespace}"
                hint = f"Ask an administrator for the ClusterRole {role} in {where}."
                raise refusal(error, hint if role else "") from error
            except NotFound as error:
                from hibernator.cli.missing import explained

                raise await explained(session, error) from error

    try:
        return asyncio.run(ask())
    except ApiError as error:
        raise refusal(error) from error


def refusal(error: "ApiError", hint: str = "") -> CliError:
    from hibernator.kube.errors import (
        AlreadyExists,
        BadCredentials,
        Conflict,
        Forbidden,
        Invalid,
        Throttled,
        Unauthorized,
        Unavailable,
    )

    match error:
        case BadCredentials() | Unavailable() | Throttled():
            return CliError(error.message, code=Exit.UNAVAILABLE)
        case Unauthorized():
            hint = "Log in again, or choose another context with --context."
            return CliError(f"the cluster does not know you: {error.message}", hint=hint, code=Exit.REFUSED)
        case AlreadyExists():
            return CliError(f"{error.message}.", hint="Choose another name.", code=Exit.CONFLICT)
        case Conflict() if found := _DENIED.search(error.message):
            return CliError(found[1], code=Exit.CONFLICT)
        case Forbidden() if found := _DENIED.search(error.message):  # a rule said no, not a missing role
            return CliError(found[1], code=Exit.REFUSED)
        case Forbidden():
            roles = "Ask an administrator for one of the hibernator-* ClusterRoles, or use another --context."
            return CliError(error.message, hint=hint or roles, code=Exit.REFUSED)
        case Conflict():
            return CliError(
                "it was just changed by others", hint="Look at it and try again.", code=Exit.CONFLICT
            )
        case Invalid():
            return CliError(error.message)
        case _:
            return CliError(str(error))
