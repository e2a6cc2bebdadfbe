"""JSON patches as RFC 6902 has them, in the examples of its appendix and beyond."""

from typing import Any

import pytest

from hibernator.api.patching import Operation, operations, steps
from hibernator.decisions.jsonpatch import PatchError, applied


def op(kind: str, path: str, value: Any = None, source: str = "") -> Operation:
    return Operation(op=kind, path=steps(path), value=value, source=steps(source) if source else ())


@pytest.mark.parametrize(
    ("before", "one", "after"),
    [
        ({"foo": "bar"}, op("add", "/baz", "qux"), {"baz": "qux", "foo": "bar"}),
        ({"foo": ["bar", "baz"]}, op("add", "/foo/1", "qux"), {"foo": ["bar", "qux", "baz"]}),
        ({"foo": ["bar"]}, op("add", "/foo/-", ["abc"]), {"foo": ["bar", ["abc"]]}),
        ({"baz": "qux", "foo": "bar"}, op("remove", "/baz"), {"foo": "bar"}),
        ({"foo": ["bar", "qux", "baz"]}, op("remove", "/foo/1"), {"foo": ["bar", "baz"]}),
        ({"baz": "qux"}, op("replace", "/baz", "boo"), {"baz": "boo"}),
        ({"foo": [1, 2]}, op("replace", "/foo/0", 3), {"foo": [3, 2]}),
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            op("move", "/qux/thud", source="/foo/waldo"),
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),
        ({"foo": [1, 2, 3]}, op("move", "/foo/2", source="/foo/0"), {"foo": [2, 3, 1]}),
        ({"foo": {"a": 1}}, op("copy", "/bar", source="/foo"), {"foo": {"a": 1}, "bar": {"a": 1}}),
        ({"baz": "qux"}, op("test", "/baz", "qux"), {"baz": "qux"}),
        ({"/": 9, "~1": 10}, op("test", "/~01", 10), {"/": 9, "~1": 10}),
        ({"a/b": 1}, op("replace", "/a~1b", 2), {"a/b": 2}),
        ({"foo": None}, op("add", "/foo", 1), {"foo": 1}),
    ],
)
def test_an_operation_does_what_the_rfc_says(before: Any, one: Operation, after: Any) -> None:
    assert applied(before, [one]) == after


@pytest.mark.parametrize(
    ("before", "one", "why"),
    [
        ({"foo": 1}, op("replace", "/bar", 2), "replace /bar found no /bar$"),
        ({"foo": 1}, op("remove", "/bar/x"), "remove /bar/x found no /bar$"),
        ({"foo": 1}, op("add", "/bar/x", 2), "add /bar/x found no /bar"),
        ({"foo": 1}, op("add", "/foo/x", 2), "found nothing at /foo that could have it"),
        ({"foo": [1]}, op("add", "/foo/2", 2), "found nothing at /foo"),
        ({"foo": [1]}, op("replace", "/foo/01", 2), "found no /foo/01"),
        ({"foo": 3}, op("test", "/foo", 0), "test /foo found 3, not 0"),
        ({"foo": 1}, op("test", "/foo", True), "test /foo found 1, not true"),
        ({"foo": {"a": 1}}, op("move", "/foo/a/b", source="/foo"), "would move /foo into itself"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_changed(before: Any, one: Operation, why: str) -> None:
    kept = repr(before)
    with pytest.raises(PatchError, match=why):
        applied(before, [op("add", "/first", 1), one])
    assert repr(before) == kept


def test_a_patch_is_written_as_a_list_or_as_text() -> None:
    text = "- op: replace\n  path: /spec/replicas\n  value: 0\n"
    listed = [{"op": "replace", "path": "/spec/replicas", "value": 0}]
    assert operations(text) == operations(listed) == (op("replace", "/spec/replicas", 0),)


def test_a_patch_that_copies_a_document_into_itself_does_not_fill_the_memory() -> None:
    """Fifty operations could double it fifty times."""
    twice = [Operation("copy", ("spec", f"x{number}"), source=("spec",)) for number in range(50)]
    with pytest.raises(PatchError, match=r"copy /spec/x\d+ makes the object too large"):
        applied({"spec": {"a": list(range(10))}}, twice)
    with pytest.raises(PatchError, match="too large"):
        applied({"spec": {"a": "long" * 1000}}, twice)
    deeper = [Operation("copy", ("spec", *"a" * (2**power + 1)), source=("spec", "a")) for power in range(8)]
    with pytest.raises(PatchError, match="nests the object deeper than 100 levels"):
        applied({"spec": {"a": {}}}, deeper)


def _copied(value: Any) -> bool:
    """Whether a copy of it fits into the object."""
    try:
        after = applied({"a": value}, [op("copy", "/b", source="/a")])
    except PatchError:
        return False
    return bool(after["b"] == value)


def test_copies_may_add_fifty_thousand_values_and_sixteen_characters_count_as_one() -> None:
    assert [_copied([0] * more) for more in (49_999, 50_000)] == [True, False]
    assert [_copied("x" * 16 * more) for more in (49_999, 50_000)] == [True, False]


def test_a_copy_may_be_a_hundred_levels_deep() -> None:
    def nested(levels: int) -> list[Any]:
        return [nested(levels - 1)] if levels > 1 else []

    assert [_copied(nested(levels)) for levels in (99, 100)] == [True, False]
