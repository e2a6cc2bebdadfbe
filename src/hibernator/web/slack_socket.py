"""Socket Mode: clicks of Slack over a connection that we opened, where nothing can come in from outside.

The SDK keeps the connection, and this keeps the SDK: a refused token is said and not tried for ever, and a
replaced one is used without a restart.
"""

import asyncio
import json
import logging
from collections import deque
from pathlib import Path
from typing import Any, Final

import aiohttp
import structlog
from slack_sdk.errors import SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from hibernator.messages.slack_api import ACCEPTED, TOKEN_ERRORS
from hibernator.web.site import Site
from hibernator.web.slack import BUSY, OK, Interactions

_BETWEEN_TRIES: Final = 30.0  # seconds
_LOOK_EVERY: Final = 5.0
_MOST_TAKEN: Final = 500
_MOST_AWAY: Final = 30.0  # seconds without a connection, after which all begins again, also with the token

_log: Final = structlog.get_logger(__name__)


class _Connection(SocketModeClient):
    """The SDK's client, which tries for ever and in silence: here a refusal ends it and is kept."""

    trouble = ""

    async def issue_new_wss_url(self) -> str:
        try:
            return await super().issue_new_wss_url()
        except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as error:
            response = getattr(error, "response", None)
            self.trouble = str(response.get("error", "")) if response else type(error).__name__
            self.closed = True  # or it would try again each five seconds, with the same token
            raise


class Socket:
    """Socket Mode: clicks come over a connection of each replica; Slack sends each click over one of them."""

    def __init__(self, site: Site, interactions: Interactions) -> None:
        self._site = site
        self._interactions = interactions
        self._trouble = ""
        self._taken: deque[str] = deque(maxlen=_MOST_TAKEN)  # the ids of envelopes; some come twice

    async def run(self) -> None:
        """Stay connected until it is cancelled, with the token as its file has it at each try."""
        while True:
            try:
                self._report(await self._stay())
            except (OSError, UnicodeDecodeError, TimeoutError) as error:
                self._report(type(error).__name__)
            await self._site.clock.sleep(_BETWEEN_TRIES)

    def _report(self, trouble: str) -> None:
        """Say it once: in the log, and as the metric where it is for an administrator to mend."""
        if trouble != self._trouble:
            _log.error("slack socket mode cannot connect", code=trouble)
        if trouble in TOKEN_ERRORS:
            self._site.metrics.set(ACCEPTED, 0, "app")
        self._trouble = trouble

    async def _stay(self) -> str:
        """Connect, and stay so; why that ended."""
        settings = self._site.settings
        token = (await asyncio.to_thread(Path(settings.slack_app_token_file).read_text, "utf-8")).strip()
        api = AsyncWebClient(base_url=settings.slack_api_url, retry_handlers=[], logger=_quiet)
        client = _Connection(token, logger=_quiet, web_client=api)
        client.socket_mode_request_listeners.append(self._received)
        try:
            async with asyncio.timeout(_MOST_AWAY):
                await client.connect()  # type: ignore[no-untyped-call]
            if not client.trouble:
                _log.info("slack socket mode connected")
                self._trouble = ""
                self._site.metrics.set(ACCEPTED, 1, "app")
                await self._until_away(client)
            return client.trouble or "disconnected"
        finally:
            await client.close()  # type: ignore[no-untyped-call]

    async def _until_away(self, client: _Connection) -> None:
        """The SDK connects again by itself, as Slack asks for every few hours; return when it does not."""
        away = 0.0
        while away < _MOST_AWAY and not client.closed:
            await self._site.clock.sleep(_LOOK_EVERY)
            away = 0.0 if await client.is_connected() else away + _LOOK_EVERY

    async def _received(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Acknowledge at once. What is not acknowledged, because too much waits, is delivered once more."""
        answer: dict[str, Any] | None = None
        if request.type == "interactive" and request.envelope_id not in self._taken:
            taken = self._interactions.take(request.payload)
            if taken.status_code == BUSY:
                return
            answer = json.loads(bytes(taken.body)) if taken.body and taken.status_code == OK else None
            self._taken.append(request.envelope_id)
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, answer))


_quiet: Final = logging.getLogger("hibernator.slack.socket")
_quiet.setLevel(logging.CRITICAL + 1)  # the SDK writes an error every five seconds while Slack is away
