"""The mark on a sleeper, and what is made of it when a user has edited it."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hibernator.decisions import sleepmark
from hibernator.decisions.patched import PATCHED
from hibernator.decisions.sleepmark import (
    ASLEEP_AT,
    LABEL,
    MARK,
    POLICY,
    TAG,
    TRACE,
    WAS,
    SleepMark,
    read_mark,
)

_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,9}[a-z0-9])?", fullmatch=True)
_MARKS = st.builds(
    SleepMark,
    plan=st.tuples(_NAMES, _NAMES).map("/".join),
    uid=st.uuids().map(str),
    cycle=st.integers(0, 10**6),
    target=_NAMES,
    item=_NAMES,
    was=st.dictionaries(st.sampled_from(["size", "min"]), st.integers(0, 10**6)),
)


def marked(was: Any) -> dict[str, str]:
    return {MARK: json.dumps({"plan": "shop/nights", "was": was})}


@given(_MARKS)
def test_a_mark_is_read_as_it_was_written(mark: SleepMark) -> None:
    written = sleepmark.to_metadata(mark)
    assert written["labels"] == {LABEL: mark.uid}
    assert written["annotations"][TRACE] is None
    assert read_mark(written["annotations"]) == mark
    assert sleepmark.from_tags(sleepmark.to_tags(mark), mark.item) == mark
    assert sleepmark.from_tags(sleepmark.to_tags(mark), mark.item + "x") is None


def test_waking_takes_the_mark_off_and_leaves_the_cycle() -> None:
    mark = SleepMark(plan="shop/nights", uid="u", cycle=7)
    assert sleepmark.from_metadata(mark.trace) == {
        "labels": {LABEL: None},
        "annotations": {MARK: None, TRACE: "u/7"},
    }


def test_a_mark_may_name_the_plan_only() -> None:
    for text in ("shop/nights", '{"plan": "shop/nights"}'):
        found = read_mark({MARK: text})
        assert found
        assert (found.plan, found.uid, found.cycle, found.was) == ("shop/nights", "", 0, None)


@pytest.mark.parametrize("annotations", [{}, {MARK: ""}, {MARK: "{"}, {MARK: "{}"}, {MARK: "{" * 50_000}])
def test_what_is_no_mark_is_none(annotations: dict[str, str]) -> None:
    assert read_mark(annotations) is None


@pytest.mark.parametrize(
    "was",
    [
        None,
        {},
        {"replicas": 0},
        {"replicas": 2**31 - 1, ASLEEP_AT: 1},
        {"pausedReplicas": "3", "limits": {"cpu": "1"}, "scaledObject": "web"},
        {PATCHED: [{"at": ["spec", "instances"], "was": 3, "is": 0}]},
    ],
)
def test_a_way_back_that_can_be_written_is_taken(was: Any) -> None:
    found = read_mark(marked(was))
    assert found
    assert found.was == was


@pytest.mark.parametrize(
    "was",
    [
        {"replicas": -1},
        {"replicas": 2**31},
        {"replicas": True},
        {"replicas": "3"},
        {ASLEEP_AT: -1},
        {"pausedReplicas": 3},
        {"limits": "1"},
        {"scaledObject": 1},
        {PATCHED: []},
        {PATCHED: "x"},
        {PATCHED: [{"at": ["metadata", "finalizers"], "was": []}]},
    ],
)
def test_a_way_back_that_no_write_can_take_is_none(was: Any) -> None:
    assert read_mark(marked(was)) is None


@pytest.mark.parametrize(("was", "size"), [(None, 0), ({}, 0), ({"replicas": 3}, 0), ({ASLEEP_AT: 2}, 2)])
def test_mostly_nothing_of_a_sleeper_runs_on(was: dict[str, Any] | None, size: int) -> None:
    assert sleepmark.asleep_at(was) == size


@pytest.mark.parametrize("edit", [{MARK: "shop/nights"}, {WAS: "of"}, {TAG: None}, {MARK: "a/b/c/x"}])
def test_tags_that_a_user_has_edited_are_no_mark(edit: dict[str, str | None]) -> None:
    tags = sleepmark.to_tags(SleepMark(plan="shop/nights", uid="u", cycle=1, target="t", item="i"))
    edited = {key: value for key, value in (tags | edit).items() if value is not None}
    assert sleepmark.from_tags(edited, "i") is None


def test_a_database_carries_its_mark_in_labels() -> None:
    mark = SleepMark(
        plan="shop/ni.ghts", uid="u", cycle=3, target="db", item="shop/db", was={POLICY: "ALWAYS"}
    )
    labels = sleepmark.to_labels(mark)
    assert all(value == value.lower() and "." not in value for value in labels.values())
    assert sleepmark.from_labels(labels, "shop/db") == mark
    assert sleepmark.from_labels(labels, "shop/other") is None
    assert sleepmark.from_labels({}, "shop/db") is None
