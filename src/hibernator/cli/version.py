"""`hibernator version`: of this command, and of the cluster that it talks to."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator import __version__
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import Context, Kubeconfig

if TYPE_CHECKING:
    from hibernator.cli.doctoring.asking import Answer


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


def version(
    client: Annotated[
        bool, typer.Option("--client", help="Only of this command; no cluster is asked.")
    ] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TEXT,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Print the versions of this command and of the cluster's Kubernetes.

    For example: `hibernator version --client -o json`
    """
    found = {"hibernator": __version__}
    if not client:
        try:
            found["kubernetes"] = _kubernetes(kubeconfig, context)
        except CliError:
            _show(found, output)
            raise
    _show(found, output)


def _show(found: dict[str, str], output: Output) -> None:
    if output is Output.JSON:
        import json

        typer.echo(json.dumps(found, indent=2))
        return
    for name, number in found.items():
        typer.echo(f"{name} {number}")


def _kubernetes(kubeconfig: str | None, context: str | None) -> str:
    import asyncio

    from hibernator.cli.doctoring.asking import Asker, UnreachableError
    from hibernator.kube import credentials
    from hibernator.kube.errors import BadCredentials

    async def ask() -> "Answer":
        async with Asker(credentials.find(kubeconfig, context)) as asker:
            return await asker.get("/version")

    try:
        answer = asyncio.run(ask())
    except (BadCredentials, UnreachableError) as error:
        raise CliError(str(error), hint="Add --client to ask no cluster.", code=Exit.UNAVAILABLE) from error
    if not answer.ok:
        raise CliError(f"the cluster does not report its version: {answer.message}", code=Exit.REFUSED)
    return str(answer.body.get("gitVersion", "unknown")).removeprefix("v")
