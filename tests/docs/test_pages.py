"""Every page of the documentation does what it says.

The fenced blocks of a page are gone through from top to bottom, in a folder that has the files of
`docs/examples` in it, both beside the reader and under `docs/examples`:

- In a block marked `console`, each line that begins with `$ ` is run by bash, and what is printed must be the
  lines after it. A line `…` stands for any lines. Where no lines follow, anything may be printed. A command
  must succeed; to show one that does not, write `; echo "exit code $?"` after it.
- A block marked `yaml` or `rego` and a name is a file of that name. If it is also in `docs/examples`, it is
  the same.

Other blocks are run by other tests: `test_every_block.py` says by which. Links must lead somewhere.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hibernator.cli.exits import Exit
from support.pages import FENCE, PAGES, ROOT, blocks

EXAMPLES = ROOT / "docs" / "examples"

_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<target>[^)#\s]+)[^)]*\)")
_PROMPT, _ANYTHING = "$ ", "…"


@dataclass(frozen=True)
class Command:
    line: str
    expected: tuple[str, ...]


def commands(block: str) -> Iterator[Command]:
    head, *rest = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not head.strip(), f"a console block begins with a line after {_PROMPT!r}, not with {head!r}"
    for part in rest:
        line, *expected = part.rstrip("\n").split("\n")
        while line.endswith("\\"):
            line = f"{line[:-1]}{expected.pop(0).removeprefix('> ')}"
        yield Command(line, tuple(expected))


def run(line: str, folder: Path) -> list[str]:
    """What a reader with a terminal of 80 columns sees, in the order in which it appears."""
    settings = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "TZ": "UTC",
    }
    ran = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"{line} ended with {ran.returncode}:\n{ran.stdout}"
    return [each.rstrip() for each in ran.stdout.rstrip("\n").split("\n")]


def matches(expected: tuple[str, ...], printed: list[str]) -> bool:
    pattern = "".join(
        r"(?:[^\n]*\n)*" if line == _ANYTHING else f"{re.escape(line.rstrip())}\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    for block in blocks(page):
        if block.language in {"yaml", "rego"} and block.name:
            example = EXAMPLES / block.name
            assert not example.exists() or example.read_text(encoding="utf-8") == block.text, block.name
            (tmp_path / block.name).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in commands(block.text):
                printed = run(command.line, tmp_path)
                if command.expected:
                    assert matches(command.expected, printed), "\n".join([command.line, *printed])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    prose = _CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    broken = [link["target"] for link in _LINK.finditer(prose) if not (page.parent / link["target"]).exists()]
    assert broken == []


def test_a_line_with_three_dots_stands_for_any_lines() -> None:
    assert matches(("a", "…", "d"), ["a", "b", "c", "d"])
    assert matches(("a", "…"), ["a"])
    assert not matches(("a", "…", "d"), ["a", "b"])
    assert not matches(("a",), ["a", "b"])


def test_every_exit_code_has_its_row() -> None:
    text = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([A-Z]+) \| [A-Z].+\. \|$", text, flags=re.MULTILINE)
    assert rows == [(str(code.value), code.name) for code in Exit]
