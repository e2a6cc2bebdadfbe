"""Requests to one API server over kept-alive connections: who may send, how long to wait, what to try again.

Every request has a deadline. What only reads is tried again a few times; a write never is, because an answer
that was lost says nothing about whether the write happened. The caller gets an error and has to read.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import aiohttp
from aiohttp.connector import AddrInfoType
from yarl import URL

from hibernator import __version__
from hibernator.kube import bounded
from hibernator.kube.backoff import backoff
from hibernator.kube.credentials import Access, Credentials
from hibernator.kube.errors import ApiError, Throttled, Unavailable, from_answer
from hibernator.kube.fairness import Lanes
from hibernator.kube.metrics import API_REQUESTS, API_SECONDS, Metrics

_HEADERS: Final = {
    "User-Agent": f"hibernator/{__version__}",
    # Packing and unpacking costs both sides more than the bytes cost a cluster's network.
    "Accept-Encoding": "identity",
}
_CONNECT: Final = 10.0
_TRIES: Final = 4
_LOST, _THROTTLED = 0.1, 0.5  # the first wait for another try; doubled each time
_KEEP_ALIVE: Final = 30.0  # less than API servers and balancers keep idle connections
_SUCCESS: Final = range(200, 300)
_UNAUTHORIZED: Final = 401

# Asked in the moment in which a write is sent: how many seconds it may take. Raises if it must not start.
Fence = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `verb` and `resource` are Kubernetes' words for it, for metrics and turns."""

    verb: str
    resource: str
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes | None = None
    content_type: str = "application/json"
    fence: Fence | None = None
    accept: str = "application/json"

    @property
    def reads(self) -> bool:
        """Whether doing it twice is the same as doing it once."""
        return self.method == "GET" or self.verb == "review"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """Sends calls, with bounded connections and fair turns between resources."""

    def __init__(
        self,
        credentials: Credentials,
        lanes: Lanes,
        metrics: Metrics | None,
        deadline: float,
        largest: int | None = None,
    ) -> None:
        self._credentials = credentials
        self._deadline = deadline
        self._largest = largest
        self._lanes = lanes
        self._metrics = metrics
        self._session = aiohttp.ClientSession(
            # The lanes bound what is in flight. A limit here would let watches, which stay, block requests.
            connector=aiohttp.TCPConnector(
                limit=0, keepalive_timeout=_KEEP_ALIVE, socket_factory=_lively_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=_HEADERS,
        )

    async def close(self) -> None:
        await self._session.close()

    async def send(self, call: Call) -> bytes:
        """The body of the answer, if it is a success."""
        lane = self._lanes.lane(call.resource)
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._deadline
        failures = 0
        while True:
            access = await self._credentials.access()
            try:
                async with lane:
                    return await self._answer(call, access)
            except (Throttled, Unavailable) as error:
                failures += 1
                if isinstance(error, Throttled):
                    lane.rest(error.retry_after)
                if not call.reads or failures == _TRIES or loop.time() >= give_up:
                    raise
                first = _THROTTLED if isinstance(error, Throttled) else _LOST
                wait = backoff(failures, first=first, at_least=error.retry_after)
            await asyncio.sleep(wait)

    async def _answer(self, call: Call, access: Access) -> bytes:
        status, body, rest = await self._exchange(call, access)
        if status == _UNAUTHORIZED and await self._credentials.renew(access):
            status, body, rest = await self._exchange(call, await self._credentials.access())
        if status in _SUCCESS:
            return body
        trusted = self._largest is None
        raise from_answer(
            status, body, reads=call.reads, request=str(call), retry_after=rest, trusted=trusted
        )

    async def _exchange(self, call: Call, access: Access) -> tuple[int, bytes, str]:
        loop = asyncio.get_running_loop()
        start, code = loop.time(), "none"
        longest = self._deadline if call.fence is None or call.reads else min(self._deadline, call.fence())
        # Without the threshold aiohttp would round up to whole seconds.
        limits = aiohttp.ClientTimeout(total=longest, sock_connect=_CONNECT, ceil_threshold=longest)
        try:
            async with await self._request(call, access, limits) as response:
                body = await self._body(response)
                code = str(response.status)
                return response.status, body, response.headers.get("Retry-After", "")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _lost(call, error) from error
        finally:
            self._count(call, code, loop.time() - start)

    @asynccontextmanager
    async def stream(self, call: Call, *, silence: float) -> AsyncIterator[aiohttp.StreamReader]:
        """An answer that goes on and on. `silence` is for how long nothing may come before it counts as dead.

        Takes no turn, because it would never give it back.
        """
        try:
            async with await self._open(call, silence) as response:
                yield response.content
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _lost(call, error) from error

    async def _open(self, call: Call, silence: float) -> aiohttp.ClientResponse:
        access = await self._credentials.access()
        response = await self._start(call, access, silence)
        if response.status == _UNAUTHORIZED and await self._credentials.renew(access):
            response.close()
            response = await self._start(call, await self._credentials.access(), silence)
        if response.status in _SUCCESS:
            return response
        async with response, asyncio.timeout(self._deadline):
            raise from_answer(
                response.status,
                await self._body(response),
                reads=call.reads,
                request=str(call),
                retry_after=response.headers.get("Retry-After", ""),
                trusted=self._largest is None,
            )

    async def _start(self, call: Call, access: Access, silence: float) -> aiohttp.ClientResponse:
        loop = asyncio.get_running_loop()
        start, code = loop.time(), "none"
        limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=silence)
        try:
            async with asyncio.timeout(self._deadline):
                response = await self._request(call, access, limits)
            code = str(response.status)
            return response
        finally:
            self._count(call, code, loop.time() - start)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        return await (response.read() if self._largest is None else bounded.read(response, self._largest))

    def _count(self, call: Call, code: str, seconds: float) -> None:
        if self._metrics:
            self._metrics.count(API_REQUESTS, call.verb, call.resource, code)
            self._metrics.observe(API_SECONDS, seconds, call.verb, call.resource)

    async def _request(
        self, call: Call, access: Access, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        query = f"?{urlencode(call.query)}" if call.query else ""
        headers = access.headers.copy()
        headers["Accept"] = call.accept
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        return await self._session.request(
            call.method,
            URL(f"{access.server}{call.path}{query}", encoded=True),
            data=call.body,
            headers=headers,
            ssl=access.tls,
            server_hostname=access.server_name,
            proxy=access.proxy,
            timeout=limits,
            allow_redirects=False,
            middlewares=() if call.reads else (_send_once,),
        )


# What goes wrong before a request is on its way.
_NOT_SENT: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
)


