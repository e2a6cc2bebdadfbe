"""A note of who did something holds for that and for nothing else."""

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.api.meta import ObjectMeta
from hibernator.decisions.author import DELETED_BY, deleter, note

NOON = Instant.from_utc(2026, 3, 2, 12)
BOB = "bob@company.com"


def noted(text: str) -> ObjectMeta:
    return ObjectMeta(annotations={DELETED_BY: text})


def moments() -> st.SearchStrategy[Instant]:
    return st.integers(0, 4 * 10**9).map(Instant.from_timestamp)


@given(at=moments(), seconds=st.floats(-120, 120), user=st.text(min_size=1))
def test_who_deletes_something_is_known_by_a_note_of_about_that_time(
    at: Instant, seconds: float, user: str
) -> None:
    assert deleter(noted(note(at, user)), at + TimeDelta(seconds=seconds)) == user


@given(at=moments(), seconds=st.floats(121, 10**9), sign=st.sampled_from([1, -1]))
def test_a_note_of_a_deletion_that_never_was_says_nothing_later(
    at: Instant, seconds: float, sign: int
) -> None:
    assert deleter(noted(note(at, BOB)), at + TimeDelta(seconds=sign * seconds)) == ""


@pytest.mark.parametrize("text", ["", " ", BOB, f"yesterday {BOB}", "2026-03-02T12:00:00Z", f"12 {BOB}"])
def test_what_is_no_note_names_nobody(text: str) -> None:
    assert deleter(noted(text), NOON) == ""


def test_without_a_note_nobody_is_named() -> None:
    assert deleter(ObjectMeta(), NOON) == ""


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"])
def test_a_note_from_the_ends_of_time_names_nobody(moment: str) -> None:
    """Where no policy forbids it anybody may write one, and it must hold up no deletion."""
    assert deleter(noted(f"{moment} {BOB}"), NOON) == ""
