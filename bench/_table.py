"""How benchmarks print: what was measured, on which machine, with which versions.

Where BENCH_RECORDS names a file, each table is also left there for `run.py`, as a line of JSON.
"""

import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


def show(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, packages: Sequence[str]
) -> None:
    """Print a table; the first column is text and the others are numbers."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    versions = {name: version(name) for name in packages}
    print(f"\n{title}\n{machine()}, {', '.join(f'{name} {found}' for name, found in versions.items())}\n")
    for line in (list(columns), ["-" * width for width in widths], *cells):
        first, *rest = zip(line, widths, strict=True)
        print("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]))
    if records := os.environ.get("BENCH_RECORDS"):
        record = {"title": title, "columns": list(columns), "rows": cells, "versions": versions}
        with Path(records).open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(record)}\n")


def machine() -> str:
    """The machine in a few words, with nothing that tells whose it is."""
    return f"{os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
