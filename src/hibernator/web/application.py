"""The pages as one ASGI application, behind what holds for all of them."""

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, ExceptionHandler

from hibernator.kube.errors import ApiError
from hibernator.web.front import LoginPages
from hibernator.web.known import SessionMiddleware
from hibernator.web.metrics import REFUSALS
from hibernator.web.pages import STATIC, STATIC_PATH
from hibernator.web.refusals import Page, RefusedError
from hibernator.web.safety import MOST_BODY, SAFE, SafetyMiddleware
from hibernator.web.settings import proxies
from hibernator.web.site import Login, Site

FROM_ELSEWHERE: Final = frozenset({"/saml/acs", "/slack/interactions"})

_log: Final = structlog.get_logger(__name__)


def application(site: Site, ways: Sequence[Login], pages: Sequence[BaseRoute] = ()) -> ASGIApp:
    """Everything that people reach: the ways to log in, and the pages behind them."""
    routes = [
        *LoginPages(site, ways).routes(),
        *(route for way in ways for route in way.routes()),
        *pages,
        Mount(STATIC_PATH, StaticFiles(directory=STATIC)),
    ]
    handlers = _handlers(site)
    app = Starlette(routes=routes, max_body_size=MOST_BODY, exception_handlers=handlers)
    app.router.redirect_slashes = False  # it would redirect to whatever the Host header says
    safe = SafetyMiddleware(
        app,
        site.pages,
        site.metrics,
        site.limits,
        base_url=site.settings.base_url,
        proxies=proxies(site.settings),
        from_elsewhere=FROM_ELSEWHERE,
    )
    return SessionMiddleware(safe, site.sessions, site.ended.has)


def _handlers(site: Site) -> dict[type[Exception], ExceptionHandler]:
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)  # noqa: S101 — Starlette's own way to type this
        site.metrics.count(REFUSALS, error.reason)
        return site.pages.refused(request, error)

    async def failed(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        page = _PAGES.get(status, Page("This does not work", f"The answer is {status}.", again="/"))
        response = site.pages.refused(request, RefusedError(str(status), page, status=status))
        if isinstance(error, HTTPException) and error.headers:
            response.headers.update(error.headers)  # which methods there are, for one
        return response

    async def away(request: Request, error: Exception) -> Response:
        _log.warning("api server did not answer as expected", error=str(error))
        return site.pages.refused(request, RefusedError("cluster", away_page(request.method), status=503))

    async def unexpected(request: Request, error: Exception) -> Response:
        reference = uuid4().hex[:8]
        _log.error("unexpected error in a page", reference=reference, exc_info=error)
        words = f"Something went wrong here, and we do not know what. Its number is {reference}."
        page = Page("An unexpected error", words, "Try again. If it happens again, pass on the number.", "/")
        return site.pages.refused(request, RefusedError("unexpected", page, status=500))

    return {RefusedError: refused, HTTPException: failed, ApiError: away, Exception: unexpected}


def away_page(method: str) -> Page:
    """A write whose answer was lost may have been done all the same."""
    is_read = method in SAFE
    words = "Nothing was changed." if is_read else "We do not know whether your change was stored."
    fix = "Try again in a minute." if is_read else "Open the page again: it shows what was stored."
    return Page("The cluster does not answer", f"Kubernetes is away or busy. {words}", fix, again="/")


_PAGES: Final = {
    400: Page("This request cannot be read", "Nothing was changed.", again="/"),
    404: Page(
        "There is nothing here",
        "The address may be incomplete.",
        "Copy the whole address.",
        again="/",
        label="Overview",
    ),
    405: Page("This address takes no such request", "Nothing was changed.", again="/"),
}
