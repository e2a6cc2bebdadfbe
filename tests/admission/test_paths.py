"""The unguessable paths: which are let in, which are registered, and when each gives way to the next."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.admission.paths import (
    RETIREMENT,
    ROTATION,
    SPREADING,
    Gate,
    PathKey,
    PathKeys,
    first,
    from_data,
    next_step,
    registered,
    step,
    to_data,
)

START = Instant.from_utc(2026, 3, 2)
WEBHOOKS = ("/convert", "/validate", "/delete")


def gate(*keys: PathKey) -> Gate:
    made = Gate(WEBHOOKS)
    made.use(keys)
    return made


def test_every_key_and_every_webhook_has_a_path_of_its_own() -> None:
    keys = [key for _ in range(3) for key in first(START)]
    paths = {key.path(one) for key in keys for one in WEBHOOKS}
    assert len(paths) == len(keys) * len(WEBHOOKS)
    # What a registration by Service may have between slashes: https://kubernetes.io, DNS-1123.
    assert all(re.fullmatch(r"/[0-9a-f]{64}/[a-z]+", path) for path in paths)


def test_the_path_of_one_webhook_does_not_tell_that_of_another() -> None:
    (key,) = first(START)
    leaked = key.path("/convert")
    opened = gate(key)
    assert opened.webhook(leaked) == "/convert"
    for guess in (leaked.replace("/convert", "/validate"), f"{leaked}/validate", f"{leaked}/../validate"):
        assert opened.webhook(guess) == ""


@given(st.text())
def test_nothing_is_found_at_a_path_that_someone_makes_up(path: str) -> None:
    (key,) = first(START)
    assert gate(key).webhook(path) == ""
    assert gate(key).webhook(f"{path}/validate") == ""
    assert Gate(WEBHOOKS).webhook(path) == ""


@pytest.mark.parametrize("path", [*WEBHOOKS, "", "/", "//validate", "/../validate", "/\udc80/validate"])
def test_nothing_is_found_by_the_name_of_a_webhook_alone(path: str) -> None:
    assert gate(*first(START)).webhook(path) == ""


@given(st.lists(st.integers(min_value=1, max_value=90 * 86_400), min_size=1, max_size=60))
def test_no_api_server_and_no_replica_is_ever_ahead_of_another(gaps: list[int]) -> None:
    """At whatever moments the leader looks.

    What is registered now is let in by every replica that has heard of the Secret within the last hour, and
    for a day after something else is.
    """
    now, keys = START, first(START)
    seen: list[tuple[Instant, PathKeys, PathKey]] = [(now, keys, registered(keys, now))]
    for gap in gaps:
        now += TimeDelta(seconds=gap)
        stepped = step(keys, now)
        assert step(stepped, now) == stepped, "one call is enough"
        assert next_step(stepped, now) > now
        keys = stepped
        seen.append((now, keys, registered(keys, now)))
    for moment, _keys, key in seen:
        for earlier, known, _key in seen:
            if earlier <= moment < earlier + SPREADING:
                assert key in known, "a replica that is an hour behind"
    for (_, _, old), (moment, known, new) in pairwise(seen):
        if new != old and old in known:
            assert moment >= new.since + SPREADING
    for moment, known, _key in seen:
        used = [key for earlier, _, key in seen if moment - RETIREMENT < earlier <= moment]
        assert set(used) <= set(known), "an API server that is a day behind"


def test_a_leader_that_looks_when_it_shall_changes_the_key_every_sixty_days() -> None:
    now, keys = START, first(START)
    used = [registered(keys, now)]
    while (due := next_step(keys, now)) < START + TimeDelta(hours=24 * 200):
        now, keys = due, step(keys, due)
        if registered(keys, now) != used[-1]:
            used.append(registered(keys, now))
    assert len(used) == 4
    assert [key.since for key in used[1:]] == [START + ROTATION * number for number in (1, 2, 3)]
    assert keys == (used[-1],)


def test_what_is_written_is_read_back() -> None:
    keys = (*first(START), *first(START + ROTATION))
    assert from_data(to_data(keys)) == keys


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "keys is missing or empty"),
        ({"keys": b""}, "keys is missing or empty"),
        ({"keys": b"\xff\xfe"}, "line 1 of keys is not a time and a key"),
        ({"keys": b"today 00"}, "line 1 of keys is not a time and a key"),
        ({"keys": b"2026-03-02T00:00:00Z 00ff"}, "line 1 of keys has a key of 2 bytes instead of 32"),
    ],
)
def test_what_cannot_be_read_is_told_without_the_key(data: dict[str, bytes], why: str) -> None:
    with pytest.raises(ValueError, match=why) as told:
        from_data(data)
    assert "00ff" not in str(told.value)
