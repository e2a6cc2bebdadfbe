"""A whole log-in at a real SAML identity provider, and what an attacker makes of its answer."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from hibernator.controlplane.ports import free_port
from hibernator.web.saml.request import own_metadata
from hibernator.web.saml.service import CONSUMER
from support.browser import Answer, Browser
from support.chromium import tab
from support.cluster import ClusterInTest
from support.peers import running_peer
from support.saml import provider
from support.webs import BASE_URL, Webs, running_webs, web_settings

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium

MARIA = "maria@company.com"


@pytest.fixture(scope="module")
def saml_peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _peer(tmp_path_factory.mktemp("idp"), BASE_URL) as metadata:
        yield metadata


@contextmanager
def _peer(folder: Path, base_url: str, binding: str = "HTTP-Redirect") -> Iterator[str]:
    """A provider that knows us under this address; its metadata is in the file."""
    made = provider("peer")
    key = made.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(key)
    (folder / "cert.pem").write_bytes(made.certificate.public_bytes(Encoding.PEM))
    (folder / "sp.xml").write_bytes(own_metadata(f"{base_url}/saml/metadata", f"{base_url}{CONSUMER}"))
    with running_peer("saml.mjs", str(folder)) as base:
        with urlopen(f"{base}/metadata") as answer:  # noqa: S310  our own peer, on loopback
            told = answer.read().decode()
            (folder / "idp.xml").write_text(told.replace("HTTP-Redirect", binding))
        yield str(folder / "idp.xml")


@pytest.fixture(scope="module")
async def saml_webs(
    crds: ClusterInTest, saml_peer: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Webs]:
    namespace = crds.create_namespace()
    chosen = web_settings(
        tmp_path_factory.mktemp("web-saml"),
        saml_idp_metadata_file=saml_peer,
        allowed_email_domains="company.com",
        namespace=namespace,
        watch_namespace=namespace,
        fresh_login_minutes=5,
    )
    async with running_webs(crds.kubeconfig, chosen, replicas=2) as found:
        yield found


@pytest.fixture(scope="module")
async def forms_only(crds: ClusterInTest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Webs]:
    """Where the provider takes requests by HTTP-POST only, and a real browser reaches us."""
    folder, namespace, port = tmp_path_factory.mktemp("forms"), crds.create_namespace(), free_port()
    with _peer(folder, f"http://127.0.0.1:{port}", "HTTP-POST") as metadata:
        chosen = web_settings(
            folder,
            base_url=f"http://127.0.0.1:{port}",
            listen=f"127.0.0.1:{port}",
            saml_idp_metadata_file=metadata,
            namespace=namespace,
            watch_namespace=namespace,
        )
        async with running_webs(crds.kubeconfig, chosen) as found:
            yield found


async def _answered(browser: Browser, who: str, path: str = "/login") -> tuple[str, dict[str, str]]:
    """Log in at the provider, and stop before its form is sent."""
    form = await browser.follow(await browser.get(path))
    assert "Who are you?" in form.text, form.text
    page = await browser.post(form.url, {"login": who})
    found = re.search(r'action="([^"]*)"', page.text)
    assert found, page.text
    return found[1], {name: unescape(page.field(name)) for name in ("SAMLResponse", "RelayState")}


async def _sent(browser: Browser, action: str, form: dict[str, str]) -> Answer:
    return await browser.post(action, form, sec_fetch_site="cross-site", origin="https://idp.example")


async def test_somebody_who_logs_in_at_the_provider_is_logged_in_here_at_any_replica(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        action, form = await _answered(browser, MARIA, "/login?next=/%3Fa%3Db")
        browser.replica = saml_webs.at(1)
        page = await browser.follow(await _sent(browser, action, form))
        assert page.url == f"{BASE_URL}/?a=b"
        assert f"{MARIA}, by SAML" in page.text

        again = await _sent(browser, action, form)
        assert again.status == 400  # the attempt is over
        assert "did not begin in this browser" in again.text


async def test_a_captured_answer_is_worth_nothing_a_second_time(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        action, form = await _answered(browser, MARIA)
        kept = dict(browser.cookies["hibernator.test"])
        assert (await _sent(browser, action, form)).status == 303
        browser.cookies["hibernator.test"] = kept  # as if the whole browser were copied
        again = await _sent(browser, action, form)
        assert again.status == 403
        assert "(replay)" in again.text


async def test_a_copied_cookie_is_worth_nothing_after_the_log_out_at_any_replica(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser, saml_webs.browser(1) as thief:
        await _sent(browser, *(await _answered(browser, MARIA)))
        thief.cookies["hibernator.test"] = dict(browser.cookies["hibernator.test"])
        page = await thief.get("/")
        assert 'action="/logout"' in page.text
        await browser.post("/logout", {"form_token": page.field("form_token")})
        await saml_webs.replicas[1].site.ended.look()
        for replica in (0, 1):
            thief.replica = saml_webs.at(replica)
            assert 'action="/logout"' not in (await thief.get("/")).text
            assert (await thief.post("/logout", {"form_token": page.field("form_token")})).status == 200


async def test_an_answer_for_another_browser_logs_nobody_in(saml_webs: Webs) -> None:
    async with saml_webs.browser() as attacker, saml_webs.browser() as victim:
        action, form = await _answered(attacker, MARIA)
        await _answered(victim, MARIA)
        assert (await _sent(victim, action, form)).status == 400
        state = next(name for name in victim.cookies["hibernator.test"] if "login" in name)
        assert state
        theirs = await _answered(victim, MARIA)
        crossed = await _sent(victim, action, form | {"RelayState": theirs[1]["RelayState"]})
        assert crossed.status == 403
        assert "(in response to)" in crossed.text


async def test_a_tampered_answer_is_refused_and_says_so_in_words(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        action, form = await _answered(browser, MARIA)
        page = await _sent(
            browser, action, form | {"SAMLResponse": form["SAMLResponse"].replace("A", "B", 40)}
        )
        assert page.status == 403
        assert "You are not logged in" in page.text
        assert "set-cookie" not in page.headers or "session" not in page.headers["set-cookie"]


async def test_people_of_other_domains_stay_outside(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        page = await _sent(browser, *(await _answered(browser, "maria@elsewhere.com")))
        assert (page.status, "Addresses of elsewhere.com" in page.text) == (403, True)


async def test_a_fresh_log_in_asks_the_provider_to_ask_again(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        await _sent(browser, *(await _answered(browser, MARIA)))
        page = await browser.follow(
            await _sent(browser, *(await _answered(browser, MARIA, "/login?fresh=1")))
        )
        assert page.status == 200


async def test_our_metadata_is_public_and_too_large_an_answer_is_refused(saml_webs: Webs) -> None:
    async with saml_webs.browser() as browser:
        found = await browser.get("/saml/metadata")
        assert f'Location="{BASE_URL}/saml/acs"' in found.text
        action, form = await _answered(browser, MARIA)
        assert (await _sent(browser, action, form | {"SAMLResponse": "A" * 700_000})).status == 413
        assert "(malformed)" in (await _sent(browser, action, form | {"SAMLResponse": "A" * 300_000})).text


@pytest.mark.parametrize("scripts", ["with scripts", "without scripts", "scripts that do not load"])
async def test_a_provider_that_takes_only_forms_is_reached_by_one(
    forms_only: Webs, chromium: "Chromium", scripts: str
) -> None:
    base_url = forms_only.settings.base_url
    async with tab(chromium, base_url, java_script_enabled=scripts != "without scripts") as found:
        page = found.page
        if scripts == "scripts that do not load":
            await page.route("**/send.js*", lambda route: route.abort())
        await found.open("/login?next=/plans")
        if scripts == "scripts that do not load":
            assert await found.faults() == []
        if scripts != "with scripts":
            await page.get_by_role("button", name="Go on").click()
        await page.get_by_label("Who are you?").fill(MARIA)
        await page.get_by_role("button", name="Log in").click()
        async with page.expect_navigation(url=f"{base_url}/**"):
            await page.get_by_role("button", name="Go on").click()
        assert page.url == f"{base_url}/plans"
        assert f"{MARIA}, by SAML" in await page.content()
        assert not [said for said in found.complaints if "Policy" in said]


async def test_the_page_with_the_form_may_send_it_to_the_provider_and_nothing_else(forms_only: Webs) -> None:
    async with forms_only.browser() as browser:
        page = await browser.get("/login/saml?next=/plans")
        assert page.status == 200
        assert "form-action http:;" in page.headers["content-security-policy"]
        assert "script-src 'self';" in page.headers["content-security-policy"]
        assert any("hibernator-login-" in cookie for cookie in page.set_cookies)
