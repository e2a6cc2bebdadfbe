"""The certificates of the webhooks: made, announced, served and forgotten in that order, for ever."""

import itertools

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.admission.certificates import (
    ANNOUNCEMENT,
    LIFETIME,
    RENEWAL,
    Pair,
    first,
    from_data,
    next_step,
    step,
    to_data,
)

NAMES = frozenset(["127.0.0.1", "hooks.system.svc"])
START = Instant.parse_iso("2026-03-02T08:00:00Z")
DAY = TimeDelta(hours=24)


def trusts(bundle: bytes, pair: Pair) -> bool:
    """Whether somebody who was told this bundle accepts this certificate, as far as signatures go."""
    for authority in x509.load_pem_x509_certificates(bundle):
        try:
            pair.parsed.verify_directly_issued_by(authority)
        except Exception:  # noqa: BLE001, S112 - of several types, all of which mean no
            continue
        return True
    return False


def valid(pair: Pair, at: Instant) -> bool:
    return pair.begins <= at < pair.ends


def test_a_certificate_is_for_the_names_that_were_asked_for() -> None:
    assert first(NAMES, START).current.names == NAMES


def test_a_certificate_cannot_sign_others_and_serves_only() -> None:
    certificate = first(NAMES, START).current.parsed
    extensions = certificate.extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [purpose._name for purpose in usage] == ["serverAuth"]


def test_a_peer_whose_clock_is_a_little_slow_accepts_a_new_certificate() -> None:
    assert first(NAMES, START).current.begins == START - TimeDelta(hours=1)


def test_nothing_happens_until_a_third_of_the_life_is_left() -> None:
    ring = first(NAMES, START)
    assert step(ring, NAMES, START + LIFETIME - RENEWAL - TimeDelta(seconds=1)) == ring
    assert next_step(ring) == START + LIFETIME - RENEWAL


def test_the_next_certificate_is_announced_first_and_served_a_day_later() -> None:
    ring = first(NAMES, START)
    due = next_step(ring)
    announced = step(ring, NAMES, due)
    assert announced.current == ring.current
    assert announced.upcoming is not None
    assert trusts(announced.bundle, announced.current)
    assert trusts(announced.bundle, announced.upcoming)
    assert next_step(announced) == due + ANNOUNCEMENT
    assert step(announced, NAMES, due + ANNOUNCEMENT - TimeDelta(seconds=1)) == announced

    served = step(announced, NAMES, due + ANNOUNCEMENT)
    assert served.current == announced.upcoming
    assert served.upcoming is None
    assert served.bundle == announced.bundle


def test_the_old_authority_is_forgotten_when_it_ends() -> None:
    ring = first(NAMES, START)
    while len(ring.authorities) == 1:
        ring = step(ring, NAMES, next_step(ring))
    while len(ring.authorities) == 2:
        now = next_step(ring)
        ring = step(ring, NAMES, now)
    assert now == START + LIFETIME
    assert trusts(ring.bundle, ring.current)


def test_what_has_ended_while_no_one_was_there_is_replaced_at_once() -> None:
    late = START + LIFETIME + DAY
    ring = step(first(NAMES, START), NAMES, late)
    assert valid(ring.current, late)
    assert len(ring.authorities) == 1


def test_what_was_announced_late_is_served_when_the_old_one_ends() -> None:
    ring = first(NAMES, START)
    end = START + LIFETIME
    announced = step(ring, NAMES, end - TimeDelta(hours=1))
    assert next_step(announced) == end
    served = step(announced, NAMES, end)
    assert served.current == announced.upcoming
    assert trusts(announced.bundle, served.current)


def test_what_was_announced_but_ended_too_is_not_served() -> None:
    ring = first(NAMES, START)
    announced = step(ring, NAMES, next_step(ring))
    late = START + LIFETIME + LIFETIME
    assert valid(step(announced, NAMES, late).current, late)


def test_a_new_name_gets_a_certificate_at_once_and_the_old_is_still_trusted() -> None:
    old = first(NAMES, START)
    ring = step(old, NAMES | {"elsewhere.example"}, START + DAY)
    assert ring.current.names == NAMES | {"elsewhere.example"}
    assert trusts(ring.bundle, old.current)
    assert trusts(ring.bundle, ring.current)


def test_a_name_that_is_no_longer_needed_changes_nothing() -> None:
    ring = first(NAMES, START)
    assert step(ring, frozenset(["127.0.0.1"]), START) == ring


@given(st.lists(st.integers(1, 20 * 24), min_size=1, max_size=20))
def test_whenever_someone_looks_what_is_served_is_valid_and_was_announced(hours: list[int]) -> None:
    """API servers hear of a bundle after the step that made it; replicas serve what any step said before."""
    now, ring = START, first(NAMES, START)
    for elapsed in itertools.chain(hours, [ANNOUNCEMENT.total("hours")] * 3):
        told = ring.bundle
        now += TimeDelta(hours=elapsed)
        expired = ring.current.ends <= now
        stepped = step(ring, NAMES, now)
        assert valid(stepped.current, now)
        assert trusts(stepped.bundle, stepped.current)
        assert (expired and not ring.upcoming) or trusts(told, stepped.current)
        assert expired or trusts(stepped.bundle, ring.current)
        ring = stepped


@given(st.integers(0, 5))
def test_taking_each_step_when_it_is_due_always_ends_at_a_later_one(steps: int) -> None:
    ring, now = first(NAMES, START), START
    for _ in range(steps):
        due = next_step(ring)
        assert due > now
        now, before = due, ring
        ring = step(ring, NAMES, now)
        assert ring != before


def test_a_keyring_is_read_as_it_was_written() -> None:
    ring = first(NAMES, START)
    assert from_data(to_data(ring)) == ring
    announced = step(ring, NAMES, next_step(ring))
    assert from_data(to_data(announced)) == announced


def _locked() -> bytes:
    locked = serialization.BestAvailableEncryption(b"secret")
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked)


def _broken() -> list[tuple[str, dict[str, bytes], str]]:
    one, other = to_data(first(NAMES, START)), to_data(first(NAMES, START))
    due = first(NAMES, START)
    announced = to_data(step(due, NAMES, next_step(due)))
    return [
        ("empty", {}, "ca.crt is missing"),
        ("without a key", {key: one[key] for key in ("ca.crt", "tls.crt")}, "tls.key is missing"),
        ("another key", one | {"tls.key": other["tls.key"]}, "does not belong"),
        ("another authority", one | {"ca.crt": other["ca.crt"]}, "no authority in ca.crt has signed"),
        ("no certificate", one | {"tls.crt": b"nonsense"}, "PEM"),
        ("no authority", one | {"ca.crt": b""}, "PEM"),
        ("a locked key", one | {"tls.key": _locked()}, "[Pp]assword"),
        ("no key", one | {"tls.key": b"\x00"}, "PEM|deserialize|key"),
        (
            "half of the next",
            {key: announced[key] for key in announced if key != "next.key"},
            "next.key is missing",
        ),
        ("an authority as a server", one | {"tls.crt": one["ca.crt"]}, "does not belong"),
    ]


@pytest.mark.parametrize(("_what", "data", "why"), [pytest.param(*case, id=case[0]) for case in _broken()])
def test_a_keyring_that_someone_has_broken_is_refused_in_words(
    _what: str, data: dict[str, bytes], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        from_data(data)
