"""Serves the webhooks over TLS, on every replica, with a certificate that can change while it runs."""

import asyncio
import contextlib
import os
import ssl
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hibernator.admission.certificates import Pair
from hibernator.admission.review import Handler
from hibernator.kube.serving import Server

DEADLINE: Final = 5.0  # seconds for one request, all in all
LARGEST_BODY: Final = 16 * 1024 * 1024  # bytes; API servers send objects, of 1.5 MB at most, one by one

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

    def __init__(self, app: Starlette, *, host: str = "", port: int) -> None:
        self._server = Server(app, host=host, port=port, tls=self._front())
        self._pair: Pair | None = None
        self._current = _context()
        self._certified = asyncio.Event()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def listening(self) -> asyncio.Event:
        return self._server.listening

    def use(self, pair: Pair) -> None:
        """Serve this certificate from the next connection on; those that are open go on as they are."""
        if pair != self._pair:
            self._current = _context(pair)
            self._pair = pair
            self._certified.set()

    async def run(self) -> None:
        with contextlib.closing(self._server):
            await self._certified.wait()
            await self._server.run()

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
