"""Serves the webhooks over TLS, on every replica, with a certificate that can change while it runs.

Whatever comes in, and whatever a handler does, there is an answer, and it is counted.
"""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hibernator.admission.certificates import Pair
from hibernator.admission.paths import Gate
from hibernator.admission.review import Handler
from hibernator.kube.clock import steady
from hibernator.kube.metrics import Metric, Metrics
from hibernator.kube.serving import Server
from hibernator.kube.tls import ReloadingTls

REQUESTS = Metric(
    "hibernator_webhook_requests_total",
    "counter",
    ("path", "code"),
    "Requests to the webhooks, by HTTP status. All but 200 deserve a look at the log; those to an `unknown` "
    "path came from no API server.",
)
SECONDS = Metric(
    "hibernator_webhook_seconds", "histogram", ("path",), "How long an API server waited for a webhook."
)
CERTIFICATE_END = Metric(
    "hibernator_webhook_certificate_end_seconds",
    "gauge",
    (),
    "When the certificate that is served ends, in seconds since 1970. Less than 25 days ahead, it was not "
    "replaced in time.",
)
METRICS: Final = (REQUESTS, SECONDS, CERTIFICATE_END)


DEADLINE: Final = 4.0  # seconds for one request, all in all; API servers wait for five
LARGEST_BODY: Final = 16 * 1024 * 1024  # bytes; API servers send objects, of 1.5 MB at most, one by one

_STRANGER: Final = "unknown"  # the path under which all requests that are not from an API server are counted

_log: Final = structlog.get_logger(__name__)


class _Refusal(Exception):  # noqa: N818 — no error of ours: the peer asked for what it cannot have
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def application(
    handlers: Mapping[str, Handler],
    gate: Gate,
    *,
    metrics: Metrics | None = None,
    deadline: float = DEADLINE,
    largest_body: int = LARGEST_BODY,
) -> ASGIApp:
    """An application that serves each webhook at the path that the gate has for it, and nothing else.

    What comes to any other path is turned away before its body is read: it is not from an API server.
    """
    metrics = metrics or Metrics(METRICS)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        answer = await answered(Request(scope, receive))
        await answer(scope, receive, send)

    async def answered(request: Request) -> Response:
        webhook = gate.webhook(request.scope["path"])
        if not webhook:
            metrics.count(REQUESTS, _STRANGER, "404")
            return Response(status_code=404, headers={"connection": "close"})
        if request.method != "POST":
            return Response(status_code=405, headers={"allow": "POST"})
        began = steady()
        answer = await _answer(webhook, handlers[webhook], request, deadline, largest_body)
        metrics.count(REQUESTS, webhook, str(answer.status_code))
        metrics.observe(SECONDS, steady() - began, webhook)
        return answer

    return application


async def _answer(
    webhook: str, handler: Handler, request: Request, deadline: float, largest_body: int
) -> Response:
    # Never the path of the request in a log line: anyone who knows it is taken for an API server.
    try:
        async with asyncio.timeout(deadline):
            answer = await handler(await _body(request, largest_body))
    except _Refusal as refusal:
        return PlainTextResponse(f"{refusal}\n", refusal.status)
    except ClientDisconnect:
        return Response(status_code=400)  # no one is there to read it
    except msgspec.DecodeError as error:
        return PlainTextResponse(f"The body is not a review: {error}\n", 400)
    except TimeoutError:
        _log.warning("webhook request took too long", webhook=webhook, seconds=deadline)
        return PlainTextResponse(f"No answer within {deadline:g} s\n", 504)
    except Exception:  # noqa: BLE001 — whatever a handler does, the API server gets an answer
        _log.exception("webhook request failed", webhook=webhook)
        return PlainTextResponse("An error on our side; see the log of hibernator\n", 500)
    return Response(answer, media_type="application/json")


async def _body(request: Request, largest: int) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _Refusal(415, f"The content type is {kind!r}; send application/json")
    size = 0
    chunks: list[bytes] = []
    async for chunk in request.stream():
        chunks.append(chunk)
        if (size := size + len(chunk)) > largest:
            raise _Refusal(413, f"The body has more than {largest} bytes")
    return b"".join(chunks)


class WebhookServer:
    """Has its port from the start, lets callers in once it has a certificate, and runs until cancelled."""

    def __init__(self, app: ASGIApp, *, host: str = "", port: int, metrics: Metrics | None = None) -> None:
        self._front = ReloadingTls()
        self.tls = self._front.context  # for what is served beside them with the same certificate
        self._server = Server(app, host=host, port=port, tls=self.tls)
        self._metrics = metrics or Metrics(METRICS)
        self._pair: Pair | None = None
        self.certified = asyncio.Event()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def listening(self) -> asyncio.Event:
        return self._server.listening

    def use(self, pair: Pair) -> None:
        """Serve this certificate from the next connection on; those that are open go on as they are."""
        if pair != self._pair:
            end = pair.ends
            self._front.use(pair.certificate, pair.key)
            self._pair = pair
            self._metrics.set(CERTIFICATE_END, end.timestamp())
            self.certified.set()

    async def run(self) -> None:
        with contextlib.closing(self._server):
            await self.certified.wait()
            await self._server.run()