class _LostError(aiohttp.ClientError):
    """A connection that broke after the request was on its way."""


async def _send_once(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Keep aiohttp from sending a DELETE again by itself when a kept-alive connection breaks."""
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _LostError(str(error)) from error


def _lost(call: Call, error: Exception) -> ApiError:
    """No answer, or half of one."""
    sent = not isinstance(error, _NOT_SENT)
    return Unavailable(error_text(error), maybe_committed=sent and not call.reads, request=str(call))


def error_text(error: Exception) -> str:
    """Why there was no answer, for people."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"the API server's certificate is not to be trusted: {error.certificate_error}"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno or 0  # asyncio puts words of its own beside it
            why = os.strerror(number) if number > 0 else error.os_error.strerror or error.os_error
            return f"the API server at {error.host}:{error.port} cannot be reached: {why}"
        case aiohttp.ClientHttpProxyError():
            return f"the proxy does not connect to the API server: {error.status} {error.message}"
        case bounded.TooLargeError():
            return f"the API server sends too much: {error}"
        case TimeoutError():
            return "the API server did not answer in time"
        case aiohttp.ClientPayloadError():
            return "the connection to the API server broke in the middle of an answer"
        case _:
            return f"the connection to the API server broke: {str(error) or type(error).__name__}"


def _lively_socket(address: AddrInfoType) -> socket.socket:
    """A socket that notices within half a minute that its peer or the way to it is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000)
    return made
