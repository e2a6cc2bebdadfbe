"""What an ID token must say, and who it says that somebody is."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from whenever import Instant

from hibernator.web.claims import Expected, Rules, check, identity, joined
from hibernator.web.refusals import LoginRefusedError

NOW = Instant.parse_iso("2026-03-02T08:00:00Z")
SECOND = NOW.timestamp()
ISSUER = "https://login.company.com"
EXPECTED = Expected(issuer=ISSUER, client_id="hibernator", nonce="_n")
GOOD: dict[str, Any] = {
    "iss": ISSUER,
    "sub": "00u1",
    "aud": "hibernator",
    "exp": SECOND + 300,
    "iat": SECOND,
    "nonce": "_n",
    "email": "alice@company.com",
    "email_verified": True,
}
GONE = object()


def changed(**claims: Any) -> dict[str, Any]:
    return {name: value for name, value in (GOOD | claims).items() if value is not GONE}


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"iss": "https://evil.com"}, "issuer"),
        ({"iss": f"{ISSUER}/"}, "issuer"),
        ({"iss": GONE}, "issuer"),
        ({"aud": "another"}, "audience"),
        ({"aud": ["another"]}, "audience"),
        ({"aud": []}, "audience"),
        ({"aud": GONE}, "audience"),
        ({"aud": ["hibernator", "another"]}, "audience"),  # without azp
        ({"aud": ["hibernator", "another"], "azp": "another"}, "audience"),
        ({"azp": "another"}, "audience"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": GONE}, "nonce"),
        ({"nonce": [EXPECTED.nonce, "another"]}, "nonce"),
        ({"iss": [ISSUER]}, "issuer"),
        ({"sub": GONE}, "subject"),
        ({"sub": 7}, "subject"),
        ({"exp": SECOND - 61}, "expired"),
        ({"exp": GONE}, "expired"),
        ({"exp": "tomorrow"}, "expired"),
        ({"iat": SECOND + 61}, "claim"),
        ({"iat": GONE}, "claim"),
        ({"iat": SECOND - 86_401}, "expired"),
        ({"iat": -(10**30)}, "expired"),
        ({"nbf": SECOND + 61}, "claim"),
    ],
)
def test_a_token_that_is_not_for_us_or_not_for_now_is_refused(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(LoginRefusedError) as refused:
        check(changed(**claims), EXPECTED, NOW)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"exp": SECOND - 59},  # clocks differ by up to a minute
        {"iat": SECOND + 59},
        {"nbf": SECOND + 59},
        {"aud": ["hibernator"]},
        {"aud": ["hibernator", "another"], "azp": "hibernator"},
    ],
)
def test_a_token_for_us_and_for_now_is_good(claims: dict[str, Any]) -> None:
    check(changed(**claims), EXPECTED, NOW)


@pytest.mark.parametrize(
    ("auth_time", "is_good"),
    [
        (SECOND, True),
        (SECOND - 360, True),
        (SECOND - 361, False),
        (SECOND + 61, False),
        (GONE, False),
        (True, False),
    ],
)
def test_a_recent_log_in_must_be_proved(auth_time: object, is_good: bool) -> None:  # noqa: FBT001
    wanted = Expected(issuer=ISSUER, client_id="hibernator", nonce="_n", max_age=300)
    if is_good:
        check(changed(auth_time=auth_time), wanted, NOW)
    else:
        with pytest.raises(LoginRefusedError, match="auth_time"):
            check(changed(auth_time=auth_time), wanted, NOW)


@pytest.mark.parametrize(
    ("claims", "rules", "reason"),
    [
        ({"email": GONE}, Rules(), "no_email"),
        ({"email": "alice"}, Rules(), "no_email"),
        ({"email": "a@b@company.com"}, Rules(), "no_email"),
        ({"email": "alice@company.com\nBcc: x@evil.com"}, Rules(), "no_email"),
        ({"email": "ali\u200bce@company.com"}, Rules(), "no_email"),
        ({"email": "alice@company.com\u202e"}, Rules(), "no_email"),
        ({"email": ["alice@company.com"]}, Rules(), "no_email"),
        ({"email": "a" * 250 + "@b.com"}, Rules(), "no_email"),
        ({"email_verified": False}, Rules(), "unverified_email"),
        ({"email_verified": "true"}, Rules(), "unverified_email"),
        ({"email_verified": GONE}, Rules(), "unverified_email"),
        ({}, Rules(domains=frozenset({"other.com"})), "domain"),
        ({"email": "alice@evil.company.com"}, Rules(domains=frozenset({"company.com"})), "domain"),
        ({"email": "alice@evilcompany.com"}, Rules(domains=frozenset({"company.com"})), "domain"),
        ({"email": "alice@\u212aompany.com"}, Rules(domains=frozenset({"kompany.com"})), "domain"),
        ({"email": "alice@\uff43ompany.com"}, Rules(domains=frozenset({"company.com"})), "domain"),
        ({"email": "alice@company.com."}, Rules(domains=frozenset({"company.com"})), "domain"),
        ({"email": "alice@company.com@evil.com"}, Rules(domains=frozenset({"company.com"})), "no_email"),
        ({}, Rules(required=(("hd", "company.com"),)), "claim"),
        ({"hd": "evil.com"}, Rules(required=(("hd", "company.com"),)), "claim"),
        ({"groups": ["a"]}, Rules(required=(("groups", "staff"),)), "claim"),
        ({"groups": "not staff"}, Rules(required=(("groups", "staff"),)), "claim"),
        ({}, Rules(username_claim="upn"), "claim"),
        ({"upn": 7}, Rules(username_claim="upn"), "claim"),
        ({"upn": "system:admin"}, Rules(username_claim="upn", username_prefix="-"), "claim"),
        ({"upn": "alice\nbob"}, Rules(username_claim="upn"), "claim"),
    ],
)
def test_who_may_not_come_in_is_told_why(claims: dict[str, Any], rules: Rules, reason: str) -> None:
    with pytest.raises(LoginRefusedError) as refused:
        identity(changed(**claims), rules, ISSUER)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("claims", "rules"),
    [
        ({"email_verified": GONE}, Rules(verified_only=False)),
        ({"email": "Alice@COMPANY.com"}, Rules(domains=frozenset({"company.com"}))),
        ({"hd": "company.com"}, Rules(required=(("hd", "company.com"),))),
        ({"groups": ["a", "staff"]}, Rules(required=(("groups", "staff"),))),
    ],
)
def test_who_may_come_in_does(claims: dict[str, Any], rules: Rules) -> None:
    assert identity(changed(**claims), rules, ISSUER).subject == "00u1"


@pytest.mark.parametrize(
    ("rules", "username"),
    [
        (Rules(), f"{ISSUER}#00u1"),
        (Rules(username_prefix="-"), "00u1"),
        (Rules(username_prefix="oidc:"), "oidc:00u1"),
        (Rules(username_claim="email"), "alice@company.com"),
        (Rules(username_claim="email", username_prefix="oidc:"), "oidc:alice@company.com"),
        (Rules(username_claim="email", username_prefix="-"), "alice@company.com"),
        (Rules(username_claim="preferred_username"), f"{ISSUER}#ally"),
    ],
)
def test_names_are_those_of_kube_apiserver(rules: Rules, username: str) -> None:
    assert identity(changed(preferred_username="ally"), rules, ISSUER).username == username


@pytest.mark.parametrize(
    ("found", "groups"),
    [
        (["a", "b c"], ("sso:a", "sso:b c")),
        ("a", ("sso:a",)),
        (["a", 7, None], ("sso:a",)),
        (GONE, ()),
        ({"a": 1}, ()),
    ],
)
def test_groups_are_those_of_kube_apiserver(found: object, groups: tuple[str, ...]) -> None:
    rules = Rules(groups_claim="groups", groups_prefix="sso:")
    assert identity(changed(groups=found), rules, ISSUER).groups == groups


def test_a_group_of_kubernetes_itself_cannot_be_claimed_nor_two_in_one() -> None:
    rules = Rules(groups_claim="groups")
    odd = ["system:masters", "a\nadmins", f"cn={'x' * 254}"]
    assert identity(changed(groups=[*odd, "ops"]), rules, ISSUER).groups == ("ops",)


@pytest.mark.parametrize(
    ("token", "userinfo", "email", "verified"),
    [
        ({"email": "a@x", "email_verified": False}, {"email": "b@x", "email_verified": True}, "a@x", False),
        ({"email": "a@x"}, {"email": "b@x", "email_verified": True}, "b@x", True),
        ({"email": "a@x"}, {"email_verified": True}, "a@x", None),
        ({"email_verified": True}, {"email": "b@x"}, "b@x", None),
        ({}, {"email": "b@x", "email_verified": True}, "b@x", True),
    ],
)
def test_an_address_is_verified_only_by_who_says_which_it_is(
    token: dict[str, Any], userinfo: dict[str, Any], email: str, verified: object
) -> None:
    found = joined({"sub": "1"} | token, {"sub": "2", "name": "A"} | userinfo)
    assert (found.get("email"), found.get("email_verified")) == (email, verified)
    assert (found["sub"], found["name"]) == ("1", "A")


def test_who_has_no_name_is_shown_by_their_address() -> None:
    for name in (GONE, "", "  ", 7):
        assert identity(changed(name=name), Rules(), ISSUER).name == "alice@company.com"


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.lists(st.text(max_size=5))
)


@given(st.dictionaries(st.sampled_from([*GOOD, "azp", "auth_time", "nbf", "groups", "name"]), _VALUES))
def test_whatever_a_provider_says_ends_in_an_identity_or_a_refusal(claims: dict[str, Any]) -> None:
    """Never in another error, and never in an identity without all that was asked for."""
    said = GOOD | claims
    rules = Rules(groups_claim="groups", domains=frozenset({"company.com"}))
    try:
        check(said, EXPECTED, NOW)
        found = identity(said, rules, ISSUER)
    except LoginRefusedError:
        return
    assert (said["iss"], said["nonce"]) == (ISSUER, "_n")
    assert "hibernator" in said["aud"]
    assert found.email.endswith("@company.com")
    assert said["email_verified"] is True
