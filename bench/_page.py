"""One page of what was measured: a table with a line for each thing, and below it what each script said."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hibernator import __version__
from hibernator.controlplane.versions import MODULES

# Columns that compare us with something else; all the others are measurements.
_RATIO = re.compile(r"ratio|times|trail does")


@dataclass(frozen=True)
class Ran:
    name: str
    said: str
    tables: Sequence[Mapping[str, Any]]
    failed: bool = False


def page(machine: str, ran: Sequence[Ran]) -> str:
    head = "| benchmark | what | measured | beside |\n|---|---|---|---|\n"
    lines = "".join(f"| {' | '.join(map(_safe, line))} |\n" for each in ran for line in _lines(each))
    details = "\n".join(f"## {each.name}\n\n```text\n{each.said.strip()}\n```\n" for each in ran)
    return f"# Benchmarks\n\n{machine}, {_versions(ran)}.\n\n{head}{lines}\n{details}"


def _lines(ran: Ran) -> Iterator[tuple[str, str, str, str]]:
    if ran.failed:
        yield ran.name, "", "did not end well", ""
    for table in ran.tables:
        _, *columns = table["columns"]
        for first, *cells in table["rows"]:
            named = list(_named(columns, cells))
            yield (
                f"{ran.name}: {table['title']}",
                first,
                _joined(each for each in named if not _RATIO.search(each[1])),
                _joined(each for each in named if _RATIO.search(each[1])),
            )


def _named(columns: Sequence[str], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each value with what it is a number of: the name of its column, or the unit in the next one."""
    if columns[-1:] == ["unit"]:
        yield cells[0], cells[-1]
        return
    yield from ((cell, column) for column, cell in zip(columns, cells, strict=True) if cell)


def _joined(named: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{value} {what}" for value, what in named)


def _versions(ran: Sequence[Ran]) -> str:
    found = {"hibernator": __version__}
    found |= {module.path.split("/")[1]: module.version.removeprefix("v") for module in MODULES}
    for each in ran:
        for table in each.tables:
            found |= table["versions"]
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _safe(cell: str) -> str:
    return cell.replace("|", r"\|")
