"""What is kept to wake things up, and which of two truths holds."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hibernator.api.hibernateplan import Target
from hibernator.decisions.hibernateplan_restore import (
    PART_BYTES,
    Entry,
    Item,
    Kept,
    Saving,
    merge,
    name_of,
    parts,
    read,
    released,
)

TARGET = Target(name="web", type="workloadscaler", parameters={"namespace": {"literals": ["shop"]}})


def awake(key: str, replicas: int = 3) -> Item:
    return Item(key=key, restore={"replicas": replicas}, saving=Saving(1.5, 2.0))


def asleep(key: str) -> Item:
    return Item(key=key)


def kept(cycle: int, replicas: int) -> Entry:
    return Entry(cycle=cycle, was={"replicas": replicas})


def test_what_is_awake_is_kept_with_what_it_saves() -> None:
    assert merge({}, [awake("a")], 7) == {
        "a": Entry(cycle=7, was={"replicas": 3}, cpu_cores=1.5, memory_gib=2.0)
    }


def test_what_was_asleep_before_is_left_alone() -> None:
    assert merge({}, [asleep("a")], 7)["a"].was is None


def test_a_sleeping_thing_never_replaces_what_is_kept_of_it() -> None:
    assert merge({"a": kept(6, 5)}, [asleep("a")], 7) == {"a": kept(6, 5)}
    assert merge({"a": kept(7, 5)}, [asleep("a")], 7) == {"a": kept(7, 5)}


def test_within_a_cycle_the_first_look_counts() -> None:
    assert merge({"a": kept(7, 5)}, [awake("a", 1)], 7)["a"].was == {"replicas": 5}


def test_what_was_never_woken_is_kept_into_the_next_cycle_whatever_it_looks_like() -> None:
    assert merge({"a": kept(6, 5)}, [awake("a", 2)], 7) == {"a": kept(6, 5)}


def test_what_was_woken_and_is_still_waited_for_counts_as_it_is_now() -> None:
    woken = Entry(cycle=6, was={"replicas": 5}, woken=True)
    assert merge({"a": woken}, [awake("a", 2)], 7)["a"].was == {"replicas": 2}
    assert merge({"a": woken}, [asleep("a")], 7) == {"a": kept(6, 5)}


@pytest.mark.parametrize(
    ("before", "now", "another"),
    [("x", "x", False), ("x", "y", True), (["x", "y"], ["y", "z"], False), (["x"], ["z"], True)],
)
def test_another_of_the_same_name_is_seen_with_new_eyes(before: Any, now: Any, *, another: bool) -> None:
    entry = Entry(cycle=7, was={"uid": before, "replicas": 5})
    found = Item(key="a", restore={"uid": now, "replicas": 2})
    merged = merge({"a": entry}, [found], 7, identity="uid")["a"]
    assert merged.was == (found.restore if another else entry.was)


def test_what_was_left_alone_and_is_awake_now_sleeps_too() -> None:
    assert merge({"a": Entry(cycle=7, note="was asleep already")}, [awake("a")], 7)["a"].was


def test_what_no_longer_belongs_to_a_target_is_named_for_waking() -> None:
    before = Kept(target=TARGET, entries={"a": kept(1, 5), "b": kept(1, 5), "off": Entry(cycle=1)})
    assert released(before, TARGET, [asleep("a")]).keys() == {"b"}
    moved = Target(name="web", type="karpenter")
    assert released(before, moved, [awake("a")]).keys() == {"a", "b"}


ENTRIES = st.dictionaries(
    st.text(max_size=20),
    st.builds(
        Entry,
        cycle=st.integers(1, 9),
        was=st.none()
        | st.dictionaries(st.text(max_size=5), st.integers() | st.text() | st.none(), max_size=3),
        note=st.text(max_size=10),
    ),
    max_size=8,
)


@given(ENTRIES)
def test_what_is_written_is_read_back(entries: dict[str, Entry]) -> None:
    whole = Kept(target=TARGET, entries=entries)
    assert read(parts(whole)) == whole


def test_large_data_is_split_and_each_part_can_be_read_by_a_person() -> None:
    entries = {f"Deployment/shop/web-{number:05}": kept(1, 3) for number in range(20_000)}
    datas = list(parts(Kept(target=TARGET, entries=entries)))
    assert len(datas) > 2
    assert all(len(data["items.json"].encode()) < PART_BYTES + 1024 for data in datas)
    assert read(datas) == Kept(target=TARGET, entries=entries)
    lines = datas[0]["items.json"].splitlines()
    assert lines[1] == '"Deployment/shop/web-00000": {"cycle":1,"was":{"replicas":3}},'
    first: dict[str, Any] = json.loads(datas[0]["target.json"])
    assert first["type"] == "workloadscaler"


def test_no_two_targets_share_a_name() -> None:
    assert name_of("a.b", "c", 1) != name_of("a", "b", 1)
    assert name_of("a-b", "c", 0) != name_of("a", "b-c", 0)


def test_nothing_is_read_from_nothing() -> None:
    assert read([]) is None
