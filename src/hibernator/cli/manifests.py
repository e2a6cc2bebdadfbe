"""`hibernator manifests`: what a cluster must know and allow before the operator can work in it."""

from typing import Annotated

import typer


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
