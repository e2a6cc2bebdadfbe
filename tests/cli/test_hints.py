"""A command that a hint tells to run is about the same cluster and namespace as the one that was run."""

import re
from pathlib import Path

import pytest

import hibernator.cli
from hibernator.cli.options import ClusterOptions

# About one object, so that it depends on the place; the places of files and of the demo are others.
_NAMED = re.compile(
    r"[`\"]hibernator (?:(?:plan|exception|remediation|scaler) [a-z]|why )[^`\"]*\{[^`\"]*[`\"]"
)
SOURCES = [
    source
    for source in sorted(Path(hibernator.cli.__file__).parent.glob("*.py"))
    if not source.name.startswith("demo")
]


def test_a_place_is_written_as_it_was_given() -> None:
    place = ClusterOptions(namespace="shop", context="a b", as_user="jane", as_group=["dev", "ops"])
    assert place.options == " -n shop --context 'a b' --as jane --as-group dev --as-group ops"
    assert place.cluster == place.options.removeprefix(" -n shop")
    assert ClusterOptions().options == ""


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_hints_about_an_object_keep_the_place(source: Path) -> None:
    named = [found[0] for found in _NAMED.finditer(source.read_text("utf-8"))]
    assert [hint for hint in named if "options}" not in hint and "cluster}" not in hint] == []
