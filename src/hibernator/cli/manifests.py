"""`hibernator manifests`: what a cluster must know and allow before the operator can work in it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hibernator.cli.exits import CliError, Exit

if TYPE_CHECKING:
    from hibernator.api.kinds import Definition


def manifests(
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", help="The namespace in which the operator lives.")
    ] = "hibernator-system",
    service_account: Annotated[
        str, typer.Option("--service-account", help="The account under which it runs there.")
    ] = "hibernator",
) -> None:
    """Print all that a cluster needs besides the Deployment: CRDs, roles, policies and the Lease.

    To install it: `hibernator manifests | kubectl apply --server-side -f -`
    """
    from hibernator.api.crd import to_yaml
    from hibernator.operator.manifests import manifests as every
    from hibernator.operator.roles import Home

    typer.echo("---\n".join(map(to_yaml, every(Home(namespace, service_account)))), nl=False)


class Output(StrEnum):
    YAML = "yaml"
    JSON = "json"


def crds(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KIND", help="Only these: a kind, its plural or its short name. All when absent."
        ),
    ] = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="How to print them.")] = Output.YAML,
) -> None:
    """Print the CustomResourceDefinitions.

    To install them: `hibernator crds | kubectl apply --server-side -f -`
    """
    from hibernator.api.crd import manifest
    from hibernator.api.kinds import DEFINITIONS

    chosen = [_find(word) for word in kinds] if kinds else DEFINITIONS
    typer.echo(_printed([manifest(definition) for definition in chosen], output), nl=False)


def _printed(manifests: list[dict[str, Any]], output: Output) -> str:
    import json

    from hibernator.api.crd import to_yaml

    if output is Output.YAML:
        return "---\n".join(map(to_yaml, manifests))
    whole = manifests[0] if len(manifests) == 1 else {"apiVersion": "v1", "kind": "List", "items": manifests}
    return json.dumps(whole, indent=2) + "\n"


def _find(word: str) -> "Definition":
    from hibernator.api.kinds import DEFINITIONS
    from hibernator.api.structural import guess

    names = {
        name.lower(): definition
        for definition in DEFINITIONS
        for name in (
            definition.kind.kind,
            definition.kind.plural,
            definition.kind.resource,
            *definition.short_names,
        )
    }
    if word.lower() in names:
        return names[word.lower()]
    known = [definition.kind.kind for definition in DEFINITIONS]
    meant = guess(word, known)
    raise CliError(
        f"There is no kind {word}.",
        hint=f"Did you mean {meant}?" if meant else f"The kinds are {', '.join(known)}.",
        code=Exit.USAGE,
    )
