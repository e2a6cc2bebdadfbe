"""One AWS account in one region: calls that read, calls that change something, and what their failures mean.

A call is sent once. Reading is tried again a few times; what changes something never is, because only a look
says whether it happened, and looking is what executors do anyway. A change asks the fence of the leadership
first and may not take longer than that allows, so that a replica which lost its lease changes nothing.

AWS's library is on the other side of `AwsSession`: it is imported when the first account is opened
(`aws_session`), because most operators never open one.
"""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Final, Protocol, TypeVar

from hibernator.executors.accounts import Account
from hibernator.executors.protocol import Job, Permanent, Retryable, check_count
from hibernator.kube.backoff import backoff
from hibernator.kube.transport import Fence

Document = Mapping[str, Any]
T = TypeVar("T")

_DEADLINE: Final = 30.0  # seconds for a call, and after which none is tried again
_LIST_DEADLINE: Final = 120.0
_TRIES: Final = 3


class AwsRefusedError(Permanent):
    """AWS said no, and will again. `code` is its own word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Keys:
    """Static keys; never shown, not even in a traceback."""

    id: str
    secret: str = field(repr=False)
    token: str | None = field(default=None, repr=False)


class AwsSession(Protocol):
    """An identity that is signed in, and the library that makes its requests."""

    def client(self, service: str, region: str, endpoint: str | None) -> AbstractAsyncContextManager[Any]: ...

    async def signed(
        self, region: str, url: str, query: Mapping[str, str], headers: Mapping[str, str], seconds: int
    ) -> str: ...

    def errors(self) -> AbstractContextManager[None]:
        """Turn the library's errors into what follows from them."""


class AwsAccount(Account):
    """Share one between everything that works in the account; close it in the end."""

    cloud: ClassVar[str] = "AWS"

    def __init__(
        self,
        session: AwsSession,
        region: str,
        *,
        endpoint: str | None = None,
        fence: Fence | None = None,
        cluster: str = "",
    ) -> None:
        self.region = region
        self.cluster = cluster  # the id of our own, for what we put to sleep; empty if it is not known
        self.endpoint = endpoint
        self._session = session
        self._fence = fence
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = asyncio.Lock()
        self._stack = AsyncExitStack()

    def at(self, region: str) -> "AwsAccount":
        """The same account, elsewhere."""
        there = copy.copy(self)
        there.region = region
        return there

    @property
    def described(self) -> str:
        return "an account at AWS"

    async def close(self) -> None:
        await self._stack.aclose()

    async def read(self, service: str, operation: str, **parameters: Any) -> Document:
        call = await self._call(service, operation, parameters)
        return await _again(lambda: self._send(call, _DEADLINE))

    async def pages(self, service: str, operation: str, part: str, **parameters: Any) -> list[Document]:
        """A part of all the pages of an answer."""
        client = await self._client(service)

        async def gather() -> list[Document]:
            pages = client.get_paginator(operation).paginate(**parameters)
            found: list[Document] = []
            async for page in pages:
                found += page.get(part) or ()
                check_count(len(found))
            return found

        return await _again(lambda: self._send(gather, _LIST_DEADLINE))

    async def write(self, service: str, operation: str, **parameters: Any) -> Document:
        call = await self._call(service, operation, parameters)
        seconds = min(_DEADLINE, self._fence()) if self._fence else _DEADLINE
        return await self._send(call, seconds)

    async def signed(
        self, url: str, query: Mapping[str, str], headers: Mapping[str, str], seconds: int
    ) -> str:
        """The address of a question to STS that anyone may ask in our name for so many seconds."""
        with self._session.errors():
            return await self._session.signed(self.region, url, query, headers, seconds)

    async def _call(
        self, service: str, operation: str, parameters: dict[str, Any]
    ) -> Callable[[], Awaitable[Document]]:
        return partial(getattr(await self._client(service), operation), **parameters)

    async def _client(self, service: str) -> Any:
        key = service, self.region
        async with self._lock:
            if key not in self._clients:
                with self._session.errors():
                    making = self._session.client(service, self.region, self.endpoint)
                    self._clients[key] = await self._stack.enter_async_context(making)
            return self._clients[key]

    async def _send(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        with self._session.errors():
            async with asyncio.timeout(seconds):
                return await call()


class AwsAccounts(Protocol):
    """Where executors find the account of a target."""

    async def aws(self, job: Job) -> AwsAccount:
        """The account that the target's connector names; the errors of `protocol` when there is none."""


def tags_of(thing: Document, part: str = "Tags") -> dict[str, str]:
    """The tags of a thing, as most of AWS's services list them."""
    return {tag["Key"]: tag.get("Value", "") for tag in thing.get(part) or ()}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


async def _again(attempt: Callable[[], Awaitable[T]]) -> T:
    """Reading changes nothing: it is repeated once after a lost answer."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + _DEADLINE
    for failures in range(1, _TRIES):
        try:
            return await attempt()
        except Retryable:
            if loop.time() >= give_up:
                raise
            await asyncio.sleep(backoff(failures))
    return await attempt()
