"""What people read is in plain words: those of Kubernetes and of the trade, and no riddles.

Users read strings of the code (help, errors, conditions, events, logs, metrics), templates and pages. People
who change the code read its docstrings and comments as well.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SOURCES: Final = sorted((ROOT / "src/hibernator").rglob("*.py"))
PAGES: Final = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src/hibernator").rglob("*.html"),
        *(ROOT / "src/hibernator").rglob("*.txt"),
        *(ROOT / "charts").rglob("*.y*ml"),
        *(ROOT / "charts").rglob("*.txt"),
    ]
)
RIDDLES: Final = re.compile(
    r"\b(told|whoever|somebody|nobody|stumbl\w+|consents?|bends?|bending|bent|foresaw|foreseen|in vain|anew"
    r"|the word of|hears? of|heard of|tells? of|speaks? (of|about)|at the end of time|behind the back"
    r"|holds (now|only)|lets more)\b",
    re.IGNORECASE,
)
LEVELS: Final = {"debug", "info", "warning", "error", "exception", "critical"}
EVENT: Final = re.compile(r"[a-z0-9][^A-Z%{}]*")


def test_no_string_docstring_or_comment_of_the_code_is_a_riddle() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {riddle}"
        for path in SOURCES
        for line, text in _words(path)
        for riddle in _riddles(text)
    ]
    assert found == []


def test_no_page_and_no_template_has_a_riddle() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {riddle}"
        for path in PAGES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for riddle in _riddles(re.sub(r"`[^`]*`", "", line))  # a name of a test or a field is a name
    ]
    assert found == []


def test_a_log_event_is_constant_and_lower_case_with_its_values_as_fields() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.args[0])}"
        for path in SOURCES
        for tree in [_tree(path)]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _is_log(node.func) and node.args
        if not _is_event(_value(tree, node.args[0]))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "Nobody was told.",
        "an error that nobody\nforesaw",
        "The word of bob does not count.",
        "It bends nothing.",
    ],
)
def test_what_was_a_riddle_once_is_found(text: str) -> None:
    assert _riddles(text)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _riddles(text: str) -> list[str]:
    return [found[0] for found in RIDDLES.finditer(" ".join(text.split()))]


def _words(path: Path) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in {tokenize.STRING, tokenize.COMMENT}:
            yield token.start[0], token.string


def _is_log(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in LEVELS:
        return False
    return ast.unparse(function.value).rpartition(".")[2].lstrip("_") in {"log", "logger"}


def _value(tree: ast.Module, argument: ast.expr) -> ast.expr | None:
    """What the argument stands for, if it is a constant of the module."""
    if not isinstance(argument, ast.Name):
        return argument
    named = (one for one in tree.body if isinstance(one, ast.AnnAssign))
    return next((one.value for one in named if ast.unparse(one.target) == argument.id), None)


def _is_event(argument: ast.expr | None) -> bool:
    return (
        isinstance(argument, ast.Constant)
        and isinstance(argument.value, str)
        and EVENT.fullmatch(argument.value) is not None
    )
