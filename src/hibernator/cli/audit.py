"""`hibernator audit`: read, export and verify the audit trail."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hibernator.cli.exits import CliError, Exit
from hibernator.cli.lazy import group

if TYPE_CHECKING:
    from whenever import Instant

    from hibernator.audit.database import Database
    from hibernator.audit.formats import Format
    from hibernator.audit.reading import Filter
    from hibernator.audit.verification import Verification

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
        help="Where the trail is: sqlite:////path/to/audit.db or postgresql://user@host/database. A password "
        "comes by the variable, or in a file.",
        show_default="sqlite:////var/lib/hibernator/audit.db",
    ),
]
AddressFile = Annotated[
    Path | None,
    typer.Option(
        "--database-file",
        envvar="HIBERNATOR_DATABASE_FILE",
        help="A file that holds that address, with its password; wins over it.",
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
    str | None,
    typer.Option(help="Not before: 2h for two hours ago, 07:00 or 2026-03-01 (UTC), 2026-03-01T08:00:00Z."),
]
Until = Annotated[str | None, typer.Option(help="Only before this moment, written as after --since.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events and print them.")]
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
    database_file: AddressFile = None,
) -> None:
    """Show the last events, oldest first.

    For example: `hibernator audit list --kind ScheduleException --actor bob@example.com --since 24h`
    """
    wanted = _filter(kind, namespace, name, actor, type_, since, until, context.obj)
    form = _format(output, follow=follow)

    async def show(opened: "Database") -> None:
        from hibernator.cli.audit_stream import latest, printed

        await printed(latest(opened, wanted, limit, follow=follow), form)

    ask(database, show, file=database_file)


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
    database_file: AddressFile = None,
) -> None:
    """Print all events, oldest first, however many there are.

    For example: `hibernator audit export --since 2026-03-01 -o csv > march.csv`
    """
    wanted = _filter(kind, namespace, name, actor, type_, since, until, context.obj)
    form = _format(output, follow=follow)

    async def show(opened: "Database") -> None:
        from hibernator.cli.audit_stream import everything, printed

        await printed(everything(opened, wanted, after, follow=follow), form)

    ask(database, show, file=database_file)


@app.command()
def verify(
    context: typer.Context,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER:HASH", help="An end that an earlier check printed: it must still be there."
        ),
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="A public key of the operator: what it has signed must hold. May be given several times."
        ),
    ] = None,
    checkpoints: Annotated[
        Path | None,
        typer.Option(
            help="Checkpoints that were exported earlier (`hibernator audit export --type audit.checkpoint`)."
        ),
    ] = None,
    database: Address = None,
    database_file: AddressFile = None,
) -> None:
    """Check that no event was changed, removed, inserted or moved.

    Ends with 0 when the trail is whole, with 1 at the first event that does not fit, and with 5 when what is
    kept fits, but not everything that was asked could be compared. The end that it prints, kept where the
    database's owner cannot reach it, lets a later check (--known) also find a trail that was rewritten.
    So do the checkpoints that the operator signs (--key).
    """
    from hibernator.cli import audit_proof

    asked = audit_proof.asked(known, key or [], checkpoints)

    async def check(opened: "Database") -> "Verification":
        from hibernator.audit.reading import Reader
        from hibernator.audit.verification import verify as walk
        from hibernator.cli.audit_stream import progress

        await Reader(opened).check()
        with progress() as advance:
            return await walk(opened, known=asked.promises, keys=asked.keys, progress=advance)

    audit_proof.show(ask(database, check, file=database_file), asked, context.obj)


@app.command()
def keygen(
    file: Annotated[Path, typer.Argument(help="Where to write the private key; the file must not exist.")],
) -> None:
    """Make a key that signs checkpoints, and print its public key.

    The operator gets the private key (`auditKey`); who checks the trail needs the public one only.

    For example: `hibernator audit keygen audit.key > audit.pub`
    """
    import os

    from hibernator.audit.checkpoints import new_key

    private, public = new_key()
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CliError(
            f"{file} cannot be written: {error.strerror}.",
            hint="Name a file that does not exist, in a folder that does.",
            code=Exit.USAGE,
        ) from error
    try:
        os.write(descriptor, private)
    finally:
        os.close(descriptor)
    typer.echo(public.decode(), nl=False)


def ask(
    address: str | None, question: "Callable[[Database], Awaitable[R]]", *, file: Path | None = None
) -> R:
    """Ask the database something; what goes wrong becomes a sentence and an exit code."""
    import asyncio

    from hibernator.audit.address import url_in
    from hibernator.audit.database import DEFAULT_URL, AuditUnavailable, Database

    _without_password(address)
    try:
        address = url_in(file) if file else address
        database = Database(address or DEFAULT_URL, read_only=True)
    except ValueError as error:
        raise CliError(str(error), code=Exit.USAGE) from error

    async def answer() -> R:
        async with database:
            return await question(database)

    try:
        return asyncio.run(answer())
    except AuditUnavailable as error:
        hint = (
            ""
            if address
            else "Say where the trail is with --database, --database-file or HIBERNATOR_DATABASE."
        )
        raise CliError(str(error), hint=hint, code=Exit.UNAVAILABLE) from error


def _without_password(address: str | None) -> None:
    """Reject a password in a flag: all users of the machine can read flags."""
    import os

    from hibernator.audit.address import has_secret

    if address and has_secret(address) and address != os.environ.get("HIBERNATOR_DATABASE"):
        raise CliError(
            "--database holds a password, which every user of this machine can see in the list of processes.",
            hint="Give it by the variable HIBERNATOR_DATABASE, or in a file by --database-file.",
            code=Exit.USAGE,
        )


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

    _note_unknown(type_)
    return Filter(
        kind=kind,
        namespace=namespace,
        name=name,
        actor=actor,
        type=type_,
        since=moment_of("--since", since, now),
        until=moment_of("--until", until, now),
    )


def _note_unknown(type_: str) -> None:
    """Say what no event of this version is; an older one may have recorded it."""
    from fnmatch import filter as matching

    from hibernator.api.structural import guess
    from hibernator.audit.types import EVENT_TYPES
    from hibernator.cli.offline import out

    if type_ and not matching(EVENT_TYPES, type_):
        meant = guess(type_, EVENT_TYPES)
        more = f"Did you mean {meant}?" if meant else "docs/reference/audit-events.md has all of them."
        out.notes([f"--type {type_}: this version records no such event. {more}"])


def moment_of(option: str, text: str | None, now: "Instant | None") -> "Instant | None":
    """A duration is so long ago; everything else is read as in the other commands, in UTC."""
    from hibernator.kube.clustertime import now as cluster_time
    from hibernator.schedule.times import parse

    found = parse(option, text, back=True)
    return found.seen_from("UTC", now or cluster_time(None)) if found else None


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
