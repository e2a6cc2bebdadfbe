"""The chain, pure: whatever is changed anywhere, the first event that does not fit is known."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from whenever import TimeDelta

from hibernator.audit.chain import START, Entry, Link, append, misfit
from hibernator.audit.event import Actor, as_text, event
from hibernator.audit.formats import acting
from support.trail import NOON, plan, slept


def chained(count: int) -> list[Entry]:
    link, entries = START, []
    for cycle in range(1, count + 1):
        entries.append(append(link, slept(cycle), NOON))
        link = entries[-1].link
    return entries


def first_misfit(entries: list[Entry]) -> tuple[int, str] | None:
    """The position of the first entry that does not fit, and why."""
    link = START
    for position, entry in enumerate(entries):
        if problem := misfit(link, entry):
            return position, problem
        link = entry.link
    return None


def changed(entry: Entry, **fields: Any) -> Entry:
    return msgspec.structs.replace(entry, **fields)


def test_an_untouched_chain_fits() -> None:
    assert first_misfit(chained(5)) is None


@pytest.mark.parametrize("field", Entry.__struct_fields__)
def test_a_change_of_any_field_is_found(field: str) -> None:
    entries = chained(3)
    other: dict[str, Any] = {
        "sequence": 2_000,
        "recorded_at": NOON + TimeDelta(microseconds=1),
        "time": NOON + TimeDelta(microseconds=1),
        "version": 2,
        "actor": Actor(type="user", id="mallory"),
        "resource": plan("weekly"),
        "data": msgspec.Raw(b'{"cycle":3}'),
        "duration_ms": 1,
    }
    entries[1] = changed(entries[1], **{field: other.get(field, "other")})
    found = first_misfit(entries)
    assert found
    assert found[0] == 1


def test_a_removed_event_is_named() -> None:
    entries = chained(4)
    del entries[1]
    assert first_misfit(entries) == (1, "event 2 is missing")


def test_a_removed_stretch_is_named() -> None:
    entries = chained(5)
    del entries[1:4]
    assert first_misfit(entries) == (1, "events 2 to 4 are missing")


def test_an_inserted_event_is_found_although_its_own_hash_is_right() -> None:
    entries = chained(3)
    entries.insert(1, append(entries[0].link, slept(99), NOON))
    assert first_misfit(entries) == (2, "its number is taken by another event")


def test_a_replaced_event_is_found_at_the_next_although_its_own_hash_is_right() -> None:
    entries = chained(3)
    entries[1] = append(entries[0].link, slept(99), NOON)
    assert first_misfit(entries) == (2, "it does not continue from the event before it")


def test_two_events_that_changed_places_are_found() -> None:
    entries = chained(4)
    one, two = entries[1], entries[2]
    entries[1], entries[2] = changed(two, sequence=one.sequence), changed(one, sequence=two.sequence)
    assert first_misfit(entries) == (1, "it does not continue from the event before it")


@given(st.text(), st.dictionaries(st.text(), st.floats() | st.text() | st.none()), st.none() | st.integers(0))
def test_an_exported_event_can_be_checked_with_nothing_but_the_standard_library(
    error: str, data: dict[str, object], duration: int | None
) -> None:
    told = event("hibernateplan.sleep.failed", plan(), at=NOON, error=error, data=data, duration_ms=duration)
    line = msgspec.json.encode(append(Link(41, "ab" * 32), told, NOON), enc_hook=as_text)

    exported = json.loads(line)
    expected, previous = exported.pop("hash"), exported.pop("previousHash")
    text = json.dumps(exported, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256((previous + text).encode()).hexdigest() == expected


def test_a_hash_stays_what_it_is_for_ever() -> None:
    # Chains of years ago carry it: when this changes, none of them verifies.
    assert chained(2)[1].hash == "8baf0486f3b1773d41992474e692bb8d713eb3b7fc8c530e552b5c3b3bc50881"


def test_people_read_for_whom_a_deputy_decided() -> None:
    def row(data: dict[str, object]) -> str:
        dave = Actor(type="user", id="dave", email="dave@company.com")
        done = event("scheduleexception.approval.given", plan(), at=NOON, actor=dave, data=data)
        return acting(append(Link(41, "ab" * 32), done, NOON))

    assert row({"onBehalfOf": "carol@company.com"}) == "dave@company.com for carol@company.com"
    assert row({"reason": "onBehalfOf"}) == "dave@company.com"
    assert row({}) == "dave@company.com"
