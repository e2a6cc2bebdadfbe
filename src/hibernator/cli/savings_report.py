"""The trail as savings, and savings as a table, JSON, YAML or CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from whenever import Instant

from hibernator.audit.database import Database
from hibernator.audit.pricefile import read_price_file
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.sleeps import read_sleep, sleeps
from hibernator.cli.exits import CliError, Exit
from hibernator.cli.output import printable
from hibernator.decisions.prices import LISTED, Prices
from hibernator.decisions.savings import CLOUD, Amount, SavingKey, Slept, Woke, count, spells

_HOUR: Final = 3600
_NAMED: Final = 5  # kinds of machines in a note
_COLUMNS: Final = {
    "plan": ("namespace", "plan", "month"),
    "namespace": ("namespace", "month"),
    "month": ("month",),
}
_NUMBERS: Final = ("coreHours", "gibHours", "nodeHours", "cloudHours", "worth")


@dataclass(frozen=True, slots=True)
class Report:
    amounts: dict[SavingKey, Amount]
    start: Instant
    end: Instant
    begins: Instant | None  # the trail
    silent: int  # sleeps that do not say what they save


@dataclass(frozen=True, slots=True)
class Row:
    names: tuple[str, ...]  # as in _COLUMNS
    core_hours: float
    gib_hours: float
    node_hours: float
    cloud_hours: float
    worth: float

    @property
    def numbers(self) -> tuple[float, ...]:
        return self.core_hours, self.gib_hours, self.node_hours, self.cloud_hours, self.worth


async def gather(database: Database, namespace: str, start: Instant, end: Instant) -> Report:
    events: list[Slept | Woke] = []
    silent = 0
    async for entry in sleeps(database, start, namespace):
        one, says = read_sleep(entry)
        silent += not says
        events.append(one)
    first = await Reader(database).page(Filter(), limit=1)
    window = start.timestamp(), end.timestamp()
    amounts = count(spells(events, window[1]), window)
    return Report(amounts, start, end, first[0].time if first else None, silent)


def load_prices(file: str) -> Prices:
    try:
        prices, problems = read_price_file(Path(file))
    except ValueError as error:
        hint = "Give a file in YAML or JSON."
        raise CliError(f"--prices {file}: {error}.", hint=hint, code=Exit.USAGE) from error
    for one in problems:
        what = ": ".join(filter(None, (one.path, one.message)))
        raise CliError(f"--prices {file}: {what}.", hint=one.fix, code=Exit.USAGE)
    return prices


def rows(report: Report, by: str, prices: Prices) -> list[Row]:
    grouped: dict[tuple[str, ...], list[tuple[SavingKey, Amount]]] = {}
    for place, amount in report.amounts.items():
        names = tuple(getattr(place, column) for column in _COLUMNS[by])
        grouped.setdefault(names, []).append((place, amount))
    return [_row(names, parts, prices) for names, parts in sorted(grouped.items())]


def _row(names: tuple[str, ...], parts: Sequence[tuple[SavingKey, Amount]], prices: Prices) -> Row:
    whole = sum((amount for _, amount in parts), Amount())
    return Row(
        names,
        core_hours=whole.millicores / 1000 / _HOUR,
        gib_hours=whole.mebibytes / 1024 / _HOUR,
        node_hours=whole.nodes / _HOUR,
        cloud_hours=sum(amount.items for place, amount in parts if place.type in CLOUD) / _HOUR,
        worth=sum(prices.worth(place.type, amount) for place, amount in parts),
    )


def _total(lines: Sequence[Row]) -> Row:
    sums = [sum(numbers) for numbers in zip(*(line.numbers for line in lines), strict=True)] or [0.0] * 5
    return Row((), *sums)


def as_table(lines: Sequence[Row], by: str, prices: Prices) -> Iterator[str]:
    columns = _COLUMNS[by]
    titles = [*columns, "core hours", "GiB hours", "node hours", "cloud hours", prices.currency]
    cells = [[*map(printable, line.names), *_numbers(line)] for line in lines]
    if len(cells) > 1:
        cells.append(["total", *[""] * (len(columns) - 1), *_numbers(_total(lines))])
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    for row in ([title.upper() for title in titles], *cells):
        named = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)][: len(columns)]
        counted = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)][len(columns) :]
        yield "   ".join([*named, *counted])


def _numbers(row: Row) -> list[str]:
    return [*(f"{number:,.1f}" for number in row.numbers[:-1]), f"{row.worth:,.2f}"]


def as_document(report: Report, lines: Sequence[Row], by: str, prices: Prices) -> dict[str, Any]:
    """For programs: numbers as they are, to the thousandth."""
    return {
        "since": str(report.start),
        "until": str(report.end),
        "currency": prices.currency,
        "prices": {
            "cpu": prices.cpu,
            "memory": prices.memory,
            "machines": _known(report, prices),
        },
        "items": [_item(line, _COLUMNS[by]) for line in lines],
        "total": _item(_total(lines), ()),
    }


def as_csv(lines: Sequence[Row], by: str, prices: Prices) -> str:
    written = io.StringIO()
    out = csv.writer(written, lineterminator="\n")
    out.writerow([*_COLUMNS[by], *_NUMBERS, "currency"])
    for line in lines:
        out.writerow([*line.names, *(round(number, 3) for number in line.numbers), prices.currency])
    return written.getvalue()


def _item(row: Row, columns: Sequence[str]) -> dict[str, Any]:
    numbers = {key: round(number, 3) for key, number in zip(_NUMBERS, row.numbers, strict=True)}
    return {**dict(zip(columns, row.names, strict=True)), **numbers}


def _names(report: Report) -> list[str]:
    """Every kind of machine that slept."""
    return sorted({name for amount in report.amounts.values() for name in amount.machines})


def _known(report: Report, prices: Prices) -> dict[str, float]:
    return {name: price for name in _names(report) if (price := prices.machine(name)) is not None}


def _priced(report: Report, prices: Prices) -> Iterator[str]:
    """Which price was used for what."""
    own = _known(report, prices)
    known = [f"{name} at {price:g}" for name, price in own.items()]
    unknown = [name for name in _names(report) if name not in own]
    if known:
        whose = f" ({LISTED})" if prices.lists else ""
        yield f"Machines by their own price, in {prices.currency} an hour{whose}: {_some(known)}."
    if unknown:
        yield f"Machines by the price of their type, or of cores and memory: {_some(unknown)}."


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(map(printable, words[:_NAMED])) + more


def _is_unsized(at: SavingKey, amount: Amount) -> bool:
    asleep = at.type == "workloadscaler" and amount.items
    return bool(asleep and not amount.millicores and not amount.mebibytes)


def notes(report: Report, prices: Prices) -> Iterator[str]:
    yield from _priced(report, prices)
    if not report.amounts:
        yield "The trail has no sleep in this time."
    unsized = {
        f"{at.namespace}/{at.plan}" for at, amount in report.amounts.items() if _is_unsized(at, amount)
    }
    if unsized:
        which = _some(sorted(unsized))
        yield f"Workloads of {which} count as 0: their containers have no requests and no limits."
    if report.begins and report.begins > report.start:
        begin = report.begins.format_iso(unit="second")
        yield f"The trail begins on {begin}; what was before is not counted."
    if report.silent:
        what = "sleep does" if report.silent == 1 else "sleeps do"
        yield f"{report.silent:,} {what} not say what was saved, because an older version recorded them."
