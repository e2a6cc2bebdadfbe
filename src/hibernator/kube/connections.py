"""Connections to an HTTP server, of which a stranger may open as many as they like.

uvicorn waits for ever for the first request of a connection, for one that comes in byte by byte, and for a
peer that reads no answer. Here each has its time, and where there are too many connections, the one that has
been without a request for longest makes room for the next.
"""

import asyncio
import resource
from functools import partial
from typing import Any, Final, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD: Final = 20.0  # seconds until a request has to be there, once it began or the connection did
_ANSWER: Final = 60.0  # seconds until it has to be answered, and the answer read
_MOST: Final = 4_096
_RESERVE: Final = 128  # files for all else: what the process asks of others must go on


class ConnectionLimit:
    """The connections of one server."""

    def __init__(self, *, most: int | None = None, head: float = _HEAD, answer: float = _ANSWER) -> None:
        self.most = most or _fitting()
        self.head = head
        self.answer = answer
        self.idle: dict[_Connection, None] = {}  # without a request, the one that is so for longest first

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """What uvicorn makes for each connection."""
        return cast("type[asyncio.Protocol]", partial(_Connection, room=self))

    def admit(self, connections: int) -> None:
        if connections > self.most:
            next(iter(self.idle)).cut()


class _Connection(H11Protocol):
    def __init__(self, *given: Any, room: ConnectionLimit, **more: Any) -> None:
        super().__init__(*given, **more)
        self._room = room
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._room.idle[self] = None
        self._within(self._room.head)
        self._room.admit(len(self.connections))

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look(begun=True)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look(begun=bool(self.conn.trailing_data[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def cut(self) -> None:
        """End it without a word: who is at the other end was not in time, or never meant to be."""
        self._leave()
        self.transport.abort()

    def _look(self, *, begun: bool) -> None:
        """Whether a request is being answered, or has begun to come in; a WebSocket has all the time."""
        if self not in self.connections:
            self._leave()
            return
        if self.transport.is_closing():  # within the time that it has
            return
        answers = not getattr(self.cycle, "response_complete", True)  # None before the first request
        if answers and self in self._room.idle:
            del self._room.idle[self]
            self._within(self._room.answer)
        elif not answers and self not in self._room.idle:
            self._room.idle[self] = None  # uvicorn ends it where it stays so
            if not self.transport.get_write_buffer_size():  # else the answer has to be read in its time
                self._at_any_time()
        if begun and not answers and self._deadline is None:
            self._within(self._room.head)

    def _leave(self) -> None:
        self._room.idle.pop(self, None)
        self._at_any_time()

    def _within(self, seconds: float) -> None:
        self._at_any_time()
        self._deadline = self.loop.call_later(seconds, self.cut)

    def _at_any_time(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None


def _fitting() -> int:
    """As many as the process may have open, and some less."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MOST if allowed == resource.RLIM_INFINITY else max(1, min(_MOST, allowed - _RESERVE))
