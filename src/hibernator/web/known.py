"""Finds out whose request it is, before anything else asks, and keeps the session of who is there young."""

from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hibernator.web.sessions import COOKIE, Session, Sessions

LIVE: Final = "x-hibernator-live"  # sent by the script that brings a page up to date, not by a person
_SETS: Final = b"set-cookie"


class SessionMiddleware:
    def __init__(self, app: ASGIApp, sessions: Sessions, is_over: Callable[[Session], bool]) -> None:
        self._app = app
        self._sessions = sessions
        self._is_over = is_over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            return
        session = self._sessions.of(HTTPConnection(scope))
        if session and self._is_over(session):
            session = None
        scope.setdefault("state", {})["session"] = session
        by_person = LIVE not in Headers(scope=scope)
        young = self._sessions.touched(session) if session and by_person else None

        async def renewing(message: Message) -> None:
            if young and message["type"] == "http.response.start" and not _decides(message):
                message["headers"] = [*message["headers"], *self._cookies(young)]
            await send(message)

        await self._app(scope, receive, renewing)

    def _cookies(self, session: Session) -> list[tuple[bytes, bytes]]:
        response = Response()
        self._sessions.remember(response, session)
        return [header for header in response.raw_headers if header[0] == _SETS]


def _decides(message: Message) -> bool:
    """Whether the page itself says what becomes of the session, as log-in and log-out do."""
    return any(name == _SETS and value.startswith(COOKIE.encode()) for name, value in message["headers"])
