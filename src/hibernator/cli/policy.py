"""`hibernator policy`: what ExceptionPolicies require of an exception, and tests of policies for CI."""

from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.cluster import Session, talk
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group
from hibernator.cli.offline.commands import Files as Filenames
from hibernator.cli.options import ClusterOptions, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hibernator.api.scheduleexception import ScheduleException
    from hibernator.cli.offline.governed import Files
    from hibernator.cli.offline.loading.documents import Document

app = group("Show what ExceptionPolicies require of an exception, and test them.")

Home = Annotated[
    str,
    typer.Option(
        "--operator-namespace", help="The operator's namespace, whose policies may be about all namespaces."
    ),
]


@app.command()
@spread
def explain(
    filename: Filenames,
    place: ClusterOptions,
    user: Annotated[
        str, typer.Option("--requester", help="The requester; by default, the annotation of the exception.")
    ] = "",
    role: Annotated[
        list[str] | None, typer.Option("--role", help="A role of the requester. Repeatable.")
    ] = None,
    home: Home = "hibernator-system",
) -> None:
    """List every policy for the exceptions in files: whether it matches, and what it requires.

    Policies and plans come from the files, or from the cluster where the files have no policy.

    `hibernator policy explain -f exception.yaml -f policies/`
    """
    from hibernator.cli.offline import out
    from hibernator.cli.offline.governed import explained, files_of
    from hibernator.cli.offline.loading.documents import load
    from hibernator.decisions.person import Person
    from hibernator.decisions.scheduleexception_request import requester
    from hibernator.kube.clustertime import now

    loaded = load(filename)
    if loaded.mistakes:
        raise CliError(out.sentence(loaded.mistakes[0]))
    files = files_of(loaded.documents, home)
    if not files.exceptions:
        raise CliError(
            "The files have no ScheduleException that can be read.", hint="See `hibernator validate`."
        )
    moment = now(place.kubeconfig)
    asked = [(files, one) for one in files.exceptions]
    for seen, exception in asked if files.policies else _in_cluster(loaded.documents, home, place):
        who = Person(user or requester(exception), roles=frozenset(role or ()))
        out.line(f"{exception.metadata.namespace}/{exception.metadata.name}")
        for line in explained(seen, exception, who, moment):
            out.line(line)
        if not seen.policies:
            out.line("  There is no policy.")


def _in_cluster(
    documents: "Sequence[Document]", home: str, place: ClusterOptions
) -> "list[tuple[Files, ScheduleException]]":
    """The exceptions of the files, each with what the cluster has in its namespace."""
    import dataclasses

    from hibernator.api.hibernateplan import PLANS
    from hibernator.api.scheduleexception import EXCEPTIONS
    from hibernator.cli.offline.governed import files_of
    from hibernator.cli.policies_seen import policies_seen

    async def there(session: Session, files: "Files", near: str) -> "Files":
        seen = await policies_seen(session.client, near, home)
        if seen.hidden:
            typer.echo(
                f"note: you may not see the policies of {home}; they may be about {near}, too.", err=True
            )
        plans = await session.client.list(PLANS, near)
        ours = {one.metadata.name for one in files.exceptions if one.metadata.namespace == near}
        filed = await session.client.list(EXCEPTIONS, near)
        return dataclasses.replace(
            files,
            policies=seen.policies,
            plans=(*files.plans, *plans),
            exceptions=(*files.exceptions, *(one for one in filed if one.metadata.name not in ours)),
            labels=seen.labels,
        )

    async def ask(session: Session) -> "list[tuple[Files, ScheduleException]]":
        files = files_of(documents, home, session.namespace)
        spaces = sorted({one.metadata.namespace for one in files.exceptions})
        found = {near: await there(session, files, near) for near in spaces}
        return [(found[one.metadata.namespace], one) for one in files.exceptions]

    return talk(ask, place, role="hibernator-auditor")


@app.command()
def test(
    tables: Annotated[list[str], typer.Argument(metavar="FILE...", help="Tables of cases, in YAML.")],
) -> None:
    """Run test cases of policies. The exit code is 1 if a case fails.

    `hibernator policy test policies/production_test.yaml`
    """
    from hibernator.cli.offline import out
    from hibernator.cli.policy_cases import outcomes

    failed = number = 0
    for table in tables:
        for name, wrong in outcomes(table):
            number += 1
            failed += bool(wrong)
            out.line(f"FAIL {name}: {wrong}" if wrong else f"ok   {name}")
    out.line(f"{number - failed} of {number} cases passed.")
    if failed or not number:
        raise typer.Exit(Exit.FOUND)
