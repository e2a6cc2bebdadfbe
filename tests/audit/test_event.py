"""An event is named by its transition, and no text can keep it out of a database."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.api.core import DEPLOYMENTS, Deployment
from hibernator.api.meta import ObjectMeta
from hibernator.audit.event import (
    LONGEST_DATA,
    UNKNOWN_ACTOR,
    Actor,
    Resource,
    canonical,
    clean,
    event,
    from_json,
    person,
    to_json,
    transition_id,
)
from support.trail import ANY_DATA, ANY_TEXT, NOON, plan, slept


def test_the_same_transition_seen_again_is_the_same_event() -> None:
    assert slept(7) == slept(7)


def test_whoever_did_it_an_event_is_the_same() -> None:
    made = [event("hibernateplan.created", plan(), at=NOON, actor=person(name)) for name in ("", "bob")]
    assert made[0].id == made[1].id


def test_a_person_an_account_and_someone_are_told_apart() -> None:
    bob, robot = "bob@example.com", "system:serviceaccount:argocd:argocd"
    assert person(bob) == Actor(type="user", id=bob, email=bob)
    assert person("bob") == Actor(type="user", id="bob")
    assert person(robot) == Actor(type="serviceaccount", id=robot)
    assert person("") == UNKNOWN_ACTOR


def test_another_cycle_another_plan_and_another_type_are_other_events() -> None:
    one = slept(7)
    others = [
        slept(8),
        slept(7, name="weekly"),
        event("hibernateplan.wake.started", plan(), at=NOON, identity=(7,)),
    ]
    assert one.id not in {other.id for other in others}


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_identities_that_read_alike_when_joined_are_still_two(one: list[str], other: list[str]) -> None:
    assert (transition_id("uid", "type", *one) == transition_id("uid", "type", *other)) == (one == other)


def test_an_id_stays_what_it_is_for_ever() -> None:
    # Rows of years ago carry it: when this changes, every transition is told twice.
    assert (
        transition_id("uid-nightly", "hibernateplan.sleep.started", 7)
        == "2043350e-7323-85b8-8625-daf1a2879363"
    )


def test_category_action_outcome_and_severity_follow_from_the_type() -> None:
    failed = event("hibernateplan.sleep.failed", plan(), at=NOON)
    assert (failed.category, failed.action, failed.outcome, failed.severity) == (
        "hibernation",
        "sleep.failed",
        "failure",
        "error",
    )


def test_a_type_that_is_not_in_the_table_is_refused_with_the_nearest_that_is() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'hibernateplan\.sleep\.started'"):
        event("hibernateplan.sleep.starte", plan(), at=NOON)


def test_a_time_is_cut_to_what_both_databases_keep() -> None:
    told = event("hibernateplan.sleep.started", plan(), at=Instant.from_timestamp(1_999, unit="nanosecond"))
    assert told.time == Instant.from_timestamp(1_000, unit="nanosecond")


def test_a_resource_is_taken_from_the_object() -> None:
    found = Deployment(metadata=ObjectMeta(name="web", namespace="shop", uid="u1"))
    assert Resource.of(DEPLOYMENTS, found) == Resource(
        group="apps", kind="Deployment", namespace="shop", name="web", uid="u1"
    )


@given(ANY_TEXT, st.integers(2, 40))
def test_cleaned_text_is_valid_bounded_and_stays_as_it_is_when_cleaned_again(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert cleaned.encode().decode() == cleaned
    assert "\0" not in cleaned
    assert len(cleaned) <= limit
    assert clean(cleaned, limit) == cleaned


def test_ordinary_text_is_left_alone() -> None:
    assert clean("Zoë scaled web to 3 ✓") == "Zoë scaled web to 3 ✓"


def test_text_from_outside_is_cleaned_wherever_it_enters() -> None:
    nasty = "\0" + "x" * 5000
    told = event(
        "admission.denied",
        Resource(kind=nasty, name=nasty, group=nasty, namespace=nasty, uid=nasty),
        at=NOON,
        actor=Actor(type="user", id=nasty, email=nasty, ip=nasty, session=nasty),
        error=nasty,
        correlation_id=nasty,
        parent_id=nasty,
    )
    texts = [told.error, told.correlation_id, told.parent_id]
    texts += [getattr(told.resource, field) for field in Resource.__struct_fields__]
    texts += [getattr(told.actor, field) for field in Actor.__struct_fields__]
    assert all("\0" not in text for text in texts)
    assert all(len(text) <= 4096 for text in texts)


@given(ANY_DATA)
def test_data_has_one_form_which_the_standard_library_writes_again(data: dict[str, object]) -> None:
    text = bytes(canonical(data)).decode()
    again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert again == text


def test_data_may_hold_instants_and_api_types_and_numbers_that_json_lacks() -> None:
    data: dict[Any, Any] = {"at": NOON, "meta": ObjectMeta(name="web"), "rate": float("nan"), 2: "two"}
    assert bytes(canonical(data)) == (
        b'{"2":"two","at":"2026-03-02T12:00:00.000000Z","meta":{"name":"web"},"rate":null}'
    )


def test_data_that_no_one_could_read_back_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="object has no place in an audit event"):
        canonical({"thing": object()})


def test_an_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        slept(1).id = "other"
    assert isinstance(slept(1).data, msgspec.Raw)


@given(ANY_DATA, st.integers(min_value=0, max_value=60_000))
def test_the_data_of_an_event_is_bounded_and_says_what_was_cut(data: dict[str, Any], more: int) -> None:
    told = event("hibernateplan.sleep.started", plan(), at=NOON, data=data | {"long": "x" * more, "cycle": 7})
    kept = json.loads(bytes(told.data))
    assert len(bytes(told.data)) <= LONGEST_DATA
    if len(bytes(canonical(data | {"long": "x" * more, "cycle": 7}))) <= LONGEST_DATA:
        assert "cut" not in kept or "cut" in data
    elif more > LONGEST_DATA:
        assert "long" in kept["cut"]
        assert kept.get("cycle") == 7 or len(data) > 10


def sent(**changes: Any) -> str:
    return json.dumps(json.loads(to_json(slept(1))) | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"error": "\0"},
        {"error": "x" * 5000},
        {"id": "x" * 500},
        {"actor": {"type": "user", "id": "\0"}},
        {"resource": {"kind": "K" * 300, "name": "n"}},
        {"durationMs": 2**63},
        {"version": 10**30},
        {"data": {"long": "x" * 40_000}},
        {"data": [1]},
    ],
)
def test_what_no_database_could_hold_is_no_event(changes: dict[str, Any]) -> None:
    """Others may write where it comes from, and it must not keep what lies behind it out of the trail."""
    with pytest.raises(msgspec.DecodeError):
        from_json(sent(**changes))


def test_what_is_nested_without_end_is_no_event() -> None:
    with pytest.raises(msgspec.DecodeError):
        from_json(sent(data={"a": 1}).replace('{"a": 1}', '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"))


def test_every_event_can_be_sent_and_read_back() -> None:
    told = event("hibernateplan.sleep.failed", plan(), at=NOON, error="x" * 9000, data={"long": "y" * 90_000})
    assert from_json(to_json(told)) == told
