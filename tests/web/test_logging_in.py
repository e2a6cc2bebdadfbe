"""Logging in with a real OpenID Connect provider at two replicas of the real process, and attacks on it."""

import asyncio
import html
import json
import re
from collections import OrderedDict
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from structlog.testing import capture_logs

from hibernator.web.limits import Limits, Rate
from hibernator.web.metrics import LOGINS, REFUSALS
from hibernator.web.sessions import COOKIE
from support.browser import Answer, Browser
from support.webs import BASE_URL, Webs

BOB = "bob@company.com"
CAROL = "carol@company.com"
HOST = "hibernator.test"


def counted(webs: Webs, result: str) -> float:
    return sum(web.metrics.value(LOGINS, "oidc", result) for web in webs.replicas)


def session_of(webs: Webs, browser: Browser) -> dict[str, str]:
    return {name: value for name, value in browser.cookies[HOST].items() if name.startswith(COOKIE)}


def is_logged_in(page: Answer) -> bool:
    return "Log out" in page.text


async def test_somebody_who_logs_in_is_led_to_the_page_that_they_wanted(webs: Webs) -> None:
    async with webs.browser() as browser:
        before = await browser.get("/")
        assert not is_logged_in(before)
        page = await webs.log_in(browser, BOB, "/?a=b%26c", name="Bob <b>")
        assert page.status == 200
        assert page.url == f"{BASE_URL}/?a=b%26c"
        assert "You are logged in as <strong>Bob &lt;b&gt;</strong> (bob@company.com)" in page.text
        assert not [name for name in browser.cookies[HOST] if "login" in name]


async def test_the_provider_is_asked_with_all_that_binds_its_answer_to_this_browser(webs: Webs) -> None:
    async with webs.browser() as browser:
        one, other = [(await browser.get((await browser.get("/login")).location)).location for _ in range(2)]
    asked = {name: value[0] for name, value in parse_qs(urlsplit(one).query).items()}
    assert asked | {"state": "", "nonce": "", "code_challenge": ""} == {
        "response_type": "code",
        "client_id": "hibernator",
        "redirect_uri": f"{BASE_URL}/oidc/callback",
        "scope": "openid email profile",
        "state": "",
        "nonce": "",
        "code_challenge": "",
        "code_challenge_method": "S256",
    }
    again = {name: value[0] for name, value in parse_qs(urlsplit(other).query).items()}
    for secret in ("state", "nonce", "code_challenge"):
        assert len(asked[secret]) >= 43
        assert asked[secret] != again[secret]


async def test_a_log_in_begun_at_one_replica_ends_at_another_and_a_third_page_comes_from_the_first(
    webs: Webs,
) -> None:
    async with webs.browser(0) as browser:
        back = await webs.at_provider(browser, BOB)
        browser.replica = webs.at(1)
        assert is_logged_in(await browser.follow(await browser.get(back)))
        browser.replica = webs.at(0)
        assert is_logged_in(await browser.get("/"))


async def test_a_replica_killed_in_the_middle_of_a_log_in_costs_one_retry(webs: Webs) -> None:
    """At the worst moment: the provider's code is used up, and the session never reached the browser."""
    async with webs.browser(0) as browser:
        back = await webs.at_provider(browser, BOB, "/login?next=/approve/1")
        kept = {host: dict(jar) for host, jar in browser.cookies.items()}
        assert (await browser.get(back)).status == 303
        browser.cookies = kept  # this answer was lost
        browser.replica = webs.at(1)
        lost = await browser.get(back)
        assert lost.status == 403, lost.text
        [link] = re.findall(r'href="(/login\?[^"]*)"', lost.text)
        there = await browser.follow(await browser.get(html.unescape(link)))
        assert is_logged_in(there)  # the provider remembers who it is
        assert there.url.endswith("/approve/1")


async def test_an_answer_counts_once_and_in_its_own_browser_only(webs: Webs) -> None:
    async with webs.browser() as browser, webs.browser() as victim:
        back = await webs.at_provider(browser, BOB)
        # Somebody else is made to follow the link, and would be logged in as Bob without noticing.
        stolen = await victim.get(back)
        assert (stolen.status, "You are not logged in" in stolen.text) == (400, True)
        assert not session_of(webs, victim)
        kept = dict(browser.cookies[HOST])
        assert (await browser.get(back)).status == 303
        assert (await browser.get(back)).status == 400
        browser.cookies[HOST] = (
            kept  # the cookie was copied before: the provider knows that the code was used
        )
        again = await browser.get(back)
        assert again.status == 403
        assert "used already" in again.text
        assert not session_of(webs, browser)


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"state": "another"}, 400, "did not begin in this browser"),
        ({"state": ""}, 400, "did not begin in this browser"),
        ({"state": "another"}, 400, "Log in again, at hibernator.test."),
        ({"code": "made-up"}, 403, "used already, or took too long"),
        ({"code": ""}, 403, "did not log you in (no reason)"),
        ({"code": "x" * 5000}, 403, "did not log you in (no reason)"),
        ({"iss": "https://evil.com"}, 403, "Another provider answered"),
        ({"iss": None}, 403, "Another provider answered"),
        ({"code": "", "error": "access_denied"}, 403, "did not log you in (access_denied)"),
        ({"code": "", "error": "<b>call 0900"}, 403, "did not log you in (no reason)"),
    ],
)
async def test_an_answer_that_was_changed_logs_nobody_in(
    webs: Webs, changed: dict[str, str | None], status: int, words: str
) -> None:
    async with webs.browser() as browser:
        back = urlsplit(await webs.at_provider(browser, BOB))
        query = {name: value[0] for name, value in parse_qs(back.query).items()} | changed
        sent = urlencode({name: value for name, value in query.items() if value is not None})
        page = await browser.get(f"/oidc/callback?{sent}")
        assert page.status == status
        assert words in page.text
        assert 'href="/login?next=/"' in page.text
        assert not session_of(webs, browser)


