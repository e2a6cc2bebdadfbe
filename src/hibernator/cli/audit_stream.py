"""Events as they go by: a page at a time, to the end or for ever, as a table for people or for programs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Final

import typer
from rich.console import Console
from rich.text import Text

from hibernator.audit.chain import Entry, Link
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.formats import Format, acting
from hibernator.audit.reading import Filter, Reader
from hibernator.cli.offline import out
from hibernator.cli.output import printable

_LOOK_AGAIN: Final = 1.0  # seconds
_TITLES: Final = ("NUMBER", "TIME", "TYPE", "OBJECT", "ACTOR", "VIA", "ERROR")
_STYLES: Final = {"error": "bold red", "warning": "yellow", "notice": "bold"}


async def latest(
    database: Database, wanted: Filter, limit: int, *, follow: bool
) -> AsyncIterator[list[Entry]]:
    """The last events, and with `follow` those that come in."""
    reader = Reader(database)
    await reader.check()
    # Taken before the page: what comes in between is then behind it, and nothing is missed.
    end = await reader.head()
    found = await reader.latest(wanted, limit)
    yield found
    if follow:
        async for page in _incoming(reader, wanted, found[-1].sequence if found else end.sequence):
            yield page


async def everything(
    database: Database, wanted: Filter, after: int, *, follow: bool
) -> AsyncIterator[list[Entry]]:
    """All events behind a number, and with `follow` those that come in."""
    reader = Reader(database)
    await reader.check()
    async for page in reader.pages(wanted, after=after):
        yield page
        after = page[-1].sequence
    if follow:
        async for page in _incoming(reader, wanted, after):
            yield page


async def _incoming(reader: Reader, wanted: Filter, after: int) -> AsyncIterator[list[Entry]]:
    reported = False
    while True:
        await asyncio.sleep(_LOOK_AGAIN)
        try:
            async for page in reader.pages(wanted, after=after):
                yield page
                after = page[-1].sequence
        except AuditUnavailable as error:
            # The one who waits for something to happen wants to be there when the database is back.
            if not reported:
                out.notes([f"{error} Still trying."])
            reported = True
        else:
            reported = False


async def printed(pages: AsyncIterator[list[Entry]], form: Format) -> None:
    out.data(form.begin())
    async for page in pages:
        out.data(form.page(page))
    out.data(form.end())


class Table:
    """Columns as wide as what has been seen so far needs, with severities in colour on a terminal."""

    def __init__(self) -> None:
        self._console = out.console(None)
        self._widths = [0] * len(_TITLES)

    def begin(self) -> str:
        return ""

    def page(self, entries: Iterable[Entry]) -> str:
        rows = [(_STYLES.get(entry.severity, ""), _cells(entry)) for entry in entries]
        if rows and not any(self._widths):
            rows.insert(0, ("dim", _TITLES))
        for _style, cells in rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, cells, strict=True)]
        return "".join(self._line(cells, style) for style, cells in rows)

    def _line(self, cells: tuple[str, ...], style: str) -> str:
        line = "   ".join(map(str.ljust, cells, self._widths)).rstrip()
        if self._console.color_system is None:
            return f"{line}\n"
        with self._console.capture() as captured:
            self._console.print(Text(line, style), soft_wrap=True)
        return captured.get()

    def end(self) -> str:
        if not any(self._widths):
            typer.echo("Nothing found.", err=True)
        return ""


def _cells(entry: Entry) -> tuple[str, ...]:
    resource = entry.resource
    name = f"{resource.namespace}/{resource.name}" if resource.namespace else resource.name
    cells = (
        str(entry.sequence),
        entry.time.format_iso(unit="second"),
        entry.type,
        f"{resource.kind} {name}",
        acting(entry),
        entry.channel,
        entry.error,
    )
    return tuple(map(printable, cells))


@contextlib.contextmanager
def progress() -> Iterator[Callable[[Link], object]]:
    """Say on a terminal how far a check has come; be quiet in a pipe."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _link: None
        return
    with console.status("Checking the trail …") as status:
        yield lambda link: status.update(f"Checking the trail … {link.sequence:,} events fit")
