"""One project at Google Cloud, by its REST APIs: calls that read, calls that change something, and waiting.

As with AWS, a change is sent once, and only while this replica leads. What Google does about it takes its
time: an operation is watched for a moment, and what finds it unfinished comes back later.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from hibernator import __version__
from hibernator.executors.accounts import Account
from hibernator.executors.gcp.tokens import NotLetInError, Tokens
from hibernator.executors.protocol import Permanent, Retryable, Throttled, Underway, check_count
from hibernator.kube import bounded
from hibernator.kube.backoff import backoff
from hibernator.kube.transport import Fence

Api = Literal["container", "sqladmin", "compute"]
Document = Mapping[str, Any]

_DEADLINE: Final = 30.0  # seconds for a call, and after which none is tried again
_TRIES: Final = 3
_LARGEST: Final = 16 * 2**20  # bytes of an answer
_PAUSE: Final = 15.0  # seconds until what is being changed is looked at again
_POLL_EVERY: Final = (0.2, 0.5, 1.0, 2.0)
_LONGEST_MESSAGE: Final = 500
_SUCCESS: Final = range(200, 300)
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT, _TOO_MANY, _SERVER_ERRORS = 401, 403, 404, 409, 429, 500
_RATES: Final = {"rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded"}


class GcpRefusedError(Permanent):
    """Google said no, and will again."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def not_found(self) -> bool:
        return self.status == _NOT_FOUND

    @property
    def forbidden(self) -> bool:
        return self.status == _FORBIDDEN


@dataclass(frozen=True, slots=True, eq=False)
class GcpProject(Account):
    """Share one between everything that works in the project."""

    cloud: ClassVar[str] = "Google Cloud"

    name: str
    tokens: Tokens
    session: aiohttp.ClientSession = field(repr=False)
    endpoint: str | None = None
    fence: Fence | None = None
    cluster: str = ""  # the id of our own, for what we put to sleep; empty if it is not known
    patience: float = 20.0  # seconds for which an operation is watched at once

    @property
    def described(self) -> str:
        return f"the project {self.name} at Google"

    async def close(self) -> None:
        """Nothing: the session is everyone's."""

    async def read(self, api: Api, path: str, **query: str) -> Document:
        loop = asyncio.get_running_loop()
        give_up = loop.time() + _DEADLINE
        for failures in range(1, _TRIES):
            try:
                return await self._send("GET", api, path, _DEADLINE, query=query)
            except Retryable:
                if loop.time() >= give_up:
                    raise
                await asyncio.sleep(backoff(failures))
        return await self._send("GET", api, path, _DEADLINE, query=query)

    async def pages(self, api: Api, path: str, part: str, **query: str) -> list[Document]:
        """A part of all the pages of an answer."""
        found: list[Document] = []
        more: dict[str, str] = {}
        while True:
            answer = await self.read(api, path, **query, **more)
            found += answer.get(part) or ()
            check_count(len(found))
            if not answer.get("nextPageToken"):
                return found
            more = {"pageToken": str(answer["nextPageToken"])}

    async def write(self, api: Api, method: Literal["POST", "PATCH"], path: str, body: Document) -> Document:
        await self.tokens.get()  # before the fence is asked: it may take its time
        seconds = min(_DEADLINE, self.fence()) if self.fence else _DEADLINE
        return await self._send(method, api, path, seconds, body=body)

    async def finish(self, api: Api, path: str, operation: Document) -> None:
        """Watch an operation for a moment; Underway when it takes longer, Retryable when it fails."""
        loop = asyncio.get_running_loop()
        until, polls = loop.time() + self.patience, 0
        while operation.get("status") != "DONE":
            if loop.time() >= until:
                raise Underway(
                    f"Google is still working on it ({operation.get('name')}).", retry_after=_PAUSE
                )
            await asyncio.sleep(_POLL_EVERY[min(polls, len(_POLL_EVERY) - 1)])
            polls += 1
            operation = await self.read(api, f"{path}/operations/{part(str(operation.get('name', '')))}")
        if error := operation.get("error"):
            raise Retryable(f"Google could not do it: {_failure(error)}")

    async def _send(
        self,
        method: str,
        api: Api,
        path: str,
        seconds: float,
        *,
        query: Mapping[str, str] | None = None,
        body: Document | None = None,
    ) -> Document:
        try:
            async with asyncio.timeout(seconds):
                token = await self.tokens.get()
                status, answer = await self._exchange(method, api, path, token, query, body)
                if status == _UNAUTHORIZED:
                    token = await self.tokens.get(refused=token)
                    status, answer = await self._exchange(method, api, path, token, query, body)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise Retryable(f"Google did not answer: {str(error) or type(error).__name__}") from error
        if status not in _SUCCESS:
            raise _meaning(status, answer or {})
        if answer is None:
            raise Retryable("What answers is not Google: look at endpointURL.")
        return answer

    async def _exchange(
        self,
        method: str,
        api: Api,
        path: str,
        token: str,
        query: Mapping[str, str] | None,
        body: Document | None,
    ) -> tuple[int, Document | None]:
        headers = {"Authorization": f"Bearer {token}", "User-Agent": f"hibernator/{__version__}"}
        base = (self.endpoint or f"https://{api}.googleapis.com").rstrip("/")
        async with self.session.request(
            method,
            URL(f"{base}/{path}", encoded=True),
            params=query,
            json=body,
            headers=headers,
            allow_redirects=False,
        ) as response:
            return response.status, _decoded(await bounded.read(response, _LARGEST))


def part(text: str) -> str:
    """A name as a part of a path. Users write some of them, and must not reach anything else by that."""
    if text in {"", ".", ".."} or not text.isprintable():
        raise Permanent(f"{text!r} cannot be the name of anything at Google.")
    return quote(text, safe=":")


def _decoded(body: bytes) -> Document | None:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _meaning(status: int, answer: Document) -> Exception:
    error = answer.get("error")
    said: Document = error if isinstance(error, dict) else {}
    message = " ".join(str(said.get("message", "")).split())[:_LONGEST_MESSAGE] or f"it answered {status}"
    reasons = {one.get("reason") for one in said.get("errors") or () if isinstance(one, dict)}
    if status == _TOO_MANY or reasons & _RATES:
        return Throttled("Google gets too many requests.", retry_after=_PAUSE)
    if status == _CONFLICT or said.get("status") in {"FAILED_PRECONDITION", "ABORTED"}:
        return Underway(f"Google is at something else: {message}", retry_after=_PAUSE)
    if status >= _SERVER_ERRORS:
        return Retryable(f"Google did not do it now: {message}")
    if status == _UNAUTHORIZED:
        return NotLetInError(f"Google does not accept the credentials: {message}")
    return GcpRefusedError(status, f"Google refused it: {message}")


def _failure(error: Any) -> str:
    """Two APIs, two ways to say what went wrong."""
    several = error.get("errors") if isinstance(error, dict) else None
    each = several if isinstance(several, list) else [error]
    return "; ".join(str(one.get("message") or one.get("code")) for one in each if isinstance(one, dict))
