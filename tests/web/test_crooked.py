"""The whole process with a provider that lies: nothing but the truth about this log-in lets anybody in."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc.jwk import RSAKey
from starlette.responses import PlainTextResponse
from whenever import Instant

from hibernator.kube.clock import SystemClock
from support.browser import Answer, Browser
from support.cluster import ClusterInTest
from support.crooked_provider import CrookedProvider, crooked_provider
from support.webs import BASE_URL, Webs, running_webs, web_settings

DESCRIPTION = "/.well-known/openid-configuration"


@dataclass
class Scene:
    webs: Webs
    provider: CrookedProvider

    async def begin(self, browser: Browser, query: str = "") -> dict[str, str]:
        """What the provider is asked with."""
        sent = await browser.get(f"/login/oidc?next=/{query}")
        return {name: value[0] for name, value in parse_qs(urlsplit(sent.location).query).items()}

    def claims(self, asked: dict[str, str], **changed: Any) -> dict[str, Any]:
        now = Instant.now().timestamp()
        return {
            "iss": self.provider.issuer,
            "sub": "00u1",
            "aud": "hibernator",
            "iat": now,
            "exp": now + 300,
            "auth_time": now,
            "nonce": asked["nonce"],
            "email": "alice@company.com",
            "email_verified": True,
        } | changed

    async def finish(self, browser: Browser, asked: dict[str, str], id_token: str) -> Answer:
        self.provider.id_token = id_token
        return await browser.follow(await browser.get(f"/oidc/callback?code=c&state={asked['state']}"))


class Steady(SystemClock):
    """The real time of day, with seconds that a test lets pass."""

    passed = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


CLOCK = Steady()


@pytest.fixture(scope="module")
async def scene(crds: ClusterInTest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    async with crooked_provider() as provider:
        provider.answers[DESCRIPTION] = PlainTextResponse("", 503)
        chosen = web_settings(
            tmp_path_factory.mktemp("crooked"),
            oidc_issuer=provider.issuer,
            fresh_login_minutes=5,
            watch_namespace=crds.create_namespace(),
        )
        async with running_webs(crds.kubeconfig, chosen, clock=CLOCK) as webs:
            yield Scene(webs, provider)


@contextmanager
def _gone(file: Path) -> Iterator[None]:
    away = file.rename(file.with_suffix(".away"))
    try:
        yield
    finally:
        away.rename(file)


async def test_a_provider_that_is_away_is_a_clear_page_and_a_retry(scene: Scene) -> None:
    scene.provider.answers[DESCRIPTION] = PlainTextResponse("", 503)
    async with scene.webs.browser() as browser:
        away = await browser.follow(await browser.get("/login?next=/approve/1"))
        assert (away.status, "You cannot log in right now" in away.text) == (503, True)
        assert 'href="/login?next=/approve/1"' in away.text
        scene.provider.answers.clear()
        sent = await browser.get("/login/oidc?next=/approve/1")
        assert sent.location.startswith(f"{scene.provider.issuer}/auth?")


async def test_a_client_secret_that_cannot_be_read_is_no_unexpected_error(scene: Scene) -> None:
    scene.provider.answers.clear()
    file = Path(scene.webs.settings.oidc_client_secret_file)
    async with scene.webs.browser() as browser:
        asked = await scene.begin(browser)
        with _gone(file):
            page = await scene.finish(browser, asked, scene.provider.signed(scene.claims(asked)))
        assert (page.status, "You cannot log in right now" in page.text) == (503, True)


async def test_nothing_but_the_truth_about_this_log_in_lets_anybody_in(scene: Scene) -> None:
    scene.provider.answers.clear()
    provider, stranger = scene.provider, RSAKey.generate_key(2048, {"kid": "one"})
    now = Instant.now().timestamp()
    lies: dict[str, dict[str, Any]] = {
        "nonce": {"nonce": "another"},
        "issuer": {"iss": "https://evil.com"},
        "audience": {"aud": "another"},
        "expired": {"exp": now - 61},
        "unverified_email": {"email_verified": False},
        "auth_time": {"auth_time": now - 9 * 3600},
    }
    async with scene.webs.browser() as browser:
        for reason, lie in lies.items():
            asked = await scene.begin(browser)
            page = await scene.finish(browser, asked, provider.signed(scene.claims(asked, **lie)))
            assert (reason, page.status) == (reason, 403)
            assert 'action="/logout"' not in page.text
        for how in ("unsigned", "confused", "stranger"):
            asked = await scene.begin(browser)
            claims = scene.claims(asked)
            tokens = {
                "unsigned": provider.unsigned(claims),
                "confused": provider.confused(claims),
                "stranger": provider.signed(claims, stranger),
            }
            page = await scene.finish(browser, asked, tokens[how])
            assert (how, page.status, "not signed by the provider" in page.text) == (how, 403, True)
        asked = await scene.begin(browser)
        page = await scene.finish(browser, asked, provider.signed(scene.claims(asked)))
        assert (page.url, "alice@company.com" in page.text) == (f"{BASE_URL}/", True)


async def test_the_token_of_one_log_in_is_no_answer_to_another(scene: Scene) -> None:
    scene.provider.answers.clear()
    async with scene.webs.browser() as alice, scene.webs.browser() as mallory:
        hers, his = await scene.begin(alice), await scene.begin(mallory)
        page = await scene.finish(mallory, his, scene.provider.signed(scene.claims(hers)))
        assert (page.status, "(nonce)" in page.text) == (403, True)


async def test_keys_that_the_provider_rotates_are_followed(scene: Scene) -> None:
    scene.provider.answers.clear()
    async with scene.webs.browser() as browser:
        asked = await scene.begin(browser)
        assert (await scene.finish(browser, asked, scene.provider.signed(scene.claims(asked)))).status == 200
        CLOCK.passed += 31
        scene.provider.keys = [RSAKey.generate_key(2048, {"kid": "two"})]
        asked = await scene.begin(browser)
        assert (await scene.finish(browser, asked, scene.provider.signed(scene.claims(asked)))).status == 200


async def test_a_fresh_log_in_is_asked_for_and_proved(scene: Scene) -> None:
    scene.provider.answers.clear()
    now = Instant.now().timestamp()
    async with scene.webs.browser() as browser:
        asked = await scene.begin(browser)
        assert asked["max_age"] == "28800"  # so that the provider says when
        old = scene.provider.signed(scene.claims(asked, auth_time=now - 3600))
        assert (await scene.finish(browser, asked, old)).status == 200
        asked = await scene.begin(browser, "&fresh=1")
        assert asked["max_age"] == "300"
        old = scene.provider.signed(scene.claims(asked, auth_time=now - 3600))
        page = await scene.finish(browser, asked, old)
        assert (page.status, "did not ask you to log in again" in page.text) == (403, True)
        asked = await scene.begin(browser, "&fresh=1")
        assert (await scene.finish(browser, asked, scene.provider.signed(scene.claims(asked)))).status == 200
