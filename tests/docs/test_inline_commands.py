"""Commands that are named in a sentence exist, with the options that are named."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from hibernator.cli.main import app
from support.pages import FENCE, PAGES, ROOT

_NAMED = re.compile(r"`(?:kubectl )?hibernator ([^`]+)`")
_ELSEWHERE = re.compile(r"[;>] | \| ")  # here another command begins, or a file
ROOT_COMMAND: Any = typer.main.get_command(app)
ROOT_COMMAND.load()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_calls_a_command_is_one(page: Path) -> None:
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    unknown = [
        (named[0], word)
        for named in _NAMED.finditer(prose)
        for word in unknown_words(_ELSEWHERE.split(named[1])[0].split())
    ]
    assert unknown == []


def unknown_words(words: list[str]) -> list[str]:
    """Of a command line: those that are neither a command nor one of its options."""
    command = ROOT_COMMAND
    while words and (below := getattr(command, "commands", {})) and not words[0].startswith("-"):
        names, words = words[0].split("|"), words[1:]
        if names == ["…"]:
            return []
        if missing := [name for name in names if name not in below]:
            return missing
        command = below[names[0]]
    options = {"--help", "-", *(name for each in command.params for name in each.opts + each.secondary_opts)}
    return [word for word in words if word.startswith("-") and word.partition("=")[0] not in options]


def test_a_word_that_is_none_is_found() -> None:
    assert unknown_words(["plan", "wakeup", "nights"]) == ["wakeup"]
    assert unknown_words(["plan", "wake", "nights", "--during", "1h"]) == ["--during"]
    assert unknown_words(["plan", "list|wake", "nights"]) == []
