"""A merge patch must turn the old document into the new one, and say nothing when there is nothing to say."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, strategies as st

from hibernator.api.core import Secret
from hibernator.api.meta import ObjectMeta
from hibernator.kube.patch import encode, merge_patch

_SCALARS = st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text("ab", max_size=2)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(st.sampled_from("abcd"), _VALUES, max_size=4)


def apply(target: Any, patch: Any) -> Any:
    """RFC 7386, section 2, word for word."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


@given(_DOCUMENTS, _DOCUMENTS)
def test_the_patch_makes_the_new_document_from_the_old(old: dict[str, Any], new: dict[str, Any]) -> None:
    # repr, because 1 == True == 1.0 in Python and not in JSON
    made = apply(old, merge_patch(old, new))
    assert made == new
    assert str(_sorted(made)) == str(_sorted(new)) or _numbers_only_differ(made, new)


@given(_DOCUMENTS)
def test_equal_documents_need_no_patch(document: dict[str, Any]) -> None:
    assert merge_patch(document, dict(document)) == {}


def test_a_key_that_is_gone_is_removed_and_its_neighbours_are_not_named() -> None:
    old = {"spec": {"replicas": 3, "paused": True}, "kind": "X"}
    assert merge_patch(old, {"spec": {"replicas": 3}, "kind": "X"}) == {"spec": {"paused": None}}


def test_a_none_in_a_document_means_that_the_key_is_absent() -> None:
    assert merge_patch({"a": 1}, {"a": None, "b": None, "c": {"d": None}}) == {"a": None, "c": {}}


def test_a_list_is_replaced_whole() -> None:
    assert merge_patch({"a": [1, 2]}, {"a": [1, 2, 3]}) == {"a": [1, 2, 3]}


def test_true_is_not_one_however_deep() -> None:
    assert merge_patch({"a": [{"b": 1}]}, {"a": [{"b": True}]}) == {"a": [{"b": True}]}


def test_a_model_is_encoded_as_it_goes_over_the_wire() -> None:
    secret = Secret(
        metadata=ObjectMeta(name="x", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC)),
        data={"k": b"\x00"},
    )
    assert encode(secret) == {
        "metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "data": {"k": "AA=="},
    }


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _numbers_only_differ(made: Any, new: Any) -> bool:
    """1 and 1.0 are the same number in JSON; True and 1 are not the same thing."""
    if isinstance(made, dict):
        return all(_numbers_only_differ(made[key], new[key]) for key in made)
    if isinstance(made, list):
        return all(map(_numbers_only_differ, made, new))
    return isinstance(made, bool) == isinstance(new, bool)
