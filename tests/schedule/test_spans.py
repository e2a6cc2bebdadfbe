"""Sets of instants obey the algebra of sets, checked against Python's own sets of small numbers."""

from itertools import pairwise

from hypothesis import given, strategies as st

from hibernator.schedule.spans import Spans, clip, intersect, subtract, union

spans = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6).map(union)


def members(these: Spans) -> set[int]:
    return {instant for start, end in these for instant in range(start, end)}


def is_proper(these: Spans) -> bool:
    """In order, not empty, and with a gap between neighbours."""
    edges = [edge for span in these for edge in span]
    return all(left < right for left, right in pairwise(edges))


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6))
def test_union_takes_anything_and_gives_a_proper_set(pairs: list[tuple[int, int]]) -> None:
    assert is_proper(union(pairs))
    assert members(union(pairs)) == members(tuple(pairs))


@given(spans, spans)
def test_union_intersection_and_subtraction_are_those_of_sets(a: Spans, b: Spans) -> None:
    for ours, theirs in (
        (union(a, b), members(a) | members(b)),
        (intersect(a, b), members(a) & members(b)),
        (subtract(a, b), members(a) - members(b)),
    ):
        assert is_proper(ours)
        assert members(ours) == theirs


@given(spans, st.integers(0, 40), st.integers(0, 40))
def test_clipping_is_intersection_with_one_span(a: Spans, lo: int, hi: int) -> None:
    assert clip(a, lo, hi) == intersect(a, union([(lo, hi)]))


@given(spans, spans, spans)
def test_the_laws_of_sets_hold(a: Spans, b: Spans, c: Spans) -> None:
    assert union(a, b) == union(b, a)
    assert union(a, union(b, c)) == union(union(a, b), c)
    assert intersect(a, union(b, c)) == union(intersect(a, b), intersect(a, c))
    assert subtract(a, union(b, c)) == subtract(subtract(a, b), c)
    assert subtract(a, subtract(a, b)) == intersect(a, b)
    assert union(subtract(a, b), intersect(a, b)) == a
