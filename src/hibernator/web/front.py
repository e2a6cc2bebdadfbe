"""The pages that have nothing to do with any request: the first one, the log-in and the log-out."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.web.paths import LOGIN, own_path
from hibernator.web.refusals import Page
from hibernator.web.site import Login, Site

LOGOUT: Final = "/logout"

_BYE: Final = Page(
    "You are logged out",
    "Your company's own log-in may still be open in this browser.",
    "On a shared device, log out there, too.",
    again=LOGIN,
    label="Log in",
)


class LoginPages:
    def __init__(self, site: Site, ways: Sequence[Login]) -> None:
        self._site = site
        self._ways = ways

    def routes(self) -> list[BaseRoute]:
        return [
            Route(LOGIN, self._login),
            Route(LOGOUT, self._logout, methods=["POST"]),
        ]

    async def _login(self, request: Request) -> Response:
        """Let people choose how to log in, where there is a choice."""
        next_ = own_path(request.query_params.get("next", ""))
        fresh = bool(request.query_params.get("fresh"))
        session = self._site.who(request)
        if session and not fresh:
            return RedirectResponse(next_, 303)
        query = f"?next={quote(next_, safe='/')}{'&fresh=1' if fresh else ''}"
        if len(self._ways) == 1:
            return RedirectResponse(self._ways[0].path + query, 303)
        ways = [{"title": way.title, "href": way.path + query} for way in self._ways]
        return self._site.pages.show(request, "login.html", ways=ways)

    async def _logout(self, request: Request) -> Response:
        """Log out, if the form is one of this session; who is not logged in stays so."""
        session = self._site.who(request)
        if session:
            await self._site.form(request, session)
            await self._site.ended.end(session)
        request.state.session = None
        response = self._site.pages.show(request, "message.html", page=_BYE)
        self._site.sessions.forget(response)
        return response
