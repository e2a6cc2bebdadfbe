"""`hibernator uninstall`: the way out, in the order in which nothing is left asleep and nothing hangs."""

from typing import Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import ClusterOptions, Context, Kubeconfig


def uninstall(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    timeout: Annotated[str, typer.Option("--timeout", help="How long to wait for the operator.")] = "10m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Wake everything and remove plans, scalers, webhooks, finalizers and policies, in the right order.

    Run it twice. While the operator runs, it deletes plans and scalers, so that the operator wakes what
    sleeps and puts autoscalers back. Then remove the operator as you installed it, and run this again: it
    wakes from the marks what still sleeps, and removes the rest. The CRDs, the Secrets and the volume of the
    audit trail stay; it says how to remove them. For example: `hibernator uninstall --dry-run`
    """
    from hibernator.cli import uninstalling
    from hibernator.schedule.times import seconds

    longest, place = seconds("--timeout", timeout), ClusterOptions(kubeconfig=kubeconfig, context=context)
    seen = talk(lambda session: uninstalling.look(session.client), place)
    for step in uninstalling.steps(seen):
        typer.echo(f"would {step}" if dry_run else f"will {step}")
    if dry_run:
        return
    if not yes and not typer.confirm("Go on?", err=True):
        raise CliError("nothing was changed.", code=Exit.FOUND)

    async def ask(session: Session) -> None:
        await uninstalling.remove(session.client, seen, longest, typer.echo)

    talk(ask, place)
    typer.echo(uninstalling.what_stays(seen))
    if seen.leads:
        raise typer.Exit(Exit.WAITING)
