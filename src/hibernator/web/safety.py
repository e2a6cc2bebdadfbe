"""What holds for every request and every page, so that no page has to think of it.

A browser is asked to run no script but ours and to load nothing from elsewhere, to show our pages in no
frame, and to tell no one where it comes from. A request that changes something must come from a page of ours:
browsers say so in Sec-Fetch-Site and Origin, and the form of each session carries its token.
"""

import asyncio
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from hibernator.decisions.person import mailbox
from hibernator.kube.clock import steady
from hibernator.kube.metrics import Metrics
from hibernator.web.forwarded import Network, sender, shared_by
from hibernator.web.limits import Limits
from hibernator.web.metrics import REFUSALS, REQUESTS, SECONDS
from hibernator.web.pages import STATIC_PATH, Pages
from hibernator.web.refusals import Page, RefusedError

MOST_BODY: Final = 64 * 1024  # bytes; a page that takes more says so itself
_MOST_COOKIES: Final = 24 * 1024
_PATIENCE: Final = 30.0  # seconds for one request
_OK: Final = 200
SAFE: Final = frozenset({"GET", "HEAD"})

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",  # for browsers from before frame-ancestors
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_HSTS: Final = "max-age=31536000"

_log: Final = structlog.get_logger(__name__)


def headers(base_url: str) -> Mapping[str, str]:
    """The headers of every answer; browsers keep to TLS for a year once they have seen it here."""
    return {**_HEADERS, **({"Strict-Transport-Security": _HSTS} if base_url.startswith("https://") else {})}


def is_ours(sent: Headers, base_url: str) -> bool:
    """Whether a page of ours sent a request that changes something, as far as the browser says.

    Our own pages send no referrer, for which browsers write `Origin: null`; then Sec-Fetch-Site tells. What
    sends neither header is no browser, and the token in the form decides alone.
    """
    site, origin = sent.get("sec-fetch-site"), sent.get("origin")
    if site is not None:
        return site == "same-origin" and origin in {None, "null", base_url}
    return origin is None or origin == base_url


class SafetyMiddleware:
    """Stands before the application: where requests come from, how many, how large, by whose page."""

    def __init__(
        self,
        app: ASGIApp,
        pages: Pages,
        metrics: Metrics,
        limits: Limits,
        *,
        base_url: str,
        proxies: tuple[Network, ...] = (),
        from_elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        self._app = app
        self._pages = pages
        self._metrics = metrics
        self._limits = limits
        self._base_url = base_url
        self._proxies = proxies
        self._from_elsewhere = from_elsewhere  # paths to which pages of others send forms, as SAML does
        self._headers = headers(base_url)
        self._warned = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, answered = steady(), 0
        address = self._address(scope)
        scope.setdefault("state", {})["address"] = address
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
            return

        async def answering(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = message["status"]
                self._dress(scope, message)
            await send(message)

        try:
            await self._answer(scope, receive, answering)
        except TimeoutError:
            if answered:  # too late for another answer: the connection is cut
                raise
            await self._refuse(scope, receive, answering, _slow())
        except Exception:
            if not answered:  # else it was logged and answered, and is only passed on for debuggers
                raise
        finally:
            self._note(scope, address, answered or 500, steady() - began)

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a page of ours stay connected: browsers always say whose page opens a WebSocket."""
        try:
            self._check_page(HTTPConnection(scope))
        except RefusedError as refused:
            self._metrics.count(REFUSALS, refused.reason)
            await WebSocketClose()(scope, receive, send)  # before it was accepted: a 403
            return
        await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(Request(scope))
            async with asyncio.timeout(_PATIENCE):
                await self._app(scope, receive, send)
        except RefusedError as refused:
            await self._refuse(scope, receive, send, refused)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, refused: RefusedError) -> None:
        self._metrics.count(REFUSALS, refused.reason)
        await self._pages.refused(Request(scope), refused)(scope, receive, send)

    def _check_page(self, page: HTTPConnection) -> None:
        self._check_sender(page)
        if page.headers.get("origin") != self._base_url:
            raise RefusedError("origin", _FOREIGN)

    def _check_sender(self, request: HTTPConnection) -> None:
        if wait := self._limits.request.wait(_asker(request)):
            raise too_many(wait)
        if len(request.headers.get("cookie", "")) > _MOST_COOKIES:
            words = "Your browser sends more cookies than this page reads."
            page = Page("Too many cookies", words, "Delete the cookies of this site and try again.")
            raise RefusedError("size", page, status=431)

    def _check(self, request: Request) -> None:
        self._check_sender(request)
        if request.method in SAFE or request.url.path in self._from_elsewhere:
            return
        if not is_ours(request.headers, self._base_url):
            raise RefusedError("origin", _FOREIGN)
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST_BODY:  # what comes in pieces is cut off by Starlette
            raise RefusedError("size", _TOO_LONG, status=413)

    def _address(self, scope: Scope) -> str:
        peer = (scope.get("client") or ("", 0))[0]
        header = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
        found = sender(peer, header, self._proxies)
        if header and found == peer and not self._warned:
            self._warned = True
            _log.warning("x-forwarded-for ignored", address=peer, why="not in trustedProxies")
        return found

    def _dress(self, scope: Scope, message: MutableMapping[str, Any]) -> None:
        found = MutableHeaders(raw=message["headers"])
        for name, value in self._headers.items():
            found.setdefault(name, value)  # one page has a policy of its own
        if scope["path"].startswith(f"{STATIC_PATH}/") and message["status"] == _OK:
            # With a version in its address it never changes; without one, browsers ask whether it did.
            found.setdefault("Cache-Control", "max-age=86400" if scope["query_string"] else "no-cache")
        found.setdefault("Cache-Control", "no-store")

    def _note(self, scope: Scope, address: str, code: int, seconds: float) -> None:
        """Count and log. The query stays out: it holds codes and the secrets of links."""
        route = getattr(scope.get("route"), "path", "unknown")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.count(REQUESTS, route, method, str(code))
        self._metrics.observe(SECONDS, seconds, route)
        _log.info(
            "request",
            method=method,
            path=scope["raw_path"].decode()[:200],  # as it came: what is written as %1b moves no cursor
            code=code,
            ms=round(seconds * 1000, 1),
            address=address,
        )


def _asker(request: HTTPConnection) -> str:
    """Whose requests are counted together."""
    session = request.state.session
    return mailbox(session.identity.email) if session else shared_by(request.state.address)


_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
_FOREIGN: Final = Page(
    "This did not come from our page",
    "Another site sent this request. Nothing was changed.",
    "Open the page from your mail again and decide there.",
    again="/",
)

_TOO_LONG: Final = Page("That is too long", "Nothing was changed.", "Write less and try again.", again="/")


def too_many(wait: float) -> RefusedError:
    """What is said to who asks too often."""
    seconds = max(1, round(wait + 0.5))
    plural = "" if seconds == 1 else "s"
    page = Page("Too many requests", f"Try again in {seconds} second{plural}.")
    return RefusedError("rate", page, status=429, wait=seconds)


def _slow() -> RefusedError:
    page = Page("This takes too long", "The cluster does not answer.", "Try again in a minute.", again="/")
    return RefusedError("slow", page, status=503)
