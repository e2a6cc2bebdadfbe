"""An HTTP server inside our event loop: has its port from the start, and runs until it is cancelled."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import uvicorn
from starlette.applications import Starlette

_DRAINING: Final = 1  # seconds for requests that are being answered when the server stops


class Server:
    """Serves an application. Without a host it listens on every address, of IPv4 and IPv6 alike."""

    def __init__(self, app: Starlette, *, host: str = "", port: int) -> None:
        self._app = app
        self._socket = _bound(host, port)

    @property
    def port(self) -> int:
        """The port, also when any (0) was asked for."""
        return int(self._socket.getsockname()[1])

    async def run(self) -> None:
        config = uvicorn.Config(
            self._app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_DRAINING,
        )
        server = _Uvicorn(config)
        with closing(self._socket):
            serving = asyncio.ensure_future(server.serve(sockets=[self._socket]))
            try:
                await asyncio.shield(serving)
            finally:
                server.should_exit = True
                await serving


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the manager, which stops everything in its order."""
        yield


def _bound(host: str, port: int) -> socket.socket:
    everywhere = not host and socket.has_dualstack_ipv6()
    address = ("::" if everywhere else host or "0.0.0.0", port)  # noqa: S104 — kubelet and Prometheus call
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    return socket.create_server(address, family=family, dualstack_ipv6=everywhere)
