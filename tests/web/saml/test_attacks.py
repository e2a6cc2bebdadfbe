"""No broken response logs anybody in, and each is refused for what is wrong with it."""

from dataclasses import replace

import pytest
from whenever import Instant, TimeDelta

from hibernator.web.saml.provider import IdentityProvider, read_metadata
from hibernator.web.saml.response import Expected, NotBelievedError, read
from support.saml import (
    ACS,
    ECDSA_SHA256,
    NOW,
    REQUEST,
    RSA_SHA512,
    SHA512,
    SP,
    Claims,
    Signing,
    posted,
    provider,
)
from support.saml_attacks import ATTACKS

CLAIMS = Claims()


@pytest.fixture(scope="module")
def expected() -> Expected:
    return Expected(_trusted("idp"), SP, ACS, REQUEST, NOW)


def _trusted(name: str) -> IdentityProvider:
    return read_metadata(provider(name).metadata().encode())


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_broken_response_is_refused_for_what_is_wrong_with_it(attack: str, expected: Expected) -> None:
    make, reason = ATTACKS[attack]
    with pytest.raises(NotBelievedError) as refused:
        read(make(CLAIMS), expected)
    assert refused.value.reason == reason, str(refused.value)


@pytest.mark.parametrize("text", ["", "%%%", "PHg+", "PHg+PC94Pg==", "PD94bWwgdmVyc2lvbj0iMS4wIj8+"])
def test_what_is_no_response_at_all_is_refused(text: str, expected: Expected) -> None:
    with pytest.raises(NotBelievedError) as refused:
        read(text, expected)
    assert refused.value.reason == "malformed"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        pytest.param(Signing(), None, id="the assertion is signed (Entra ID, AD FS)"),
        pytest.param(Signing(), Signing(), id="assertion and response are signed (Okta, Keycloak)"),
        pytest.param(Signing(prefixes=("xs",)), None, id="inclusive namespaces (Okta)"),
        pytest.param(Signing(method=RSA_SHA512, digest=SHA512), None, id="SHA-512"),
    ],
)
def test_the_responses_of_common_providers_are_believed(
    how: Signing, message: Signing | None, expected: Expected
) -> None:
    found = read(posted(provider().response(CLAIMS, how, message)), expected)
    assert (found.name_id, dict(found.attributes)["groups"]) == (
        "maria@corp.example",
        ("platform", "managers"),
    )
    assert found.authenticated_at == NOW - TimeDelta(minutes=1)


def test_a_provider_may_sign_with_an_elliptic_curve(expected: Expected) -> None:
    curved = provider(curve=True)
    trusted = replace(expected, provider=read_metadata(curved.metadata().encode()))
    assert read(posted(curved.response(CLAIMS, Signing(method=ECDSA_SHA256))), trusted).name_id


def test_while_a_provider_changes_its_key_both_are_believed(expected: Expected) -> None:
    both = (*expected.provider.certificates, *_trusted("new").certificates)
    changing = replace(expected, provider=replace(expected.provider, certificates=both))
    for name in ("idp", "new"):
        assert read(posted(provider(name).response(CLAIMS)), changing).id == "_assertion-1"


def test_clocks_may_differ_by_a_minute(expected: Expected) -> None:
    early = replace(CLAIMS, not_before=TimeDelta(seconds=60), authenticated=TimeDelta(seconds=60))
    late = replace(CLAIMS, not_after=TimeDelta(seconds=-59), subject_not_after=TimeDelta(seconds=-59))
    for claims in (early, late):
        assert read(posted(provider().response(claims)), expected).id


def test_an_assertion_is_too_old_after_an_hour_whatever_it_says(expected: Expected) -> None:
    long = replace(CLAIMS, not_after=TimeDelta(hours=100), subject_not_after=TimeDelta(hours=100))
    sent = posted(provider().response(long))
    ends = read(sent, expected).ends_at
    assert read(sent, replace(expected, now=ends - TimeDelta(seconds=1))).ends_at == ends
    with pytest.raises(NotBelievedError, match="too old"):
        read(sent, replace(expected, now=ends))


def test_a_provider_may_say_a_time_at_either_end_of_the_calendar(expected: Expected) -> None:
    ends, starts = Instant("9999-12-31T23:59:59Z") - NOW, Instant("0001-01-01T00:00:00Z") - NOW
    claims = replace(CLAIMS, not_before=starts, not_after=ends, subject_not_after=ends, authenticated=starts)
    assert read(posted(provider().response(claims)), expected).name_id == "maria@corp.example"
    for odd in (replace(CLAIMS, not_before=ends), replace(CLAIMS, authenticated=ends)):
        with pytest.raises(NotBelievedError, match=r"not valid before|in the future"):
            read(posted(provider().response(odd)), expected)


def test_a_second_audience_does_no_harm_but_each_restriction_must_name_us(expected: Expected) -> None:
    also = replace(CLAIMS, audience=f"https://other.example</saml:Audience><saml:Audience>{SP}")
    assert read(posted(provider().response(also)), expected).id
    split = (
        f"{SP}</saml:Audience></saml:AudienceRestriction><saml:AudienceRestriction>"
        "<saml:Audience>https://other.example"
    )
    with pytest.raises(NotBelievedError) as refused:
        read(posted(provider().response(replace(CLAIMS, audience=split))), expected)
    assert refused.value.reason == "audience"


def test_a_condition_that_is_not_known_is_not_fulfilled(expected: Expected) -> None:
    strange = (
        f"{SP}</saml:Audience></saml:AudienceRestriction><saml:Condition/><saml:AudienceRestriction>"
        f"<saml:Audience>{SP}"
    )
    with pytest.raises(NotBelievedError, match="condition that is not known"):
        read(posted(provider().response(replace(CLAIMS, audience=strange))), expected)


def test_where_it_is_allowed_an_unsolicited_response_is_believed(expected: Expected) -> None:
    portal = replace(CLAIMS, in_response_to=None, subject_in_response_to=None)
    allowed = replace(expected, request_id="")
    assert read(posted(provider().response(portal)), allowed).name_id == "maria@corp.example"
    with pytest.raises(NotBelievedError) as refused:
        read(posted(provider().response(CLAIMS)), allowed)  # the answer to somebody else's request
    assert refused.value.reason == "in_response_to"


def test_what_the_provider_says_of_a_failed_log_in_is_passed_on(expected: Expected) -> None:
    status = "urn:oasis:names:tc:SAML:2.0:status:"
    nested = (
        f'{status}Responder"><samlp:StatusCode Value="{status}AuthnFailed"/></samlp:StatusCode><samlp:X a="'
    )
    with pytest.raises(NotBelievedError, match="Responder AuthnFailed"):
        read(posted(provider().response(replace(CLAIMS, status=nested))), expected)


def test_times_are_compared_as_instants(expected: Expected) -> None:
    shifted = replace(CLAIMS, now=Instant("2026-11-16T12:00:30.5Z"))
    assert read(posted(provider().response(shifted)), expected).authenticated_at == Instant(
        "2026-11-16T11:59:30.5Z"
    )
