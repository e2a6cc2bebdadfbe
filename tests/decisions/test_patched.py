"""The way back of what a patch put to sleep."""

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import convert, to_builtins

from hibernator.api.patching import Operation
from hibernator.decisions import patched
from hibernator.decisions.jsonpatch import PatchError, applied
from hibernator.decisions.patched import PATCHED, Managed, changes, fields_of

_WORDS = st.sampled_from(["a", "b", "name", "c/d"])
_LEAVES = st.one_of(st.integers(0, 3), st.booleans(), st.sampled_from(["x", "y"]))
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.dictionaries(_WORDS, inner, max_size=3), st.lists(inner, max_size=3)),
    max_leaves=8,
)
_SPECS = st.dictionaries(_WORDS, _VALUES, min_size=1, max_size=3)
_OPERATIONS = st.builds(
    Operation,
    op=st.sampled_from(["add", "remove", "replace"]),
    path=st.lists(st.one_of(_WORDS, st.sampled_from(["0", "1", "-"])), min_size=1, max_size=3).map(
        lambda path: ("spec", *path)
    ),
    value=_VALUES,
)


@settings(max_examples=100)
@given(_SPECS, st.lists(_OPERATIONS, min_size=1, max_size=3))
def test_what_slept_wakes_as_it_was(spec: dict[str, Any], steps: list[Operation]) -> None:
    document = {"metadata": {"labels": {}, "annotations": {}}, "spec": spec}
    try:
        after = applied(document, steps)
    except PatchError:
        return
    fields = changes(document, after)
    # Through the annotation and back.
    kept = fields_of({PATCHED: to_builtins(fields)})
    assert patched.to_sleep(document, kept) == after
    assert patched.asleep(after, kept, ()) == bool(fields)
    assert not patched.asleep(document, kept, ())
    awake, theirs = patched.to_wake(after, kept, ())
    assert (awake, theirs) == (document, ())


def _fields(before: dict[str, Any], after: dict[str, Any]) -> tuple[patched.Field, ...]:
    return changes({"spec": before}, {"spec": after})


def test_what_others_have_changed_stays_and_is_named_and_the_rest_is_brought_back() -> None:
    fields = _fields({"a": 1, "b": 2}, {"a": 0, "b": 0})
    awake, theirs = patched.to_wake({"spec": {"a": 0, "b": 5}}, fields, ())
    assert (awake, theirs) == ({"spec": {"a": 1, "b": 5}}, ("/spec/b",))


def test_what_others_have_removed_with_all_around_it_keeps_nothing_else_asleep() -> None:
    fields = _fields({"a": 1, "backup": {"at": "noon"}}, {"a": 0, "backup": {}})
    awake, theirs = patched.to_wake({"spec": {"a": 0}}, fields, ())
    assert (awake, theirs) == ({"spec": {"a": 1}}, ("/spec/backup/at",))


def test_entries_of_a_list_are_found_by_name_wherever_they_are() -> None:
    before = {"containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:1"}]}
    after = {"containers": [{"name": "web", "image": "pause"}, {"name": "log", "image": "log:1"}]}
    fields = _fields(before, after)
    now = {
        "containers": [{"name": "new"}, {"name": "log", "image": "log:2"}, {"name": "web", "image": "pause"}]
    }
    awake, theirs = patched.to_wake({"spec": now}, fields, ())
    assert theirs == ()
    assert awake["spec"]["containers"] == [
        {"name": "new"},
        {"name": "log", "image": "log:2"},
        {"name": "web", "image": "web:1"},
    ]


def test_defaults_that_the_api_server_filled_in_are_no_change_of_others() -> None:
    fields = _fields({}, {"probe": {"port": 80}, "list": [{"name": "x"}]})
    now = {"probe": {"port": 80, "timeout": 1}, "list": [{"name": "x", "protocol": "TCP"}]}
    awake, theirs = patched.to_wake({"spec": now}, fields, ())
    assert (awake, theirs) == ({"spec": {}}, ())


def _managed(manager: str, *path: str) -> Managed:
    node: dict[str, Any] = {}
    for step in reversed(path):
        node = {step: node}
    return convert({"manager": manager, "fieldsV1": node}, Managed)


