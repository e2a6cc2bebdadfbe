"""Links: for whom a token was made, until when, and that it is nowhere but in the link."""

from urllib.parse import parse_qs, urlsplit

import msgspec

from hibernator.messages.links import DAYS, MOST, check, hash_of, link, new_token, remembered, url_of
from messages.scenes import AT, BOB, sent


def test_a_link_names_the_request_the_role_and_the_token() -> None:
    token = new_token()
    made = urlsplit(link("https://hibernator.company.com/", "6f2a-1", token, "team leads&x"))
    assert made.path == "/approve/6f2a-1"
    assert parse_qs(made.query) == {"role": ["team leads&x"], "token": [token]}
    assert link("https://h.example", "1", token) == f"https://h.example/approve/1?token={token}"
    assert url_of("https://h.example", "../x?") == "https://h.example/approve/..%2Fx%3F"


def test_tokens_are_256_bits_and_only_their_hash_is_kept() -> None:
    tokens = {new_token() for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {43}
    kept = remembered((), "secret", AT)
    assert "secret" not in msgspec.json.encode(kept).decode()
    assert kept[0].hash == hash_of("secret")


def test_a_token_is_found_until_it_expires_and_for_what_it_was_made_for() -> None:
    kept = sent(BOB)
    old, new = new_token(), new_token()
    tokens = remembered(remembered((), old, AT), new, AT.add(hours=24))
    kept = msgspec.structs.replace(
        kept,
        spec=msgspec.structs.replace(kept.spec, spec_hash="sha256:1"),
        status=msgspec.structs.replace(kept.status, tokens=tokens),
    )
    at = AT.add(hours=24 * DAYS)
    assert check(old, [kept], "sha256:1", AT).validity == "valid"
    assert check(old, [kept], "sha256:1", AT).is_of("BOB@company.com")
    assert not check(old, [kept], "sha256:1", AT).is_of("carol@company.com")
    assert check(old, [kept], "sha256:1", at).validity == "expired"
    assert check(new, [kept], "sha256:1", at).validity == "valid"
    assert check(new, [kept], "sha256:2", AT).validity == "stale"
    for wrong in ("", "x", new_token(), hash_of(new), "y" * 5000):
        assert check(wrong, [kept], "sha256:1", AT).validity == "unknown"


def test_old_tokens_make_room() -> None:
    tokens = remembered((), "first", AT)
    for number in range(MOST):
        tokens = remembered(tokens, f"{number}", AT)
    assert len(tokens) == MOST
    assert hash_of("first") not in {one.hash for one in tokens}
    assert len(remembered(tokens, "last", AT.add(hours=24 * DAYS))) == 1
