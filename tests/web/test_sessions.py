"""The cookie is the session: eight hours at most, half an hour without a request, and only in its browser."""

from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message
from whenever import Instant

from hibernator.web.attempts import Attempts
from hibernator.web.identity import Identity
from hibernator.web.known import SessionMiddleware
from hibernator.web.sealing import Keyring
from hibernator.web.sessions import COOKIE, Session, Sessions, TooLongError
from support.clock import ManualClock

MONDAY = "2026-03-02T08:00:00Z"
ALICE = Identity(
    issuer="https://login.company.com",
    subject="00u1",
    email="alice@company.com",
    name="Alice",
    username="alice@company.com",
    groups=("ops",),
    authenticated_at=Instant.parse_iso(MONDAY),
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(MONDAY)


@pytest.fixture
def sessions(tmp_path: Path, clock: ManualClock) -> Sessions:
    (tmp_path / "keys").write_text("k" * 32)
    return Sessions(Keyring(tmp_path / "keys"), clock)


def request(cookies: dict[str, str]) -> Request:
    header = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return Request({"type": "http", "headers": [(b"cookie", header.encode())]})


def lines(response: Response) -> list[str]:
    return [value.decode() for name, value in response.raw_headers if name == b"set-cookie"]


def cookies(response: Response) -> dict[str, str]:
    found = SimpleCookie()
    for line in lines(response):
        found.load(line)
    return {name: morsel.value for name, morsel in found.items() if morsel["max-age"] != "0"}


def kept(sessions: Sessions, session: Session) -> dict[str, str]:
    response = Response()
    sessions.remember(response, session)
    return cookies(response)


async def renewed(sessions: Sessions, browser: dict[str, str], headers: dict[str, str]) -> dict[str, str]:
    """The cookies that a page writes again."""
    answer = Response()

    async def send(message: Message) -> None:
        answer.raw_headers = message.get("headers", answer.raw_headers)

    async def receive() -> Message:
        return {"type": "http.request"}

    scope = dict(request(browser).scope)
    scope["headers"] += [(name.encode(), value.encode()) for name, value in headers.items()]
    await SessionMiddleware(PlainTextResponse("hello"), sessions, lambda _session: False)(
        scope, receive, send
    )
    return cookies(answer)


async def test_a_session_lasts_half_an_hour_without_a_request(sessions: Sessions, clock: ManualClock) -> None:
    browser = request(kept(sessions, sessions.begin(ALICE)))
    await clock.advance(29 * 60)
    assert sessions.of(browser)
    await clock.advance(60)
    assert sessions.of(browser) is None


async def test_who_is_there_stays_logged_in_for_eight_hours_and_no_longer(
    sessions: Sessions, clock: ManualClock
) -> None:
    session = sessions.begin(ALICE)
    for _ in range(24):
        await clock.advance(20 * 60 - 1)
        found = sessions.of(request(kept(sessions, session)))
        assert found
        session = sessions.touched(found) or found
    await clock.advance(60)
    assert sessions.of(request(kept(sessions, session))) is None


async def test_a_page_that_brings_itself_up_to_date_keeps_nobody_logged_in(
    sessions: Sessions, clock: ManualClock
) -> None:
    """Or a tab that is left open would never be idle."""
    browser = kept(sessions, sessions.begin(ALICE))
    await clock.advance(10 * 60)
    assert await renewed(sessions, browser, {"x-hibernator-live": "1"}) == {}
    assert COOKIE in await renewed(sessions, browser, {})


def test_a_session_is_known_as_it_was_begun(sessions: Sessions) -> None:
    session = sessions.begin(ALICE)
    assert sessions.of(request(kept(sessions, session))) == session


def test_a_cookie_is_written_again_once_a_minute(sessions: Sessions, clock: ManualClock) -> None:
    session = sessions.begin(ALICE)
    assert sessions.touched(session) is None
    clock._elapsed += 60_000_000
    assert sessions.touched(session)


def test_the_cookie_stays_with_this_host_over_tls_and_away_from_scripts(sessions: Sessions) -> None:
    response = Response()
    sessions.remember(response, sessions.begin(ALICE))
    line = lines(response)[0]
    assert line.startswith(f"{COOKIE}=")
    for attribute in ("Path=/", "Secure", "HttpOnly", "SameSite=lax"):
        assert attribute in line
    assert "Domain" not in line
    assert "alice" not in line


def test_each_log_in_has_another_id(sessions: Sessions) -> None:
    assert sessions.begin(ALICE).id != sessions.begin(ALICE).id


def test_somebody_in_many_groups_has_a_cookie_in_parts_that_browsers_keep(sessions: Sessions) -> None:
    session = sessions.begin(replace(ALICE, groups=tuple(f"sso:team-{each:040}" for each in range(64))))
    found = kept(sessions, session)
    assert len(found) > 1
    assert all(len(name) + len(value) < 4_000 for name, value in found.items())
    assert sessions.of(request(found)) == session
    shorter = kept(sessions, sessions.begin(ALICE))
    response = Response()
    sessions.remember(response, sessions.begin(ALICE))
    assert any(line.startswith(f'{COOKIE}-1=""') and "Max-Age=0" in line for line in lines(response))
    stale = {name: value for name, value in found.items() if name != f"{COOKIE}-1"} | shorter
    assert sessions.of(request(stale))


def test_somebody_in_too_many_groups_is_told_so(sessions: Sessions) -> None:
    with pytest.raises(TooLongError):
        kept(sessions, sessions.begin(replace(ALICE, groups=tuple(f"{each:0250}" for each in range(64)))))


def test_a_form_belongs_to_its_session(sessions: Sessions) -> None:
    one, other = sessions.begin(ALICE), sessions.begin(ALICE)
    assert sessions.is_form_token(one, sessions.form_token(one))
    assert not sessions.is_form_token(one, sessions.form_token(other))
    assert not sessions.is_form_token(one, "")


async def test_a_decision_may_want_a_recent_log_in(sessions: Sessions, clock: ManualClock) -> None:
    session = sessions.begin(ALICE)
    assert sessions.is_fresh(session, 5)
    await clock.advance(301)
    assert not sessions.is_fresh(session, 5)
    assert sessions.is_fresh(session, 0)


@pytest.mark.parametrize("text", ["", "x", "=" * 50, "AAAA" * 100])
def test_a_cookie_that_is_not_ours_is_nobody(sessions: Sessions, text: str) -> None:
    assert sessions.of(request({COOKIE: text})) is None


@pytest.fixture
def attempts(tmp_path: Path, clock: ManualClock) -> Attempts:
    (tmp_path / "keys").write_text("k" * 32)
    return Attempts(Keyring(tmp_path / "keys"), clock)


def begun(attempts: Attempts, jar: dict[str, str], way: str = "oidc") -> str:
    """Begin a log-in in a browser with these cookies; its state."""
    attempt = attempts.begin(way, "/next")  # type: ignore[arg-type]
    response = Response()
    attempts.remember(request(jar), response, attempt)
    for line in lines(response):
        name, morsel = next(iter(SimpleCookie(line).items()))
        if morsel["max-age"] == "0":
            del jar[name]
        else:
            jar[name] = morsel.value
    return attempt.state


async def test_a_log_in_ends_in_the_browser_in_which_it_began_within_ten_minutes(
    attempts: Attempts, clock: ManualClock
) -> None:
    jar: dict[str, str] = {}
    state = begun(attempts, jar)
    assert attempts.find(request(jar), "oidc", state)
    assert attempts.find(request({}), "oidc", state) is None
    assert attempts.find(request(jar), "saml", state) is None
    assert attempts.find(request(jar), "oidc", "another") is None
    await clock.advance(600)
    assert attempts.find(request(jar), "oidc", state) is None


def test_a_session_cookie_is_no_log_in_and_a_log_in_no_session(
    attempts: Attempts, sessions: Sessions
) -> None:
    jar: dict[str, str] = {}
    state = begun(attempts, jar)
    assert sessions.of(request({COOKIE: next(iter(jar.values()))})) is None
    sealed = next(iter(kept(sessions, sessions.begin(ALICE)).values()))
    assert attempts.find(request(dict.fromkeys(jar, sealed)), "oidc", state) is None


async def test_tabs_do_not_disturb_each_other_and_never_fill_the_browser(
    attempts: Attempts, clock: ManualClock
) -> None:
    jar: dict[str, str] = {}
    states = []
    for _ in range(20):
        states.append(begun(attempts, jar))
        await clock.advance(1)
    assert len(jar) == 4
    assert all(attempts.find(request(jar), "oidc", state) for state in states[-4:])


def test_only_a_log_in_by_saml_may_come_back_by_a_form_of_another_site(attempts: Attempts) -> None:
    for way, same_site in (("oidc", "SameSite=lax"), ("saml", "SameSite=none")):
        response = Response()
        attempts.remember(request({}), response, attempts.begin(way, "/"))  # type: ignore[arg-type]
        line = lines(response)[0]
        assert same_site in line
        assert "Secure" in line
        assert "HttpOnly" in line
