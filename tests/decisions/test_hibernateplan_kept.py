"""What people may read of restore data: names, states and sizes, and nothing else that stands in it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from hibernator.api.hibernateplan import Target
from hibernator.decisions.hibernateplan_kept import MOST_ITEMS, KeptItem, kept_plan, wakes_to
from hibernator.decisions.hibernateplan_restore import ITEMS_KEY, TARGET_KEY, Entry, Kept, parts

SINCE = datetime(2026, 3, 2, 20, tzinfo=UTC)
SECRET = "s3cret-Value"
WEB = Target(name="web", type="workloadscaler", parameters={"password": SECRET})


def kept(**entries: Entry) -> bytes:
    """What is answered about a target with these entries, one for each name."""
    found = {f"Deployment/team-a/{name}": one for name, one in entries.items()}
    return msgspec.json.encode(kept_plan((part, SINCE) for part in parts(Kept(target=WEB, entries=found))))


KEDA = {"uid": "u", "replicas": 3, "scaledObject": "k"}
POOL = {"nodeCount": 2, "autoscaling": {"enabled": True}, "instanceGroups": []}
LIMITS = {"cpu": "1000", "memory": "1000Gi", "x": SECRET}


@pytest.mark.parametrize(
    ("kind", "was", "words"),
    [
        ("Deployment", {"uid": "u", "replicas": 3}, "3 replicas"),
        ("Deployment", {"uid": "u", "replicas": 1}, "1 replica"),
        ("Deployment", {"uid": "u", "replicas": None}, "its usual replicas"),
        ("StatefulSet", {"uid": "u", "replicas": 6, "asleepAt": 1}, "6 replicas (1 while asleep)"),
        ("Deployment", KEDA | {"pausedReplicas": None}, "as many replicas as KEDA wants"),
        ("Deployment", KEDA | {"pausedReplicas": "2"}, "2 replicas, as KEDA was paused at"),
        ("Deployment", KEDA | {"pausedReplicas": SECRET}, "as many replicas as KEDA wants"),
        ("Deployment", KEDA | {"pausedReplicas": "9" * 9}, f"{'9' * 9} replicas, as KEDA was paused at"),
        ("Deployment", KEDA | {"pausedReplicas": "9" * 10}, "as many replicas as KEDA wants"),
        ("CronJob", {"uid": "u"}, "not suspended"),
        ("DaemonSet", {"uid": "u"}, "running on its nodes"),
        ("", {"arn": "a", "min": 1, "max": 5, "desired": 3}, "3 machines (1 to 5)"),
        ("", {"arn": "a", "min": 1, "desired": 3}, "as it was"),
        ("", POOL, "2 nodes in each zone, autoscaled"),
        ("", POOL | {"autoscaling": {"enabled": False}}, "2 nodes in each zone"),
        ("", POOL | {"autoscaling": None}, "2 nodes in each zone"),
        ("", {"state": "running", "type": "m5.large", "name": SECRET}, "running"),
        ("DBInstance", {"resourceId": "db-1", "engine": "postgres"}, "running"),
        ("", {"activationPolicy": "ALWAYS", "created": "x"}, "running"),
        ("NodePool", {"uid": "u", "limits": LIMITS}, "limits of cpu 1000, memory 1000Gi"),
        ("NodePool", {"uid": "u", "limits": None}, "no limits of cpu or memory"),
        ("", {"limits": LIMITS}, "as it was"),
        ("widgets.example.com", {"uid": "u", "patched": [["/spec/x", SECRET, 0]]}, "1 field as before"),
        ("noop", {"number": 4}, "as it was"),
        ("", {}, "as it was"),
    ],
)
def test_what_an_item_wakes_to_is_said_in_words(kind: str, was: dict[str, Any], words: str) -> None:
    assert wakes_to(kind, was) == words


def test_each_state_of_an_item_is_told_apart() -> None:
    found = kept_plan(
        (data, SINCE)
        for data in parts(
            Kept(
                target=WEB,
                entries={
                    "Deployment/team-a/asleep": Entry(cycle=7, was={"replicas": 3}),
                    "Deployment/team-a/back": Entry(cycle=7, was={"replicas": 3}, woken=True),
                    "Deployment/team-a/late": Entry(cycle=7, note=SECRET, awake_until=SINCE),
                    "NodePool/general": Entry(cycle=2, note=SECRET),
                    "i-0a1b": Entry(cycle=2, was={"state": "running"}),
                },
            )
        )
    )
    [target] = found.targets
    assert (target.name, target.type, target.asleep, target.total) == ("web", "workloadscaler", 3, 5)
    assert target.since == SINCE
    assert target.items == (
        KeptItem(kind="Deployment", namespace="team-a", name="asleep", wakes_to="3 replicas", cycle=7),
        KeptItem(
            kind="Deployment",
            namespace="team-a",
            name="back",
            state="WakingUp",
            wakes_to="3 replicas",
            cycle=7,
        ),
        KeptItem(name="i-0a1b", wakes_to="running", cycle=2),
        KeptItem(
            kind="Deployment", namespace="team-a", name="late", state="Awake", awake_until=SINCE, cycle=7
        ),
        KeptItem(kind="NodePool", name="general", state="LeftAlone", cycle=2),
    )


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["cpu", SECRET]), inner),
    max_leaves=8,
)
FIELDS = (
    *("uid", "replicas", "asleepAt", "scaledObject", "pausedReplicas", "min", "max", "desired", "nodeCount"),
    *("autoscaling", "state", "resourceId", "activationPolicy", "limits", "patched", "else"),
)


@given(st.dictionaries(st.sampled_from(FIELDS), json), st.text(max_size=20))
@settings(max_examples=300)
def test_nothing_that_stands_in_a_restore_document_is_passed_on(was: dict[str, Any], note: str) -> None:
    """Of a patched object that can be anything, and parameters may hold what is nobody's business."""
    answer = kept(web=Entry(cycle=1, was=was, note=note + SECRET)).decode()
    assert SECRET not in answer
    assert "parameters" not in answer


def test_of_many_items_the_first_are_named_and_all_are_counted() -> None:
    one = Entry(cycle=1, was={"replicas": 1})
    entries = {f"Deployment/team-a/web-{number:04}": one for number in range(5_000)}
    found = kept_plan((data, SINCE) for data in parts(Kept(target=WEB, entries=entries)))
    [target] = found.targets
    assert (target.asleep, target.total, len(target.items)) == (5_000, 5_000, MOST_ITEMS)


def test_what_is_damaged_is_an_error_and_not_a_part_of_the_answer() -> None:
    [good] = parts(Kept(target=WEB, entries={}))
    for damaged in ({}, {TARGET_KEY: "{"}, good | {ITEMS_KEY: '{"x": {"cycle": "one"}}'}):
        with pytest.raises(ValueError, match=r"."):
            kept_plan([(damaged, SINCE)])


def test_a_name_may_have_slashes_and_is_cut_where_it_is_too_long() -> None:
    entries = {f"Deployment/team-a/{name}": Entry(cycle=1) for name in ("odd/name", "x" * 300)}
    [target] = kept_plan((data, SINCE) for data in parts(Kept(target=WEB, entries=entries))).targets
    assert [one.name for one in target.items] == ["odd/name", "x" * (300 - len("Deployment/team-a/"))]
