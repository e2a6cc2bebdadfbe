"""Changes as they happen: a page stays connected, and hears that something of a kind has changed.

By WebSocket, or where none gets through by a question that is answered when there is something new. Neither
names anything: the page then asks for itself again, and shows what its reader may see. So both may be there
for everyone who is logged in.

Where many look on, each page is asked to wait a moment of its own: a thousand pages that come back at once
would wait for each other.
"""

import asyncio
import random
from collections import Counter
from typing import Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from hibernator.kube.clock import steady
from hibernator.web.dashboard.board import Board
from hibernator.web.dashboard.changes import Version, read, written
from hibernator.web.dashboard.viewer import Viewer
from hibernator.web.metrics import OPEN_PAGES
from hibernator.web.sessions import Session

PATIENCE: Final = 15.0  # seconds for which a question waits: less than proxies and our own guard allow
BEAT: Final = 5.0  # seconds after which a connected page hears that all is as it was
LONGEST: Final = 600.0  # seconds of one connection: the next one asks who it is again
MOST_PAGES: Final = 50  # of one person
_BETWEEN: Final = 0.2  # seconds between two messages: a burst of changes is one
_A_PAGE: Final = 10.0  # milliseconds that a page costs


class Live:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._open: Counter[str] = Counter()  # by person
        board.site.metrics.follow(OPEN_PAGES, self._open.total)

    def routes(self) -> list[BaseRoute]:
        return [self._board.route("/live", self._next), WebSocketRoute("/live", self._stay)]

    async def _next(self, request: Request, _who: Viewer) -> Response:
        topics, version = self._asked(request.query_params)
        changes = self._board.site.changes
        if await changes.after(version, topics, PATIENCE):
            return JSONResponse({"version": written(changes.version(topics))})
        return Response(status_code=204)

    async def _stay(self, socket: WebSocket) -> None:
        session = self._board.site.who(socket)
        if session is None or self._open[session.identity.email] >= MOST_PAGES:
            await socket.close()  # pages that are too many ask instead
            return
        self._open[session.identity.email] += 1
        try:
            await socket.accept()
            async with asyncio.TaskGroup() as group:
                pushing = group.create_task(self._push(socket, session))
                said = await socket.receive()
                pushing.cancel()
            if said["type"] != "websocket.disconnect":
                await socket.close()  # pages have nothing to say
        finally:
            self._open[session.identity.email] -= 1
            if not self._open[session.identity.email]:
                del self._open[session.identity.email]

    async def _push(self, socket: WebSocket, session: Session) -> None:
        topics, version = self._asked(socket.query_params)
        changes, began = self._board.site.changes, steady()
        try:
            await socket.send_json({"changed": False})
            while steady() - began < LONGEST and not self._board.site.ended.has(session):
                changed = await changes.after(version, topics, BEAT)
                version = changes.version(topics)
                await socket.send_json({"changed": changed, "wait": self._wait()})
                await asyncio.sleep(_BETWEEN)
            await socket.close()
        except WebSocketDisconnect:  # `_stay` is about to see it, too
            return

    def _wait(self) -> int:
        return int(random.uniform(0, self._open.total() * _A_PAGE))

    def _asked(self, query: QueryParams) -> tuple[tuple[str, ...], Version]:
        topics = self._board.site.changes.topics(query.get("topics", ""))
        return topics, read(query.get("since", ""), topics)
