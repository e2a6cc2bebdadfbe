"""`hibernator detach`: the last thing to do before, or right after, the operator is removed for good."""

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.options import ClusterOptions, Context, Kubeconfig


def detach(kubeconfig: Kubeconfig = None, context: Context = None) -> None:
    """Remove the webhooks and policies that the operator registered, once it is removed.

    Its objects can then be read and deleted without it. `helm uninstall` does this by itself. An operator
    that still runs registers itself again at once.
    """

    async def run(session: Session) -> tuple[str, ...]:
        from hibernator.operator.detaching import detach as take_back

        return await take_back(session.client)

    place = ClusterOptions(kubeconfig=kubeconfig, context=context)
    for sentence in talk(run, place) or ("There was nothing to take back.",):
        typer.echo(sentence)
