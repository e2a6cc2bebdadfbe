"""Every benchmark in a row, and one page with all their tables.

python bench/run.py [NAME …]           writes bench/results/latest.md
"""

import subprocess
import sys
from pathlib import Path

from _table import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "latest.md"


def names() -> list[str]:
    """A benchmark is a script here whose name does not begin with an underscore."""
    found = [path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_")]
    return sorted(set(found) - {"run"})


def main(wanted: list[str]) -> int:
    known = names()
    if unknown := sorted(set(wanted) - set(known)):
        print(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    pages, failed = [f"# Benchmarks\n\n{machine()}\n"], []
    for name in wanted or known:
        print(f"== {name}", flush=True)
        done = subprocess.run(
            [sys.executable, HERE / f"{name}.py"], stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout, flush=True)
        pages.append(f"## {name}\n\n```text\n{done.stdout.strip()}\n```\n")
        failed += [name] if done.returncode else []
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text("\n".join(pages), encoding="utf-8")
    print(f"All of it is in {RESULTS.relative_to(HERE.parent)}.")
    if failed:
        print(f"These did not end well: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
