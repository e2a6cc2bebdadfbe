"""The webhooks as a web application: whatever comes in, and whatever a handler does, there is an answer."""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec
import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hibernator.admission.metrics import METRICS, REQUESTS, SECONDS
from hibernator.admission.paths import Gate
from hibernator.admission.review import Handler
from hibernator.kube.clock import steady
from hibernator.kube.metrics import Metrics

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
    # Never the path of the request in a log line: whoever knows it is taken for an API server.
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