@pytest.mark.parametrize(
    ("managed", "ours"),
    [
        ([_managed("hibernator", "f:spec", "f:a")], True),
        ([_managed("hibernator", "f:spec")], True),  # all of it, as one
        ([_managed("hibernator", "f:spec", "f:a"), _managed("kubectl", "f:spec", "f:b")], True),
        ([_managed("kubectl", "f:spec", "f:a")], False),
        ([_managed("hibernator", "f:spec", "f:a"), _managed("kubectl", "f:spec", "f:a")], False),
        ([_managed("hibernator", "f:spec"), _managed("kubectl", "f:spec", "f:b")], True),
        ([_managed("hibernator", "f:spec", "f:a", "f:x"), _managed("kubectl", "f:spec")], True),
        ([_managed("kubectl", "f:spec", "f:b")], False),
        ([], False),
    ],
)
def test_a_value_that_looks_different_is_ours_while_the_api_server_says_so(
    managed: list[Managed], *, ours: bool
) -> None:
    """As after `1000m`, which it writes as `1`, or after a removal, which it fills with a default."""
    fields = _fields({"a": "2"}, {"a": "1000m"})
    awake, theirs = patched.to_wake({"spec": {"a": "1"}}, fields, managed)
    assert awake["spec"]["a"] == ("2" if ours else "1")
    assert bool(theirs) is not ours
    assert patched.asleep({"spec": {"a": "1"}}, fields, managed) is ours


def test_the_owner_of_an_entry_of_a_list_is_found_by_its_key() -> None:
    fields = _fields({"c": [{"name": "web", "cpu": "2"}]}, {"c": [{"name": "web", "cpu": "1000m"}]})
    now = {"spec": {"c": [{"name": "web", "cpu": "1"}]}}
    mine = _managed("hibernator", "f:spec", "f:c", 'k:{"name":"web"}', "f:cpu")
    assert patched.asleep(now, fields, [mine, _managed("kubectl", "f:spec", "f:c", 'k:{"name":"log"}')])
    assert not patched.asleep(
        now, fields, [_managed("kubectl", "f:spec", "f:c", 'k:{"name":"web"}', "f:cpu")]
    )


@pytest.mark.parametrize(
    "at",
    [
        ["metadata", "finalizers"],
        ["metadata", "ownerReferences"],
        ["status", "phase"],
        ["spec"],
        ["metadata", "annotations", "hibernator.ardikabs.com/asleep-by"],
        ["spec", {"index": "0"}],
    ],
)
def test_a_way_back_that_someone_has_edited_cannot_lead_elsewhere(at: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"not for a patch to change|missing required field"):
        fields_of({PATCHED: [{"at": at, "was": 1}]})


@pytest.mark.parametrize(
    ("wrote", "now"),
    [
        ({"port": 80}, "port"),
        ("port", {"port": 80}),
        ([1], 1),
        (1, [1]),
        (["a"], "a"),
        ({"port": 80}, {"port": 81}),
        ([1], [2]),
    ],
)
def test_another_value_is_a_change_of_others(wrote: Any, now: Any) -> None:
    awake, theirs = patched.to_wake({"spec": {"a": now}}, _fields({"a": "was"}, {"a": wrote}), ())
    assert (awake, theirs) == ({"spec": {"a": now}}, ("/spec/a",))


def test_only_the_entry_of_that_name_says_who_wrote_it() -> None:
    """Beside it stand the fields of the list itself, and other entries."""
    fields = _fields({"c": [{"name": "web", "cpu": "2"}]}, {"c": [{"name": "web", "cpu": "1000m"}]})
    now = {"spec": {"c": [{"name": "log"}, {"name": "web", "cpu": "1"}]}}
    entries: dict[str, Any] = {
        ".": {},
        "k:{": {"f:image": {}},
        'k:{"name":"log"}': {"f:image": {}},
        'k:{"name":"web"}': {"f:cpu": {}},
    }
    managed = {"manager": "hibernator", "fieldsV1": {"f:spec": {"f:c": entries}}}
    assert patched.asleep(now, fields, [convert(managed, Managed)])


def test_a_field_without_a_place_is_an_error_unless_it_is_to_be_gone() -> None:
    """An entry of a list cannot be set as a whole; where it is gone already, nothing is to be done."""
    entry = [{"at": ["spec", "c", {"name": "web"}], "was": {"name": "web"}}]
    with pytest.raises(PatchError, match="/spec/c/web has no place in it any more"):
        patched.to_sleep({"spec": {"c": [{"name": "web"}]}}, fields_of({PATCHED: entry}))
    assert patched.to_sleep({"spec": {"c": []}}, fields_of({PATCHED: entry})) == {"spec": {"c": []}}
    with pytest.raises(PatchError, match="/spec/c/x has no place"):
        patched.to_sleep({"spec": {"c": [1]}}, fields_of({PATCHED: [{"at": ["spec", "c", "x"], "is": 1}]}))
    back = [{"at": ["spec", "c", {"name": "web"}], "is": {"name": "web"}}]
    with pytest.raises(PatchError, match="/spec/c/web has no place"):
        patched.to_sleep({"spec": {"c": []}}, fields_of({PATCHED: back}))


@pytest.mark.parametrize(("was", "is_one"), [(None, False), ({"replicas": 3}, False), ({PATCHED: []}, True)])
def test_restore_data_of_a_patch_is_known_by_its_fields(was: dict[str, Any] | None, *, is_one: bool) -> None:
    assert patched.is_patched(was) is is_one
