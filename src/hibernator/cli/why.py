"""`hibernator why`: which plan or scaler covers a workload, why it is as it is, and until when."""

from typing import Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.options import ClusterOptions, spread


@spread
def why(
    workload: Annotated[
        str,
        typer.Argument(metavar="KIND/NAME", help="The workload: deploy/web, sts/db, ds/agent, cj/report."),
    ],
    place: ClusterOptions,
) -> None:
    """Explain which plan or scaler covers a workload, why it sleeps or runs, until when and by whom.

    For example: `hibernator why deploy/web -n shop`
    """
    from hibernator.cli.output import printable
    from hibernator.cli.why_details import look, named
    from hibernator.cli.why_words import lines
    from hibernator.kube.clustertime import now

    kind, name = named(workload)

    async def ask(session: Session) -> list[str]:
        details = await look(session.client, kind, name, session.namespace)
        return list(lines(details, now(place.kubeconfig), session.cluster))

    for line in talk(ask, place, role="hibernator-auditor"):
        typer.echo(printable(line) if line else line)
