"""Lists of objects as kubectl shows them: a table for people, `-o json|yaml|name|wide` for the rest."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec
import typer
import yaml

from hibernator.api.kind import Kind
from hibernator.api.meta import Object

T = TypeVar("T", bound=Object)


class Output(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


Chosen = Annotated[Output, typer.Option("--output", "-o", help="How to print.", show_choices=True)]


class Column(NamedTuple, Generic[T]):
    title: str
    value: Callable[[T], str]
    wide: bool = False


def moment(at: datetime | None) -> str:
    """An instant as the API writes it; nothing when there is none."""
    return at.isoformat().replace("+00:00", "Z") if at else ""


def show(
    kind: Kind[T], objects: Sequence[T], columns: Sequence[Column[T]], output: Output, *, spaces: bool
) -> None:
    """Print objects of one kind. `spaces`: they come from several namespaces."""
    match output:
        case Output.JSON:
            typer.echo(msgspec.json.format(msgspec.json.encode(_list(kind, objects))).decode())
        case Output.YAML:
            typer.echo(yaml.safe_dump(_list(kind, objects), sort_keys=False), nl=False)
        case Output.NAME:
            for obj in objects:
                typer.echo(f"{kind.resource}/{obj.metadata.name}")
        case _:
            _table(objects, [c for c in columns if output is Output.WIDE or not c.wide], spaces=spaces)


def show_one(kind: Kind[T], obj: T, output: Output) -> None:
    """Print one object that was asked for by its name, for programs."""
    match output:
        case Output.JSON:
            typer.echo(msgspec.json.format(msgspec.json.encode(_document(kind, obj))).decode())
        case Output.YAML:
            typer.echo(yaml.safe_dump(_document(kind, obj), sort_keys=False), nl=False)
        case _:
            typer.echo(f"{kind.resource}/{obj.metadata.name}")


def _list(kind: Kind[Any], objects: Sequence[Object]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "List", "items": [_document(kind, obj) for obj in objects]}


def _document(kind: Kind[Any], obj: Object) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        **msgspec.to_builtins(obj, builtin_types=()),
    }


def _table(objects: Sequence[T], columns: Sequence[Column[T]], *, spaces: bool) -> None:
    if not objects:
        typer.echo("Nothing found.", err=True)
        return
    shown = [Column[T]("NAME", lambda obj: obj.metadata.name), *columns]
    if spaces:
        shown.insert(0, Column("NAMESPACE", lambda obj: obj.metadata.namespace))
    rows = [[column.title.upper() for column in shown]]
    rows += [[column.value(obj) or "-" for column in shown] for obj in objects]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("   ".join(map(str.ljust, row, widths)).rstrip())