async def test_a_session_from_before_the_log_in_is_worth_nothing_after_it(webs: Webs) -> None:
    async with webs.browser() as attacker, webs.browser() as victim:
        await webs.log_in(attacker, "mallory@company.com")
        planted = session_of(webs, attacker)
        victim.cookies[HOST] = dict(planted)
        back = await webs.at_provider(victim, BOB, "/login?fresh=1")
        assert BOB in (await victim.follow(await victim.get(back))).text
        assert session_of(webs, victim) != planted
        assert "mallory" in (await attacker.get("/")).text


@pytest.mark.parametrize(
    ("who", "claims", "reason", "words"),
    [
        (BOB, {"email_verified": False}, "unverified_email", "has not verified your e-mail address"),
        ("eve@evil.com", {}, "domain", "Addresses of evil.com may not log in here"),
        (BOB, {"email": None}, "no_email", "does not say which e-mail address"),
    ],
)
async def test_who_may_not_come_in_is_told_why_and_counted(
    webs: Webs, who: str, claims: dict[str, Any], reason: str, words: str
) -> None:
    before = counted(webs, reason)
    async with webs.browser() as browser:
        page = await webs.log_in(browser, who, **claims)
        assert (page.status, words in page.text) == (403, True), page.text
        assert not session_of(webs, browser)
    assert counted(webs, reason) == before + 1


@pytest.mark.parametrize("next_", ["https://evil.com", "//evil.com", "/\\evil.com", "/%09/evil.com"])
async def test_no_link_leads_elsewhere_after_a_log_in(webs: Webs, next_: str) -> None:
    async with webs.browser() as browser:
        back = await webs.at_provider(browser, BOB, f"/login?next={next_}")
        assert (await browser.get(back)).location == f"{BASE_URL}/"
        assert (await browser.get(f"/login?next={next_}")).location == f"{BASE_URL}/"


async def test_log_out_takes_a_form_of_this_session_from_a_page_of_ours(webs: Webs) -> None:
    async with webs.browser() as browser, webs.browser() as other:
        page = await webs.log_in(browser, BOB)
        token = page.field("form_token")
        theirs = (await webs.log_in(other, BOB)).field("form_token")
        refusals = {
            "another site": await browser.post("/logout", {"form_token": token}, origin="https://evil.com"),
            "a frame of another site": await browser.post(
                "/logout", {"form_token": token}, sec_fetch_site="cross-site"
            ),
            "no token": await browser.post("/logout", {}),
            "another session's token": await browser.post("/logout", {"form_token": theirs}),
        }
        assert {how: answer.status for how, answer in refusals.items()} == dict.fromkeys(refusals, 403)
        assert is_logged_in(await browser.get("/"))
        wrong = await browser.get("/logout")
        assert (wrong.status, wrong.headers["allow"]) == (405, "POST")
        done = await browser.post("/logout", {"form_token": token})
        assert "You are logged out" in done.text
        assert not session_of(webs, browser)
        assert not is_logged_in(await browser.get("/"))


async def test_every_answer_is_dressed_and_asks_for_nothing_from_elsewhere(webs: Webs) -> None:
    async with webs.browser() as browser:
        pages = [
            await browser.get("/"),
            await browser.get("/static/style.css"),
            await browser.get("/nowhere"),
            await browser.get("/oidc/callback"),
            await browser.post("/", {}, origin="https://evil.com"),
            await browser.get("/login"),
            await webs.log_in(browser, BOB),
        ]
    for page in pages:
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["strict-transport-security"]
        assert "server" not in page.headers
        if "text/html" in page.headers.get("content-type", ""):
            assert page.headers["cache-control"] == "no-store"
            for trouble in ("<script>", "<style", "style=", "onclick", "http:", "https:"):
                assert trouble not in page.text


