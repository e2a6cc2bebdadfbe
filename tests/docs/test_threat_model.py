"""Behind each promise of the threat model stands a test that exists."""

import ast
import re
from functools import cache

import pytest

from support.pages import ROOT

PAGE = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)))
ACTORS = (
    "namespace editor",
    "plan author",
    "requester",
    "approver",
    "pod with nothing but the network",
    "A person with a browser",
    "GitOps",
    "administrator of the audit database",
    "node of the operator",
    "cluster administrator",
)


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    assert name in functions_in(file)


def test_every_promise_that_someone_cannot_do_something_is_shown() -> None:
    promises = [line for line in PAGE.splitlines() if line.startswith("| cannot |")]
    assert promises
    assert [line for line in promises if "::test_" not in line] == []


@pytest.mark.parametrize("actor", ACTORS)
def test_every_actor_has_a_part(actor: str) -> None:
    assert [line for line in PAGE.splitlines() if line.startswith("## ") and actor in line]
