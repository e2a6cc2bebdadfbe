"""What a provider says is believed only as far as it is signed, and it is asked no more than needed."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from joserfc.jwk import ECKey, RSAKey
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from whenever import Instant, TimeDelta

from hibernator.admission.certificates import issue
from hibernator.kube.clock import SystemClock
from hibernator.kube.tls import ReloadingTls
from hibernator.web.app import _trust as trust
from hibernator.web.provider import Provider
from hibernator.web.refusals import LoginRefusedError, ProviderAwayError
from hibernator.web.settings import Settings
from support.clock import ManualClock
from support.crooked_provider import CrookedProvider, crooked_provider

CLAIMS = {"sub": "00u1", "email": "alice@company.com"}


@pytest.fixture
async def crooked() -> AsyncIterator[CrookedProvider]:
    async with crooked_provider() as found:
        yield found


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def provider(crooked: CrookedProvider, clock: ManualClock) -> AsyncIterator[Provider]:
    async with aiohttp.ClientSession() as session:
        yield Provider(crooked.issuer, session, clock)


async def refused(provider: Provider, token: str) -> str:
    with pytest.raises(LoginRefusedError) as error:
        await provider.claims(token)
    return error.value.reason


async def test_what_the_provider_signed_is_believed(crooked: CrookedProvider, provider: Provider) -> None:
    assert await provider.claims(crooked.signed(CLAIMS)) == CLAIMS
    crooked.keys.append(ECKey.generate_key("P-256", {"kid": "elliptic"}))
    provider._keys = None
    assert await provider.claims(crooked.signed(CLAIMS, crooked.keys[1])) == CLAIMS


async def test_what_anybody_could_have_made_is_refused(crooked: CrookedProvider, provider: Provider) -> None:
    stranger = RSAKey.generate_key(2048, {"kid": "one"})
    header, payload, signature = crooked.signed(CLAIMS).split(".")
    other_payload = crooked.signed(CLAIMS | {"email": "boss@company.com"}).split(".")[1]
    made_up = {
        "without a signature": crooked.unsigned(CLAIMS),
        "signed with the public key as a secret": crooked.confused(CLAIMS),
        "signed by another key of the same name": crooked.signed(CLAIMS, stranger),
        "with other claims": f"{header}.{other_payload}.{signature}",
        "cut off": f"{header}.{payload}.",
        "no token": "hello",
        "empty": "",
        "no JSON": "e30.e30.e30",
        "with its own key": crooked.signed(CLAIMS, stranger, jwk=stranger.as_dict(private=False)),
    }
    for how, token in made_up.items():
        assert await refused(provider, token) == "signature", how


async def test_a_new_key_is_asked_for_when_a_token_names_it_and_not_for_each_made_up_name(
    crooked: CrookedProvider, provider: Provider, clock: ManualClock
) -> None:
    await provider.claims(crooked.signed(CLAIMS))
    crooked.keys = [RSAKey.generate_key(2048, {"kid": "two"})]
    await clock.advance(31)
    assert await provider.claims(crooked.signed(CLAIMS)) == CLAIMS
    before = crooked.asked.count("/jwks")
    stranger = RSAKey.generate_key(2048, {"kid": "stranger"})
    for _ in range(5):
        await refused(provider, crooked.signed(CLAIMS, stranger))
    assert crooked.asked.count("/jwks") == before
    await clock.advance(31)
    await refused(provider, crooked.signed(CLAIMS, stranger))
    assert crooked.asked.count("/jwks") == before + 1


@pytest.mark.parametrize("name", ["two", "one"])  # some providers give each key the same name
async def test_who_logs_in_right_after_the_provider_has_changed_its_key_is_let_in(
    crooked: CrookedProvider, provider: Provider, clock: ManualClock, name: str
) -> None:
    await provider.claims(crooked.signed(CLAIMS))
    for _ in range(2):
        crooked.keys = [RSAKey.generate_key(2048, {"kid": name})]
        assert await provider.claims(crooked.signed(CLAIMS)) == CLAIMS
        await clock.advance(6)


async def test_description_and_keys_are_remembered_for_an_hour_and_kept_while_the_provider_is_away(
    crooked: CrookedProvider, provider: Provider, clock: ManualClock
) -> None:
    for _ in range(3):
        await provider.claims(crooked.signed(CLAIMS))
    assert len(crooked.asked) == 2
    await clock.advance(3601)
    crooked.answers = dict.fromkeys(
        ("/.well-known/openid-configuration", "/jwks"), PlainTextResponse("", 503)
    )
    assert await provider.claims(crooked.signed(CLAIMS)) == CLAIMS
    assert len(crooked.asked) == 4
    crooked.answers = {}
    await clock.advance(31)
    await provider.description()
    assert len(crooked.asked) == 5


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"issuer": "https://evil.com"}, "calls itself 'https://evil.com'"),
        ({"token_endpoint": "http://login.company.com/token"}, "does not begin with https"),
        ({"jwks_uri": "file:///etc/passwd"}, "does not begin with https"),
        ({"userinfo_endpoint": "http://169.254.169.254/"}, "does not begin with https"),
        ({"token_endpoint": None}, "something else than expected"),
    ],
)
async def test_a_provider_that_describes_itself_wrongly_is_not_used(
    crooked: CrookedProvider, provider: Provider, described: dict[str, Any], words: str
) -> None:
    crooked.described = described
    with pytest.raises(ProviderAwayError, match=words):
        await provider.description()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (PlainTextResponse("busy", 503), "answered 503"),
        (RedirectResponse("http://169.254.169.254/latest/meta-data/"), "answered 307"),
        (PlainTextResponse("x" * ((1 << 20) + 1)), "more than 1048576 bytes"),
        (PlainTextResponse("<html>"), "something else than expected"),
        (JSONResponse([]), "something else than expected"),
    ],
)
async def test_an_answer_that_cannot_be_used_says_so(
    crooked: CrookedProvider, provider: Provider, answer: Response, words: str
) -> None:
    crooked.answers["/.well-known/openid-configuration"] = answer
    with pytest.raises(ProviderAwayError, match=words):
        await provider.description()


async def test_a_provider_that_is_not_there_says_so(clock: ManualClock) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(ProviderAwayError, match="does not answer: ClientConnectorError"):
            await Provider("http://127.0.0.1:1", session, clock).description()


async def test_a_provider_with_an_authority_of_its_own_is_trusted_by_the_file_that_holds_it(
    clock: ManualClock, tmp_path: Path
) -> None:
    now, front = Instant.now(), ReloadingTls()
    authority, certificate, key = issue(["127.0.0.1"], now - TimeDelta(hours=1), now + TimeDelta(hours=1))
    front.use(certificate, key)
    file = tmp_path / "authority.pem"
    file.write_bytes(authority)
    async with crooked_provider(front.context) as crooked, aiohttp.ClientSession() as session:
        trusted = trust(Settings(oidc_ca_file=str(file)))
        assert (
            await Provider(crooked.issuer, session, clock, trusted).description()
        ).issuer == crooked.issuer
        with pytest.raises(ProviderAwayError, match="does not answer: ClientConnectorCertificateError"):
            await Provider(crooked.issuer, session, clock, trust(Settings())).description()
        crooked.described = {"jwks_uri": crooked.issuer.replace("https", "http") + "/jwks"}
        with pytest.raises(ProviderAwayError, match="does not begin with https"):
            await Provider(crooked.issuer, session, clock, trusted).description()


async def test_keys_that_are_none_are_no_reason_to_believe_anything(
    crooked: CrookedProvider, provider: Provider
) -> None:
    documents: list[dict[str, Any]] = [{"keys": []}, {"keys": "no"}, {}, {"keys": [{"kty": "RSA"}]}]
    for document in documents:
        crooked.answers["/jwks"] = JSONResponse(document)
        with pytest.raises(ProviderAwayError, match="its keys cannot be used"):
            await provider.claims(crooked.signed(CLAIMS))


async def test_those_who_wait_for_a_provider_that_is_away_share_the_failure(
    crooked: CrookedProvider,
) -> None:
    path = "/.well-known/openid-configuration"
    crooked.answers[path] = PlainTextResponse("", 503)
    async with aiohttp.ClientSession() as session:
        provider = Provider(crooked.issuer, session, SystemClock())
        found = await asyncio.gather(*(provider.description() for _ in range(5)), return_exceptions=True)
        assert all(isinstance(one, ProviderAwayError) for one in found)
        assert crooked.asked.count(path) == 1
        crooked.answers.clear()
        assert (await provider.description()).issuer == crooked.issuer  # who comes later asks anew


async def test_a_key_that_cannot_be_used_hides_no_other(crooked: CrookedProvider, provider: Provider) -> None:
    odd: list[Any] = [
        {"kty": "AKP", "alg": "ML-DSA-44", "kid": "of tomorrow", "pub": "xx"},
        {"kty": "OKP", "crv": "X25519", "x": "AAAA", "kid": "too short"},
        {"kty": "EC", "crv": "P-999", "x": "a", "y": "b", "kid": "another curve"},
        {"kty": "RSA", "kid": "nothing in it"},
        *("text", None, {}),
    ]
    for one in odd:
        good = crooked.keys[0].as_dict(private=False)
        crooked.answers["/jwks"] = JSONResponse({"keys": [one, good]})
        provider._keys = None
        assert await provider.claims(crooked.signed(CLAIMS)) == CLAIMS, one


async def test_a_code_that_was_used_is_a_refusal_and_a_broken_provider_is_not(
    crooked: CrookedProvider, provider: Provider
) -> None:
    crooked.answers["/token"] = JSONResponse({"error": "invalid_grant"}, 400)
    with pytest.raises(LoginRefusedError, match="code"):
        await provider.exchange("code", "verifier", "https://h/cb", "hibernator", "secret")
    for answer in (JSONResponse({"error": "invalid_client"}, 401), PlainTextResponse("", 500)):
        crooked.answers["/token"] = answer
        with pytest.raises(ProviderAwayError):
            await provider.exchange("code", "verifier", "https://h/cb", "hibernator", "secret")


async def test_a_client_says_who_it_is_as_the_provider_wants_it(
    crooked: CrookedProvider, provider: Provider
) -> None:
    crooked.id_token = "x"
    await provider.exchange("code", "verifier", "https://h/cb", "hibernator", "secret")
    assert "client_secret" not in crooked.forms[-1]
    crooked.described = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    provider._description = None
    await provider.exchange("code", "verifier", "https://h/cb", "hibernator", "secret")
    assert crooked.forms[-1]["client_secret"] == "secret"
    await provider.exchange("code", "verifier", "https://h/cb", "hibernator", "")
    assert crooked.forms[-1]["client_id"] == "hibernator"
    assert "client_secret" not in crooked.forms[-1]
