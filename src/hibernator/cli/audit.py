"""`hibernator audit`: who did what, when, through which channel, and whether anybody changed the record."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group

if TYPE_CHECKING:
    from whenever import Instant

    from hibernator.audit.chain import Link
    from hibernator.audit.database import Database
    from hibernator.audit.formats import Format
    from hibernator.audit.reading import Filter
    from hibernator.audit.verification import Verdict

R = TypeVar("R")

app = group("Read, export and check the audit trail.")


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


Address = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="HIBERNATOR_DATABASE",
        help="Where the trail is: sqlite:////path/to/audit.db or postgresql://user:password@host/database.",
        show_default="sqlite:////var/lib/hibernator/audit.db",
    ),
]
Kind = Annotated[str, typer.Option("--kind", help="Only of this kind, such as HibernatePlan.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Only in this namespace.")]
Name = Annotated[str, typer.Option("--name", help="Only of objects of this name.")]
Person = Annotated[str, typer.Option("--actor", help="Only what this user did, by name or e-mail.")]
Type = Annotated[
    str, typer.Option("--type", help="Only this type, such as scheduleexception.approved or hibernateplan.*")
]
Since = Annotated[
    str | None, typer.Option(help="Not before: 2h for two hours ago, 2026-03-01, or 2026-03-01T08:00:00Z.")
]
Until = Annotated[str | None, typer.Option(help="Only before this moment, written as after --since.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Stay, and print what comes in.")]
Printed = Annotated[Output, typer.Option("--output", "-o", help="How to print.")]


@app.command("list")
def list_(
    context: typer.Context,
    kind: Kind = "",
    namespace: Namespace = "",
    name: Name = "",
    actor: Person = "",
    type_: Type = "",
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-l", min=1, help="How many of the last events.")] = 50,
    follow: Follow = False,
    output: Printed = Output.TABLE,
    database: Address = None,
) -> None:
    """Show the last events, oldest first.

    For example: `hibernator audit list --kind ScheduleException --actor bob@example.com --since 24h`
    """
    wanted = _filter(kind, namespace, name, actor, type_, since, until, context.obj)
    form = _format(output, follow=follow)

    async def show(opened: "Database") -> None:
        from hibernator.cli.audit_stream import latest, printed

        await printed(latest(opened, wanted, limit, follow=follow), form)

    ask(database, show)


@app.command()
def export(
    context: typer.Context,
    kind: Kind = "",
    namespace: Namespace = "",
    name: Name = "",
    actor: Person = "",
    type_: Type = "",
    since: Since = None,
    until: Until = None,
    after: Annotated[
        int, typer.Option(min=0, help="Only events behind this number, to go on where you stopped.")
    ] = 0,
    follow: Follow = False,
    output: Printed = Output.NDJSON,
    database: Address = None,
) -> None:
    """Print all events, oldest first, however many there are.

    For example: `hibernator audit export --since 2026-03-01 -o csv > march.csv`
    """
    wanted = _filter(kind, namespace, name, actor, type_, since, until, context.obj)
    form = _format(output, follow=follow)

    async def show(opened: "Database") -> None:
        from hibernator.cli.audit_stream import everything, printed

        await printed(everything(opened, wanted, after, follow=follow), form)

    ask(database, show)


@app.command()
def verify(
    known: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER:HASH", help="An end that an earlier check printed: it must still be there."
        ),
    ] = None,
    database: Address = None,
) -> None:
    """Check that nobody has changed, removed, inserted or moved an event.

    Ends with 0 when the trail is whole, and with 1 at the first event that does not fit. The end that it
    prints, kept where the database's owner cannot reach it, lets a later check (--known) also find a trail
    that was written anew as a whole.
    """
    link = _link(known)

    async def check(opened: "Database") -> "Verdict":
        from hibernator.audit.reading import Reader
        from hibernator.audit.verification import verify as walk
        from hibernator.cli.audit_stream import progress

        await Reader(opened).check()
        with progress() as told:
            return await walk(opened, known=link, progress=told)

    _tell(ask(database, check), link)


def ask(address: str | None, question: "Callable[[Database], Awaitable[R]]") -> R:
    """Ask the database something; what goes wrong becomes a sentence and an exit code."""
    import asyncio

    from hibernator.audit.database import DEFAULT_URL, AuditUnavailable, Database

    try:
        database = Database(address or DEFAULT_URL, read_only=True)
    except ValueError as error:
        raise CliError(str(error), code=Exit.USAGE) from error

    async def answer() -> R:
        async with database:
            return await question(database)

    try:
        return asyncio.run(answer())
    except AuditUnavailable as error:
        hint = "" if address else "Say where the trail is with --database or HIBERNATOR_DATABASE."
        raise CliError(str(error), hint=hint, code=Exit.UNAVAILABLE) from error


def _filter(
    kind: str,
    namespace: str,
    name: str,
    actor: str,
    type_: str,
    since: str | None,
    until: str | None,
    now: "Instant | None",
) -> "Filter":
    from hibernator.audit.reading import Filter

    return Filter(
        kind=kind,
        namespace=namespace,
        name=name,
        actor=actor,
        type=type_,
        since=moment_of("--since", since, now),
        until=moment_of("--until", until, now),
    )


def moment_of(option: str, text: str | None, now: "Instant | None") -> "Instant | None":
    """A duration is so long ago; everything else is read as in the other commands, in UTC."""
    import re

    from whenever import Instant, TimeDelta

    from hibernator.cli.offline.times import parse

    if text and (ago := re.fullmatch(r"(\d{1,6})([smhd])", text)):
        seconds = {"s": 1, "m": 60, "h": 3600, "d": 86400}[ago[2]]
        return (now or Instant.now()) - TimeDelta(seconds=int(ago[1]) * seconds)
    found = parse(option, text)
    return found.seen_from("UTC") if found else None


def _format(output: Output, *, follow: bool) -> "Format":
    from hibernator.audit import formats
    from hibernator.cli.audit_stream import Table

    match output:
        case Output.TABLE:
            return Table()
        case Output.CSV:
            return formats.Csv()
        case Output.JSON if follow:
            raise CliError(
                "A JSON array has an end, and --follow has none.", hint="Take -o ndjson.", code=Exit.USAGE
            )
        case Output.JSON:
            return formats.Json()
        case _:
            return formats.NdJson()


def _link(text: str | None) -> "Link | None":
    import re

    from hibernator.audit.chain import Link

    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text.strip())):
        raise CliError(
            f"--known {text}: this is not the end of a trail.",
            hint="Give what an earlier `hibernator audit verify` printed as its end: NUMBER:HASH",
            code=Exit.USAGE,
        )
    return Link(int(found[1]), found[2])


def _tell(verdict: "Verdict", known: "Link | None") -> None:
    from hibernator.cli.output import printable

    first, last = verdict.start.sequence + 1, verdict.end.sequence
    fits = f"Events {first} to {last} fit." if last >= first else ""
    if verdict.misfit:
        entry = verdict.misfit
        raise CliError(
            f"Event {entry.sequence} does not fit: {verdict.problem}.",
            hint=printable(f"It is {entry.id}, {entry.type}, of {entry.time}. {fits}".rstrip()),
        )
    if verdict.problem:
        raise CliError(f"The trail is not whole: {verdict.problem}.", hint=fits)
    if known and known.sequence < verdict.start.sequence:
        typer.echo(f"note: event {known.sequence} is beyond the retention; it was not compared", err=True)
    count = last - verdict.start.sequence
    typer.echo(f"The trail is whole: {count:,} events" + (f", {first} to {last}." if count else "."))
    typer.echo(f"Its end is {verdict.end}")
