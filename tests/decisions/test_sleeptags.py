"""Marks as tags and labels: nothing is lost on the way, and what the clouds allow is kept to."""

import re

import pytest
from hypothesis import given, strategies as st

from hibernator.decisions.sleepmark import MARK, WAS, SleepMark, from_labels, from_tags, to_labels, to_tags

_TAG = re.compile(r"[A-Za-z0-9 +\-=._:/@]{1,256}")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_ALNUM = "abcdefghijklmnopqrstuvwxyz0123456789"

short = st.text(f"{_ALNUM}-", min_size=1, max_size=61).map(lambda text: f"a{text}z")
dotted = st.text(f"{_ALNUM}-.", min_size=1, max_size=61).map(lambda text: f"a{text}z")
sizes = st.integers(0, 2**31)
marks = st.builds(
    SleepMark,
    plan=st.tuples(short, dotted).map("/".join),
    uid=st.uuids().map(str),
    cycle=st.integers(0, 2**53),
    target=short,
    item=st.text(min_size=1, max_size=600),
    was=st.one_of(st.just({}), st.fixed_dictionaries({"min": sizes, "max": sizes, "desired": sizes})),
    cluster=st.one_of(st.just(""), st.uuids().map(str)),
)
databases = marks.flatmap(
    lambda mark: st.sampled_from(["ALWAYS", "ON_DEMAND"]).map(
        lambda policy: SleepMark(
            plan=mark.plan,
            uid=mark.uid,
            cycle=mark.cycle,
            target=mark.target,
            item=mark.item,
            was={"activationPolicy": policy},
            cluster=mark.cluster,
        )
    )
)


@given(marks)
def test_tags_bring_back_the_mark_and_are_such_as_aws_takes(mark: SleepMark) -> None:
    tags = to_tags(mark)
    assert from_tags({"team": "web", **tags}, mark.item) == mark
    assert all(_TAG.fullmatch(value) for value in tags.values())
    assert all(_TAG.fullmatch(key) and len(key) <= 128 and not key.startswith("aws:") for key in tags)


@given(databases)
def test_labels_bring_back_the_mark_and_are_such_as_google_takes(mark: SleepMark) -> None:
    labels = to_labels(mark)
    assert from_labels({"team": "web", **labels}, mark.item) == mark
    assert all(_LABEL.fullmatch(value) for value in labels.values())
    assert all(_LABEL_KEY.fullmatch(key) for key in labels)


@given(databases, st.text(min_size=1))
def test_a_mark_that_came_along_with_a_copy_says_nothing(mark: SleepMark, copy: str) -> None:
    sized = SleepMark(plan=mark.plan, uid=mark.uid, target=mark.target, item=mark.item, was={})
    same = copy == mark.item
    assert (from_tags(to_tags(sized), copy) is None) is not same
    assert (from_labels(to_labels(mark), copy) is None) is not same


@given(
    st.dictionaries(st.sampled_from([*to_tags(SleepMark(plan="a/b", item="i", was={})), "Name"]), st.text()),
    st.text(),
)
def test_tags_that_someone_wrote_by_hand_are_no_mark_and_no_failure(tags: dict[str, str], item: str) -> None:
    assert from_tags(tags, item) is None
    assert from_labels(tags, item) is None


@pytest.mark.parametrize(
    "edited", [{WAS: ""}, {WAS: "of=x"}, {MARK: "team/nights"}, {MARK: "team/nights/it/soon"}]
)
def test_a_mark_that_was_edited_into_something_else_says_nothing(edited: dict[str, str]) -> None:
    mark = SleepMark(
        plan="team/nights", uid="1", target="it", item="web", was={"min": 1, "max": 2, "desired": 1}
    )
    assert from_tags({**to_tags(mark), **edited}, "web") is None
