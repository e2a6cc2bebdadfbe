"""Lists of objects as kubectl shows them: a table for people, `-o json|yaml|name|wide` for the rest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import msgspec
import typer

from hibernator.api.kind import Kind
from hibernator.api.meta import Condition, Object
from hibernator.cli.options import Output

if TYPE_CHECKING:
    from whenever import Instant

T = TypeVar("T", bound=Object)


class Column(NamedTuple, Generic[T]):
    title: str
    value: Callable[[T], str]
    wide: bool = False
    basis: Callable[[T], object] | None = None  # of what changes by itself as time passes: what it is made of


def condition_lines(conditions: Iterable[Condition]) -> Iterator[str]:
    for one in conditions:
        words = f": {one.message}" if one.message else ""
        yield f"  {one.type} is {one.status} ({one.reason}){words}"


def aged() -> Column[Any]:
    """The column AGE, as kubectl shows it: by the real clock, which the API server uses in a demo, too."""
    from whenever import Instant

    from hibernator.schedule.spoken import age

    return Column(
        "Age", lambda one: age(one.metadata.creation_timestamp, Instant.now()), basis=lambda _: None
    )


def moment(at: datetime | None) -> str:
    """An instant as the API writes it; nothing when there is none."""
    return at.isoformat().replace("+00:00", "Z") if at else ""


def distanced(at: datetime | None, zone: str, now: "Instant") -> str:
    """An instant for people: on the clock of what it is about, and how far away it is."""
    from hibernator.schedule.spoken import shown_with_distance
    from hibernator.schedule.zones import known_zone

    return shown_with_distance(at, known_zone(zone), now) if at else ""


def printable(text: str) -> str:
    """Text from outside must not move the cursor of the terminal, nor look like another line."""
    return "".join(" " if letter.isspace() else letter if letter.isprintable() else "?" for letter in text)


def show(
    kind: Kind[T],
    objects: Sequence[T],
    columns: Sequence[Column[T]],
    output: Output,
    *,
    spaces: bool,
    nothing: str,
) -> None:
    """Print objects of one kind, or `nothing` to a reader. `spaces`: they come from several namespaces."""
    match output:
        case Output.JSON:
            typer.echo(msgspec.json.format(msgspec.json.encode(_list(kind, objects))).decode())
        case Output.YAML:
            typer.echo(_yaml(_list(kind, objects)), nl=False)
        case Output.NAME:
            for obj in objects:
                typer.echo(f"{kind.resource}/{obj.metadata.name}")
        case _:
            if not objects:
                typer.echo(nothing, err=True)
                return
            table = Table(columns, output, spaces=spaces)
            table.head(objects)
            for obj in objects:
                table.row(obj)


def show_one(kind: Kind[T], obj: T, output: Output, *, among: bool = False) -> None:
    """Print one object that was asked for by its name, or is one among several in a row, for programs."""
    match output:
        case Output.JSON:
            typer.echo(msgspec.json.format(msgspec.json.encode(_document(kind, obj))).decode())
        case Output.YAML:
            typer.echo("---\n" * among + _yaml(_document(kind, obj)), nl=False)
        case _:
            typer.echo(f"{kind.resource}/{obj.metadata.name}")


def _yaml(value: object) -> str:
    import yaml

    return yaml.safe_dump(value, sort_keys=False)


def _list(kind: Kind[Any], objects: Sequence[Object]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": [_document(kind, obj) for obj in objects]}


def _document(kind: Kind[Any], obj: Object) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        **msgspec.to_builtins(obj, builtin_types=()),
    }


class Table(Generic[T]):
    """Rows as wide as the first ones need; a later one that needs more takes it."""

    def __init__(self, columns: Sequence[Column[T]], output: Output, *, spaces: bool) -> None:
        shown = [column for column in columns if output is Output.WIDE or not column.wide]
        self._columns = [Column[T]("NAME", lambda obj: obj.metadata.name), *shown]
        if spaces:
            self._columns.insert(0, Column("NAMESPACE", lambda obj: obj.metadata.namespace))
        self._widths = [0] * len(self._columns)

    def cells(self, obj: T) -> list[str]:
        return [printable(column.value(obj)) or "-" for column in self._columns]

    def lasting(self, obj: T) -> list[object]:
        """What changes in the cells only when the object does."""
        return [(column.basis or column.value)(obj) for column in self._columns]

    def head(self, objects: Sequence[T]) -> None:
        titles = [column.title.upper() for column in self._columns]
        rows = [titles, *map(self.cells, objects)]
        self._widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        self._print(titles)

    def row(self, obj: T) -> None:
        self._print(self.cells(obj))

    def _print(self, cells: Sequence[str]) -> None:
        typer.echo("   ".join(map(str.ljust, cells, self._widths)).rstrip())
