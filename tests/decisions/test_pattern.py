"""Patterns that strangers write: the same answers as Python's engine, and never more time than they may."""

import re

import pytest
from hypothesis import given, strategies as st

from hibernator.decisions.pattern import PatternError, found_in

_ATOMS = st.sampled_from(["a", "b", "-", ".", r"\d", r"\w", r"\s", r"\.", "[ab]", "[^a]", "[a-c1-3]", "[]a]"])
_REPEATS = st.sampled_from(["", "", "?", "*", "+", "{2}", "{1,3}", "{2,}", "{0,2}"])
_ONES = st.lists(st.tuples(_ATOMS, _REPEATS).map("".join), max_size=5).map("".join)
_BRANCH = st.tuples(st.sampled_from(["", "", "^"]), _ONES, st.sampled_from(["", "", "$"])).map("".join)
_PATTERNS = st.lists(_BRANCH, min_size=1, max_size=3).map("|".join)


@given(_PATTERNS, st.text("abc123-. _]\n", max_size=12))
def test_it_finds_what_the_engine_of_python_finds(pattern: str, text: str) -> None:
    theirs = pattern.replace("$", r"\Z")  # for Python, a line break may come after `$`
    assert found_in(pattern, text) == bool(re.search(theirs, text, re.ASCII))


def test_a_ticket_number_is_found_anywhere_in_a_reason() -> None:
    assert found_in("[A-Z]+-[0-9]+", "for the release, see OPS-1234.")
    assert not found_in("[A-Z]+-[0-9]+", "because I say so")
    assert found_in("^OPS-[0-9]+", "OPS-12: release")
    assert not found_in("^OPS-[0-9]+", "no OPS-12")


def test_what_keeps_other_engines_busy_for_ever_is_answered_at_once() -> None:
    assert not found_in("a*" * 60 + "b", "a" * 1024)


@pytest.mark.parametrize(
    ("pattern", "wrong"),
    [
        ("(a|b)", "groups are not supported"),
        ("*a", "nothing to repeat"),
        ("[a", "has no end"),
        ("[z-a]", "wrong way round"),
        (r"\b", "not supported"),
        ("a\\", "ends with a backslash"),
        ("a{x}", "must be written as"),
        ("a{3,1}", "allows nothing"),
        ("a{200}b{200}", "more than 256"),
        ("a^b", "stands only at the beginning"),
        ("a$b", "stands only at the end"),
        ("^*", "nothing to repeat"),
    ],
)
def test_what_cannot_be_read_is_named(pattern: str, wrong: str) -> None:
    with pytest.raises(PatternError, match=re.escape(wrong)):
        found_in(pattern, "a")
