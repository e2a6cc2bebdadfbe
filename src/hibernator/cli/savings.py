"""`hibernator savings`: what sleeping has saved, by plan, namespace and month, and what that is worth."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hibernator.cli.audit import Address, AddressFile, ask, moment_of
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.options import Everywhere, Namespace

if TYPE_CHECKING:
    from whenever import Instant

    from hibernator.audit.database import Database
    from hibernator.cli.savings_report import Report
    from hibernator.decisions.prices import Prices


class By(StrEnum):
    PLAN = "plan"
    NAMESPACE = "namespace"
    MONTH = "month"


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"
    CSV = "csv"


def savings(
    context: typer.Context,
    since: Annotated[
        str, typer.Option(help="From when on: 30d for thirty days ago, 2026-03-01, or 2026-03-01T08:00:00Z.")
    ] = "30d",
    until: Annotated[
        str | None, typer.Option(help="Until when, written as after --since.", show_default="now")
    ] = None,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    by: Annotated[By, typer.Option("--by", help="One line for each plan, namespace or month.")] = By.PLAN,
    prices: Annotated[
        str,
        typer.Option(
            "--prices",
            metavar="FILE",
            help="What cores, GiB and machines cost an hour; also OpenCost's JSON or CSV.",
        ),
    ] = "",
    output: Annotated[Output, typer.Option("--output", "-o", help="How to print.")] = Output.TABLE,
    database: Address = None,
    database_file: AddressFile = None,
) -> None:
    """Show what sleeping has saved, by plan and month, with what it is worth.

    It is counted from the audit trail, so that deleted plans count, too. What is still asleep counts until
    now.

    For example: `hibernator savings -A --since 90d --by month --prices prices.yaml`
    """
    from hibernator.kube.clustertime import now as cluster_time

    where = "" if everywhere else namespace or _own_namespace()
    priced = _prices(prices)
    now = context.obj or cluster_time(None)
    start, end = moment_of("--since", since, now) or now, moment_of("--until", until, now) or now
    if start >= end:
        raise CliError(f"--since ({start}) must be before --until ({end}).", code=Exit.USAGE)
    report = ask(database, lambda opened: _report(opened, where, start, min(end, now)), file=database_file)
    _print(report, by, priced, output)


def _own_namespace() -> str:
    from hibernator.kube import credentials
    from hibernator.kube.errors import BadCredentials

    try:
        return credentials.find(None, None).namespace
    except BadCredentials as error:
        raise CliError("Say whose savings: -n NAMESPACE, or -A for all.", code=Exit.USAGE) from error


async def _report(database: "Database", namespace: str, start: "Instant", end: "Instant") -> "Report":
    from hibernator.audit.reading import Reader
    from hibernator.cli.savings_report import gather

    await Reader(database).check()
    return await gather(database, namespace, start, end)


def _prices(file: str) -> "Prices":
    from hibernator.cli.savings_report import load_prices
    from hibernator.decisions.prices import Prices

    return load_prices(file) if file else Prices()


def _print(report: "Report", by: By, prices: "Prices", output: Output) -> None:
    from hibernator.cli.savings_report import as_csv, as_document, as_table, notes, rows

    lines = rows(report, by, prices)
    match output:
        case Output.JSON:
            import msgspec

            typer.echo(
                msgspec.json.format(msgspec.json.encode(as_document(report, lines, by, prices))).decode()
            )
        case Output.YAML:
            import yaml

            typer.echo(yaml.safe_dump(as_document(report, lines, by, prices), sort_keys=False), nl=False)
        case Output.CSV:
            typer.echo(as_csv(lines, by, prices), nl=False)
        case Output.TABLE:
            for line in as_table(lines, by, prices):
                typer.echo(line)
    for note in notes(report, prices):
        typer.echo(f"note: {note}", err=True)
