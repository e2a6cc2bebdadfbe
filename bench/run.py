"""Every benchmark in a row, and one page with all that they measured.

python bench/run.py [NAME …]           writes bench/results/latest.md
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _page import Ran, page
from _table import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "latest.md"


def names() -> list[str]:
    """A benchmark is a script here whose name does not begin with an underscore."""
    found = [path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_")]
    return sorted(set(found) - {"run"})


def run(name: str) -> Ran:
    print(f"== {name}", flush=True)
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as records:
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py"],
            env={**os.environ, "BENCH_RECORDS": records.name},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        tables = [json.loads(line) for line in records]
    print(done.stdout, flush=True)
    return Ran(name, done.stdout, tables, failed=done.returncode != 0)


def main(wanted: list[str]) -> int:
    known = names()
    if unknown := sorted(set(wanted) - set(known)):
        print(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    ran = [run(name) for name in wanted or known]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(page(machine(), ran), encoding="utf-8")
    print(f"All of it is in {RESULTS.relative_to(HERE.parent)}.")
    if failed := [each.name for each in ran if each.failed]:
        print(f"These did not end well: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