async def test_a_body_or_cookies_that_are_too_long_are_refused(webs: Webs) -> None:
    async with webs.browser() as browser:
        page = await webs.log_in(browser, BOB)
        form = {"form_token": page.field("form_token")}
        long = await browser.post("/logout", form | {"x": "x" * 70_000})
        assert (long.status, "That is too long" in long.text) == (413, True)
        many = await browser.post("/logout", form | {str(each): "x" for each in range(30)})
        assert many.status == 400
        fat = await browser.get("/", cookie="a=" + "b" * 30_000)
        assert (fat.status, "Delete the cookies" in fat.text) == (431, True)
        assert is_logged_in(await browser.get("/"))


async def test_a_forged_address_does_not_escape_the_limits(webs: Webs) -> None:
    limit = webs.replicas[0].site.limits.login
    with patch.object(limit, "rate", Rate(5, 0.1)), patch.object(limit, "_left", OrderedDict()):
        async with webs.browser() as browser:
            answers = [
                await browser.get("/oidc/callback", x_forwarded_for=f"203.0.113.{each}") for each in range(6)
            ]
    assert [answer.status for answer in answers] == [*[400] * 5, 429]
    assert "Try again in 10 seconds." in answers[-1].text
    assert answers[-1].headers["retry-after"] == "10"


async def test_people_at_one_address_do_not_use_up_what_others_there_may_ask_for(webs: Webs) -> None:
    limit = webs.replicas[0].site.limits.request
    async with webs.browser() as stranger, webs.browser() as bob, webs.browser() as carol:
        for browser, who in ((bob, BOB), (carol, CAROL)):
            await webs.log_in(browser, who)
        with patch.object(limit, "rate", Rate(5, 0.1)), patch.object(limit, "_left", OrderedDict()):
            for browser in (stranger, bob, carol):
                answers = [await browser.get("/") for _ in range(6)]
                assert [answer.status for answer in answers][-1] == 429
                assert 429 not in [answer.status for answer in answers][:-1]


def test_an_office_of_a_hundred_may_log_in_at_once() -> None:
    """Each comes from a link, is sent to the log-in and from there to the provider, and comes back."""
    limits = Limits(monotonic=lambda: 0.0)
    assert not any(limits.request.wait("office") for _ in range(100 * 5))
    assert not any(limits.login.wait("office") for _ in range(100 * 2))


async def test_logs_hold_no_code_no_cookie_no_token_and_no_state(webs: Webs) -> None:
    with capture_logs() as logs:
        async with webs.browser() as browser:
            back = await webs.at_provider(browser, BOB, "/login?next=/approve/1?token=link-secret")
            started = dict(browser.cookies[HOST])
            await browser.get(back + "&token=link-secret")
            await browser.get("/%1b%5b2J%0d%0alevel=error")
            token = (await browser.get("/?token=link-secret")).field("form_token")
            await browser.post("/logout", {"form_token": token})
            await browser.get(back)
            ended = session_of(webs, browser)
    written = json.dumps(logs, default=str)
    assert not any(one in str(log) for log in logs for one in ("\x1b", "\\x1b", "\r\n", "\\r"))
    assert '"logged in"' in written
    assert '"log-in refused"' in written
    assert "127.0.0.1" in written
    query = parse_qs(urlsplit(back).query)
    secrets = ["link-secret", query["code"][0], query["state"][0], token, *started.values(), *ended.values()]
    secrets += ["a secret with % and :", "k" * 32]
    assert not [secret for secret in secrets if secret in written]


async def test_health_and_metrics_are_on_a_port_of_their_own(webs: Webs) -> None:
    web = webs.replicas[0]
    private = Browser(f"http://127.0.0.1:{web.metrics_port}", f"http://127.0.0.1:{web.metrics_port}")
    async with private, webs.browser() as browser:
        assert (await private.get("/healthz")).status == 200
        ready = await private.get("/readyz")
        assert (ready.status, "ok  caches" in ready.text) == (200, True)
        await browser.get("/nowhere")
        text = (await private.get("/metrics")).text
        assert 'hibernator_web_requests_total{code="404",method="GET",route="unknown"}' in text
        assert "hibernator_web_request_seconds_bucket" in text
        assert 'hibernator_web_logins_total{result="done",way="oidc"}' in text
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await browser.get(path)).status == 404


async def test_many_people_log_in_at_once(webs: Webs) -> None:
    async def one(number: int) -> bool:
        async with webs.browser(number % 2) as browser:
            who = f"person-{number}@company.com"
            return who in (await webs.log_in(browser, who)).text

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(8)]
    assert all(task.result() for task in tasks)


async def test_a_request_of_another_site_is_counted(webs: Webs) -> None:
    metrics = webs.replicas[0].metrics
    before = metrics.value(REFUSALS, "origin")
    async with webs.browser() as browser:
        answer = await browser.post("/logout", {}, origin="https://evil.com", sec_fetch_site="cross-site")
        assert "Another site sent this request" in answer.text
    assert metrics.value(REFUSALS, "origin") == before + 1
