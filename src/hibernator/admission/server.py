"""Serves the webhooks over TLS, on every replica, with a certificate that can change while it runs."""

import asyncio
import contextlib
import os
import socket
import ssl
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hibernator.admission.certificates import Pair
from hibernator.admission.review import Handler

DEADLINE: Final = 5.0  # seconds for one request, all in all
LARGEST_BODY: Final = 16 * 1024 * 1024  # bytes; API servers send objects, of 1.5 MB at most, one by one

_DRAINING: Final = 5  # seconds for requests that are being answered when the server stops
# The API server gives up an idle connection after 90 s. Were we the first to, a request could meet the end.
_KEEP_ALIVE: Final = 120

_log: Final = structlog.get_logger(__name__)


class _Refusal(Exception):  # noqa: N818 — not an error of ours: the peer asked for something that it cannot have
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def application(
    handlers: Mapping[str, Handler], *, deadline: float = DEADLINE, largest_body: int = LARGEST_BODY
) -> Starlette:
    """An application with one path for each webhook."""

    def route(path: str, handler: Handler) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                async with asyncio.timeout(deadline):
                    answer = await handler(await _body(request, largest_body))
            except _Refusal as refusal:
                return PlainTextResponse(f"{refusal}\n", refusal.status)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody is there to read it
            except msgspec.DecodeError as error:
                return PlainTextResponse(f"The body is not a review: {error}\n", 400)
            except TimeoutError:
                _log.warning("webhook request took too long", path=path, seconds=deadline)
                return PlainTextResponse(f"No answer within {deadline:g} s\n", 504)
            except Exception:  # noqa: BLE001 — whatever a handler does, the API server gets an answer
                _log.exception("webhook request failed", path=path)
                return PlainTextResponse("An error on our side; see the log of hibernator\n", 500)
            return Response(answer, media_type="application/json")

        return Route(path, endpoint, methods=["POST"])

    return Starlette(routes=[route(path, handler) for path, handler in handlers.items()])


async def _body(request: Request, largest: int) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _Refusal(415, f"The content type is {kind!r}; send application/json")
    declared = request.headers.get("content-length", "")
    chunks: list[bytes] = []
    size = int(declared) if declared.isdecimal() else 0
    if size <= largest:
        size = 0
        async for chunk in request.stream():
            chunks.append(chunk)
            if (size := size + len(chunk)) > largest:
                break
    if size > largest:
        raise _Refusal(413, f"The body has more than {largest} bytes")
    return b"".join(chunks)


class WebhookServer:
    """Has its port from the start, lets callers in once it has a certificate, and runs until cancelled."""

    def __init__(self, app: Starlette, *, host: str = "", port: int = 9443) -> None:
        self._app = app
        self._socket = _bound(host, port)
        self._pair: Pair | None = None
        self._current = _context()
        self._certified = asyncio.Event()
        self.listening = asyncio.Event()

    @property
    def port(self) -> int:
        """The port, also when any (0) was asked for."""
        return int(self._socket.getsockname()[1])

    def use(self, pair: Pair) -> None:
        """Serve this certificate from the next connection on; those that are open go on as they are."""
        if pair != self._pair:
            self._current = _context(pair)
            self._pair = pair
            self._certified.set()

    async def run(self) -> None:
        with contextlib.closing(self._socket):
            await self._certified.wait()
            server = _Server(
                uvicorn.Config(
                    self._app,
                    http="h11",
                    ws="none",
                    lifespan="off",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    timeout_keep_alive=_KEEP_ALIVE,
                    timeout_graceful_shutdown=_DRAINING,
                    ssl_context_factory=lambda *_: self._front(),
                ),
                self.listening,
            )
            serving = asyncio.ensure_future(server.serve(sockets=[self._socket]))
            try:
                await asyncio.shield(serving)
            finally:
                self.listening.clear()
                server.should_exit = True
                await serving

    def _front(self) -> ssl.SSLContext:
        """A context that hands each new connection to the current one.

        Loading another certificate into a context in use would leave the old one in it, if their keys are of
        different types, and clients would go on to get either.
        """

        def hand_over(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
            connection.context = self._current

        context = _context()
        context.sni_callback = hand_over
        return context


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, listening: asyncio.Event) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the manager, which stops everything in its order."""
        yield


def _bound(host: str, port: int) -> socket.socket:
    everywhere = not host and socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if everywhere or ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # What is accepted inherits this. asyncio sets it only on sockets that it has made itself, and without
        # it every answer waits 40 ms for an acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if everywhere:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def _context(pair: Pair | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if pair:
        # OpenSSL reads keys from files only. This one has no name and never comes near a disk.
        descriptor = os.memfd_create("webhook-certificate", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, pair.key + pair.certificate)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    return context
