"""Calls to Slack's Web API, and what each of its errors means for who waits for it.

The SDK tries nothing a second time here: a message whose answer was lost may be there, and the channel finds
out before it posts again.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from hibernator.kube.backoff import asked_to_wait
from hibernator.kube.clock import Clock
from hibernator.kube.metrics import Metric, Metrics
from hibernator.messages.channel import AwayError

URL: Final = "https://slack.com/api/"
_SECONDS: Final = 20.0
_REFUSED_WAIT: Final = 60.0  # between two tries with a token that Slack does not take
_BEHIND: Final = 15.0  # seconds that all others wait behind the message that tries such a token again
_LEAST_WAIT: Final = 1.0
_LATELY: Final = 60.0
_USUAL_WAIT: Final = 30.0  # where Slack asks to wait and does not say how long
_LONGEST_WAIT: Final = 3600.0
_TAKEN: Final = 200
_TOO_MANY: Final = 429
_UNKNOWN: Final = 404
_FAILURE: Final = 500

# How each method takes its arguments, as the SDK's own methods have it; all others take JSON.
_READS: Final = frozenset(
    {"conversations.history", "conversations.replies", "users.info", "users.lookupByEmail"}
)
_IN_ADDRESS: Final = frozenset(
    {"conversations.open", "files.completeUploadExternal", "files.getUploadURLExternal"}
)

# What an administrator mends, for all messages at once.
TOKEN_ERRORS: Final = frozenset(
    {
        "accesslimited",
        "account_inactive",
        "enterprise_is_restricted",
        "invalid_auth",
        "messages_tab_disabled",
        "missing_scope",
        "no_permission",
        "not_allowed_token_type",
        "not_authed",
        "org_login_required",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
        "two_factor_setup_required",
    }
)
AWAY_ERRORS: Final = frozenset(
    {
        "ekm_access_denied",
        "fatal_error",
        "internal_error",
        "message_limit_exceeded",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
    }
)

TOKEN_REFUSED: Final = "SlackTokenRefused"  # noqa: S105  the reason of a condition, and no token

ACCEPTED: Final = Metric(
    "hibernator_slack_accepted",
    "gauge",
    ("token",),
    "1 while Slack takes this token of the app and its scopes, 0 since it refused them: `bot`, and `app` in "
    "Socket Mode.",
)

_log: Final = structlog.get_logger(__name__)


class SlackError(Exception):
    """Slack refused one call; `code` is its word for it."""

    def __init__(self, method: str, code: str) -> None:
        super().__init__(f"{method}: {code}")
        self.code = code


class SlackApi:
    """One workspace, with the token as its file has it at each call."""

    def __init__(
        self,
        url: str,
        token_file: str,
        session: aiohttp.ClientSession,
        clock: Clock,
        metrics: Metrics,
    ) -> None:
        self._url = url
        self._token_file = Path(token_file)
        self._session = session
        self._clock = clock
        self._metrics = metrics
        self._until: dict[str, float] = {}  # by method; empty for all of them
        self._refused = ""  # the token that Slack does not take
        self._trying = ""  # whose message tries it again, while all others wait
        self._tried_at = 0.0
        self._limited_until = 0.0
        metrics.set(ACCEPTED, 1, "bot")

    @property
    def wait(self) -> float:
        """Seconds until it makes sense to call anything again."""
        return self.wait_for()

    def wait_for(self, *methods: str, who: str = "") -> float:
        """The same for some methods: Slack limits each of them for itself.

        While Slack refuses the token, the message that met it tries again, and all others wait behind it: so
        that this is a condition of one message, and not of every message that is to be sent.
        """
        now = self._clock.monotonic()
        behind = _BEHIND if self._refused and self._trying not in {"", who} else 0.0
        everything = self._until.get("", 0.0) + behind
        return max(0.0, everything - now, *(self._until.get(one, 0.0) - now for one in methods))

    @property
    def is_limited_lately(self) -> bool:
        """Whether Slack said a short time ago that it is asked too often."""
        return self._clock.monotonic() < self._limited_until

    def try_with(self, who: str) -> bool:
        """Let this message find out when the token is taken again; False where another one does already."""
        now = self._clock.monotonic()
        if self._trying not in {"", who} and now - self._tried_at < _BEHIND:
            return False  # both were under way when Slack refused the token
        self._trying, self._tried_at = who, now
        return True

    async def call(
        self, method: str, args: Mapping[str, Any], *, optional: bool = False, patience: float = 0.0
    ) -> dict[str, Any]:
        """The answer; raises SlackError for what was refused, AwayError for what may work later.

        What Slack asked to wait for is not called before that; with `patience`, it is waited for here, for at
        most so many seconds. `optional` is what messages can do without: a scope that is missing for it stops
        nothing else.
        """
        end = self._clock.monotonic() + patience
        while True:
            if wait := self._limited(method):
                if self._clock.monotonic() + wait > end:
                    raise AwayError(f"Slack asks to wait {wait:g} seconds", everyone=True, after=wait)
                await self._clock.sleep(wait)
            try:
                return await self._call(method, args, optional=optional)
            except AwayError:
                wait = self._limited(method)
                if not wait or self._clock.monotonic() + wait > end:
                    raise

    def _limited(self, method: str) -> float:
        return max(0.0, self._until.get(method, 0.0) - self._clock.monotonic())

    async def _call(self, method: str, args: Mapping[str, Any], *, optional: bool) -> dict[str, Any]:
        try:
            token = (await asyncio.to_thread(self._token_file.read_text, "utf-8")).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise self._away("the file with the token of Slack cannot be read", _REFUSED_WAIT) from error
        client = AsyncWebClient(
            token, self._url, session=self._session, retry_handlers=[], logger=_quiet, proxy=""
        )
        given = {key: value for key, value in args.items() if value is not None}
        try:
            async with asyncio.timeout(_SECONDS):
                answer = await _ask(client, method, given)
        except SlackApiError as error:
            raise self._meaning(method, token, error, optional=optional) from error
        except (aiohttp.ClientError, SlackClientError, TimeoutError, OSError, ValueError) as error:
            raise self._away(f"Slack does not answer: {type(error).__name__}") from error
        if self._refused:
            _log.info("slack accepts the token again")
            self._until.pop("", None)
        self._refused = self._trying = ""
        self._metrics.set(ACCEPTED, 1, "bot")
        found = answer.data
        return found if isinstance(found, dict) else {}

    async def upload(self, url: str, content: bytes) -> None:
        """Hand over a file at the address that Slack has named for it."""
        limit = aiohttp.ClientTimeout(total=_SECONDS)
        async with self._session.post(url, data=content, timeout=limit, allow_redirects=False) as response:
            if response.status != _TAKEN:
                raise SlackError("upload", f"HTTP {response.status}")

    def _meaning(self, method: str, token: str, error: SlackApiError, *, optional: bool) -> Exception:
        response = error.response
        status = getattr(response, "status_code", getattr(response, "status", 0))
        data = getattr(response, "data", None)
        code = str(data.get("error", "")) if isinstance(data, dict) else ""
        if status == _TOO_MANY or code in {"ratelimited", "rate_limited"}:
            seconds = _seconds(response.headers)
            self._limited_until = self._clock.monotonic() + seconds + _LATELY
            return self._away(f"Slack asks to wait {seconds:g} seconds", seconds, method)
        if code in TOKEN_ERRORS and not (optional and code == "missing_scope"):
            more = f" ({data['needed']})" if isinstance(data, dict) and data.get("needed") else ""
            if token != self._refused:
                _log.error("slack refuses the token", code=code, needed=more.strip(" ()"), method=method)
            self._refused = token
            self._metrics.set(ACCEPTED, 0, "bot")
            words = f"Slack refuses the token of the app: {code}{more}"
            return self._away(words, _REFUSED_WAIT, reason=TOKEN_REFUSED)
        if optional and status == _UNKNOWN:
            return SlackError(method, code or "unknown_method")
        if status >= _FAILURE or not code or code in AWAY_ERRORS:
            return self._away(f"Slack does not answer as it should: {code or status}")
        return SlackError(method, code)

    def _away(self, words: str, wait: float | None = None, method: str = "", reason: str = "") -> AwayError:
        if wait:
            until = self._clock.monotonic() + wait
            self._until[method] = max(self._until.get(method, 0.0), until)
        return AwayError(words, everyone=True, after=wait, reason=reason)


async def _ask(client: AsyncWebClient, method: str, given: dict[str, Any]) -> AsyncSlackResponse:
    if method in _READS:
        return await client.api_call(method, http_verb="GET", params=given)
    if method in _IN_ADDRESS:
        return await client.api_call(method, params=given)
    return await client.api_call(method, json=given)


def _seconds(headers: Mapping[str, str]) -> float:
    found = next((value for key, value in headers.items() if key.lower() == "retry-after"), "")
    seconds = asked_to_wait(found)
    return _USUAL_WAIT if seconds is None else min(max(_LEAST_WAIT, seconds), _LONGEST_WAIT)


_quiet: Final = logging.getLogger("hibernator.slack")
_quiet.setLevel(logging.WARNING)  # below that the SDK writes whole messages
