"""The demo's log-in believes everybody, and still keeps to what protects a client of a real provider."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from hibernator.controlplane.ports import free_port
from hibernator.demo.provider import DemoProvider, Party, challenge
from hibernator.kube.serving import Server
from support.browser import Browser

NOW = 1_700_000_000
BACK = "http://localhost:1/oidc/callback"
VERIFIER = "v" * 43
ASKED = {
    "response_type": "code",
    "client_id": "demo",
    "redirect_uri": BACK,
    "scope": "openid email",
    "state": "s",
    "nonce": "n",
    "code_challenge": challenge(VERIFIER).decode(),
    "code_challenge_method": "S256",
}
TRADE = {
    "grant_type": "authorization_code",
    "redirect_uri": BACK,
    "client_id": "demo",
    "code_verifier": VERIFIER,
}


@asynccontextmanager
async def provider() -> AsyncIterator[Browser]:
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    made = DemoProvider(issuer, Party("demo", BACK), {"bob": "bob@shop.example"}, lambda: NOW)
    with closing(Server(made.app(), host="127.0.0.1", port=port)) as server:
        async with asyncio.TaskGroup() as group, Browser(issuer, issuer) as browser:
            serving = group.create_task(server.run())
            await server.listening.wait()
            yield browser
            serving.cancel()


async def answered(browser: Browser, login: str = "bob", **asked: str) -> dict[str, str]:
    """What a visitor is sent back with."""
    page = await browser.post(f"/authorize?{urlencode(ASKED | asked)}", {"login": login})
    assert page.status == 303, page.text
    assert page.location.partition("?")[0] == BACK
    return dict(parse_qsl(urlsplit(page.location).query))


async def traded(browser: Browser, **sent: str) -> dict[str, Any]:
    answer = await browser.post("/token", TRADE | sent)
    found: dict[str, Any] = msgspec.json.decode(answer.text)
    return found


async def test_a_code_is_worth_a_signed_token_for_this_client_and_log_in_once() -> None:
    async with provider() as browser:
        back = await answered(browser)
        assert (back["state"], back["iss"]) == ("s", browser.base_url)
        token = (await traded(browser, code=back["code"]))["id_token"]
        keys = KeySet.import_key_set(msgspec.json.decode((await browser.get("/jwks")).text))
        assert await traded(browser, code=back["code"]) == {"error": "invalid_grant"}
        assert "d" not in keys.as_dict(private=False)["keys"][0]
        assert '"d"' not in (await browser.get("/jwks")).text
    assert jwt.decode(token, keys, ["ES256"]).claims == {
        "iss": browser.base_url,
        "sub": "bob@shop.example",
        "aud": "demo",
        "iat": NOW,
        "auth_time": NOW,
        "exp": NOW + 300,
        "nonce": "n",
        "email": "bob@shop.example",
        "email_verified": True,
        "name": "Bob",
    }


async def test_a_code_is_worth_nothing_to_others() -> None:
    async with provider() as browser:
        for wrong, error in (
            ({"code_verifier": "w" * 43}, "invalid_grant"),
            ({"redirect_uri": f"{BACK}/"}, "invalid_grant"),
            ({"client_id": "other"}, "invalid_client"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
        ):
            code = (await answered(browser))["code"]
            assert await traded(browser, code=code, **wrong) == {"error": error}
        assert await traded(browser, code="made-up") == {"error": "invalid_grant"}


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "email"}, "invalid_scope"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"nonce": ""}, "invalid_request"),
        ({"prompt": "none"}, "login_required"),
        ({"login": "mallory"}, "access_denied"),
    ],
)
async def test_what_is_asked_wrongly_goes_back_without_a_code(wrong: dict[str, str], error: str) -> None:
    async with provider() as browser:
        back = await answered(browser, **wrong)
    assert back == {"error": error, "state": "s", "iss": browser.base_url}


async def test_strangers_are_sent_nowhere() -> None:
    async with provider() as browser:
        for wrong in ({"redirect_uri": "http://localhost:2/oidc/callback"}, {"client_id": "other"}):
            page = await browser.post(f"/authorize?{urlencode(ASKED | wrong)}", {"login": "bob"})
            assert page.status == 400
            assert "location" not in page.headers
        elsewhere = await browser.get(f"/authorize?{urlencode(ASKED)}")
        assert elsewhere.status == 200
        browser.base_url = "http://rebound.example"
        assert (await browser.get("/jwks")).status == 400
