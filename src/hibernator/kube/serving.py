"""An HTTP server inside our event loop: has its port from the start, and runs until it is cancelled."""

import asyncio
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from hibernator.kube.connections import ConnectionLimit

_DRAINING: Final = 1  # seconds for requests that are being answered when the server stops
# Go gives up an idle connection after 90 s. Were we the first to, a request could meet the end of its own.
_KEEP_ALIVE: Final = 120
# People in many groups have long cookies; websockets takes 8 kB by itself, and reads this when imported.
_LONGEST_HEADER: Final = ("WEBSOCKETS_MAX_LINE_LENGTH", str(32 * 1024))
_MOST_SAID: Final = 1024  # bytes of one message of a WebSocket: pages listen, and have nothing to say


class CannotListenError(Exception):
    """The address is not ours to serve at; the message says which, and why."""


class Server:
    """Serves an application. Without a host it listens on every address, of IPv4 and IPv6 alike."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str = "",
        port: int,
        tls: ssl.SSLContext | None = None,
        websockets: bool = False,
        draining: int = _DRAINING,
        room: ConnectionLimit | None = None,
    ) -> None:
        self._app = app
        self._websockets = websockets
        self._draining = draining
        self._room = room or ConnectionLimit()
        self._socket = _bound(host.strip("[]"), port)  # as IPv6 addresses are written before a port
        self._tls = tls
        self.listening = asyncio.Event()

    @property
    def port(self) -> int:
        """The port, also when any (0) was asked for."""
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Give the port back, if it never came to `run`."""
        self._socket.close()

    async def run(self) -> None:
        tls = self._tls
        if self._websockets:
            os.environ.setdefault(*_LONGEST_HEADER)
        config = uvicorn.Config(
            self._app,
            http=self._room.protocol,
            ws="auto" if self._websockets else "none",
            ws_max_size=_MOST_SAID,
            ws_per_message_deflate=False,  # our messages are short, and each connection would keep a window
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # it would believe the headers of whatever runs on this machine
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=self._draining,
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
        server = _Uvicorn(config, self.listening)
        with closing(self._socket):
            serving = asyncio.ensure_future(server.serve(sockets=[self._socket]))
            try:
                await asyncio.shield(serving)
            finally:
                self.listening.clear()
                server.should_exit = True
                await serving
                server.abandon()


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: asyncio.Event) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening.set()

    def abandon(self) -> None:
        """Cut what is still open: a peer that does not close its connection must not delay the shutdown."""
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the manager, which stops everything in its order."""
        yield


def _bound(host: str, port: int) -> socket.socket:
    everywhere = not host and socket.has_dualstack_ipv6()
    address = ("::" if everywhere else host or "0.0.0.0", port)  # noqa: S104 — kubelet and Prometheus call
    bound = socket.socket(socket.AF_INET6 if ":" in address[0] else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # What is accepted inherits this. asyncio sets it only on sockets that it has made itself, and without
        # it an answer waits 40 ms for an acknowledgement.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if bound.family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not everywhere)
        bound.bind(address)
    except OSError as error:
        bound.close()
        raise CannotListenError(f"{host}:{port} cannot be listened at: {error.strerror}") from error
    return bound
