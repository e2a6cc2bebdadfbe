"""How clicks come from Slack: as signed requests; `slack_socket` is the other way.

A click is acknowledged at once, because Slack waits three seconds, and decided behind that. A click whose
process dies in between is lost; its message still has its buttons.
"""

import asyncio
import hashlib
import json
from collections import OrderedDict
from typing import Any, Final
from urllib.parse import parse_qs

import structlog
from slack_sdk.signature import Clock as SlackClock, SignatureVerifier
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hibernator.kube.clock import Clock
from hibernator.messages.slack_blocks import REASON
from hibernator.web.metrics import REFUSALS
from hibernator.web.settings import secret
from hibernator.web.site import Site
from hibernator.web.slack_clicks import Clicks, is_reasonless

PATH: Final = "/slack/interactions"
_MOST_BODY: Final = 256 * 1024  # a click brings its whole message along
_MOST_WAITING: Final = 200
_LONGEST_STAMP: Final = 12
OK: Final = 200
BUSY: Final = 503
_REPLAY: Final = "slack_replay"
_WORKERS: Final = 8
_KEPT: Final = 600.0  # seconds for which a signature is remembered: longer than one is taken
_MOST_KEPT: Final = 10_000

_log: Final = structlog.get_logger(__name__)


class Interactions:
    """The door of Slack."""

    def __init__(self, site: Site, clicks: Clicks) -> None:
        self._site = site
        self._clicks = clicks
        self._waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MOST_WAITING)
        self._used: OrderedDict[str, float] = OrderedDict()  # signatures and bodies, and until when

    def routes(self) -> list[BaseRoute]:
        if not self._site.settings.slack_signing_secret_file:
            return []
        return [Route(PATH, self._post, methods=["POST"], max_body_size=_MOST_BODY)]

    async def run(self) -> None:
        """Decide what was clicked, until it is cancelled."""
        async with asyncio.TaskGroup() as workers:
            for number in range(_WORKERS):
                workers.create_task(self._work(), name=f"slack-clicks-{number}")

    async def _work(self) -> None:
        while True:
            payload = await self._waiting.get()
            try:
                await self._clicks.handle(payload)
            except Exception:  # noqa: BLE001  one click must not end the others
                _log.exception("unexpected error in a click")

    async def _post(self, request: Request) -> Response:
        body = await request.body()
        if _is_check(body):
            return Response(status_code=OK)
        trouble, seen = await self._trouble(body, request), hashlib.sha256(body).hexdigest()
        if trouble in {"", _REPLAY} and seen in self._used and "x-slack-retry-num" in request.headers:
            return Response(status_code=OK)  # it was taken, and only our answer did not arrive
        if trouble:
            self._site.metrics.count(REFUSALS, trouble)
            _log.warning("slack request refused", reason=trouble, address=request.state.address)
            return JSONResponse({"error": trouble}, 401)
        try:
            payload = json.loads(parse_qs(body.decode())["payload"][0])
        except (ValueError, KeyError, RecursionError):
            return JSONResponse({"error": "payload"}, 400)
        taken = self.take(payload)
        if taken.status_code == OK:
            self._remember(seen)
        return taken

    def take(self, payload: object) -> Response:
        """Acknowledge a payload, and decide it later."""
        if not isinstance(payload, dict):
            return JSONResponse({"error": "payload"}, 400)
        if is_reasonless(payload):
            return JSONResponse({"response_action": "errors", "errors": {REASON: "Write why you reject it."}})
        try:
            self._waiting.put_nowait(payload)
        except asyncio.QueueFull:
            return JSONResponse({"error": "busy"}, BUSY)
        return Response(status_code=OK)

    async def _trouble(self, body: bytes, request: Request) -> str:
        """Why a request is not from Slack, or not fresh."""
        signature = request.headers.get("x-slack-signature", "")
        stamp = request.headers.get("x-slack-request-timestamp", "")
        path = self._site.settings.slack_signing_secret_file
        verifier = SignatureVerifier(await asyncio.to_thread(secret, path), _Now(self._site.clock))
        if not _is_plain(body, stamp, signature) or not verifier.is_valid(body, stamp, signature):
            return "slack_signature"
        if signature in self._used:
            return _REPLAY
        self._remember(signature)
        return ""

    def _remember(self, one: str) -> None:
        now = self._site.clock.monotonic()
        self._used[one] = now + _KEPT
        while next(iter(self._used.values())) < now or len(self._used) > _MOST_KEPT:
            self._used.popitem(last=False)


def _is_check(body: bytes) -> bool:
    """Whether Slack only looks at our certificate: such a request is not signed, and asks for nothing."""
    return b"ssl_check=1" in body.split(b"&") and b"payload=" not in body


def _is_plain(body: bytes, stamp: str, signature: str) -> bool:
    """Whether it may be from Slack at all: the SDK fails at bytes that are no text, and at huge numbers."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return stamp.isascii() and stamp.isdecimal() and len(stamp) <= _LONGEST_STAMP and signature.isascii()


class _Now(SlackClock):
    """Our clock, for the SDK."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now().timestamp()
