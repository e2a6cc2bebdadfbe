"""One broken object stands apart from its neighbours."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.kube.wire import TOO_DEEP, Added, Bookmark, BrokenEvent, Deleted, Failure, shallow, wire

WIRE = wire(CONFIG_MAPS)


def raw(name: str, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "7"}
    } | more


def listed(*items: Any) -> bytes:
    return json.dumps({"metadata": {"resourceVersion": "9", "continue": "more"}, "items": items}).encode()


def line(type_: str, obj: Any) -> bytes:
    return json.dumps({"type": type_, "object": obj}).encode()


def test_a_page_holds_typed_objects_and_where_the_list_goes_on() -> None:
    page = WIRE.page(listed(raw("a", data={"k": "v"}), raw("b")))
    assert [item.metadata.name for item in page.items] == ["a", "b"]
    assert page.items[0].data == {"k": "v"}
    assert (page.resource_version, page.next, page.broken) == ("9", "more", ())


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_an_empty_list_may_be_written_as_null(items: bytes) -> None:
    assert WIRE.page(b'{"metadata":{"resourceVersion":"9"},"items":%s}' % items).items == []


def test_a_broken_object_does_not_break_its_page() -> None:
    page = WIRE.page(listed(raw("a"), raw("b", data=3), raw("c")))
    assert [item.metadata.name for item in page.items] == ["a", "c"]
    (broken,) = page.broken
    assert (broken.namespace, broken.name, broken.uid, broken.resource_version) == ("team", "b", "uid-b", "7")
    assert broken.why == "Expected `object`, got `int` - at `$.data`"


def test_an_object_without_even_a_readable_name_does_not_break_its_page_either() -> None:
    page = WIRE.page(listed(raw("a"), {"metadata": {"name": 5}}))
    assert [item.metadata.name for item in page.items] == ["a"]
    assert page.broken[0].name == ""


def test_text_that_is_not_unicode_breaks_one_object_only() -> None:
    body = listed(raw("a"), raw("b", data={"k": "BAD"})).replace(b"BAD", b"\xff")
    page = WIRE.page(body)
    assert [item.metadata.name for item in page.items] == ["a"]
    assert page.broken[0].name == "b"


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"metadata":', b"[]"])
def test_what_is_no_list_at_all_is_an_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        WIRE.page(body)


def test_the_type_of_an_event_decides_how_it_is_read() -> None:
    added, deleted = WIRE.event(line("ADDED", raw("a"))), WIRE.event(line("DELETED", raw("a")))
    assert isinstance(added, Added)
    assert isinstance(added.object, ConfigMap)
    assert isinstance(deleted, Deleted)
    bookmark = WIRE.event(line("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "12"}}))
    assert isinstance(bookmark, Bookmark)
    assert bookmark.resource_version == "12"
    failure = WIRE.event(line("ERROR", {"code": 410, "reason": "Expired", "message": "too old"}))
    assert isinstance(failure, Failure)
    assert failure.object.code == 410


@pytest.mark.parametrize(("type_", "deleted"), [("ADDED", False), ("MODIFIED", False), ("DELETED", True)])
def test_a_broken_object_in_a_watch_is_told_with_its_name(type_: str, deleted: bool) -> None:  # noqa: FBT001 — a case
    event = WIRE.event(line(type_, raw("b", data=3)))
    assert isinstance(event, BrokenEvent)
    assert (event.object.name, event.deleted) == ("b", deleted)


def test_fields_that_the_type_does_not_name_are_not_kept() -> None:
    page = WIRE.page(listed(raw("a", binaryData={"k": "AAAA"})))
    assert "binaryData" not in repr(page.items[0])


def test_an_object_says_what_it_is_wherever_it_comes_from() -> None:
    item = WIRE.page(listed(raw("a"))).items[0]
    event = WIRE.event(line("ADDED", raw("a")))
    assert isinstance(event, Added)
    assert item == event.object == WIRE.object(json.dumps(raw("a")).encode())
    assert (item.api_version, item.kind) == ("v1", "ConfigMap")


def deep(name: str, levels: int) -> bytes:
    """An object as deep as API servers store them, which no encoder of Python would write."""
    text = json.dumps(raw(name, spec="HERE", data={"k": 'a "bracket" \\ [{'}))
    return text.replace('"HERE"', '{"a":[' * (levels // 2) + "]}" * (levels // 2)).encode()


@pytest.mark.parametrize("levels", [1_200, 9_000])
def test_an_object_that_is_nested_too_deeply_hides_no_other(levels: int) -> None:
    fine, bad = json.dumps(raw("fine")).encode(), deep("bad", levels)
    page = WIRE.page(b'{"metadata":{"resourceVersion":"9"},"items":[%s,%s,%s]}' % (bad, fine, bad))
    assert [item.metadata.name for item in page.items] == ["fine"]
    assert [(one.name, one.resource_version) for one in page.broken] == [("bad", "7")] * 2
    event = WIRE.event(b'{"type":"DELETED","object":%s}' % bad)
    assert isinstance(event, BrokenEvent)
    assert (event.object.name, event.deleted) == ("bad", True)
    found = WIRE.object(bad)
    assert not isinstance(found, ConfigMap)
    assert (found.name, "recursion" in found.why) == ("bad", True)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(codec="utf-8") | st.sampled_from('[]{}"\\')),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans(), st.integers(0, 400))
def test_only_what_is_too_deep_is_cut_away(value: Any, ascii_only: bool, levels: int) -> None:  # noqa: FBT001
    text = json.dumps({"before": value, "inner": "HERE", "after": value}, ensure_ascii=ascii_only)
    inside = json.dumps(value, ensure_ascii=ascii_only)
    body = text.replace('"HERE"', "[" * levels + inside + "]" * levels)
    cut = shallow(body.encode())
    found = json.loads(cut)
    assert (found["before"], found["after"]) == (value, value)
    if TOO_DEEP not in cut:
        assert cut == body.encode()
    assert (TOO_DEEP in cut) == (levels + _depth(value) > 199)


def _depth(value: Any) -> int:
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 1 + max(map(_depth, value.values()), default=0) if isinstance(value, dict) else 0
