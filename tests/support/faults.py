"""What the fault proxy can do to a request, and the rules by which it picks the requests."""

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

if TYPE_CHECKING:  # the proxy imports this module
    from support.faultproxy import Exchange


class Action(Protocol):
    """What happens to a request instead of its being forwarded."""

    async def act(self, exchange: "Exchange", /) -> web.StreamResponse: ...


@dataclass(frozen=True)
class Answer:
    """Answer without asking the API server: an error, or what it said at another time."""

    status: int
    reason: str = ""
    retry_after: int | None = None
    body: bytes | None = None

    async def act(self, _exchange: "Exchange") -> web.StreamResponse:
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        body = status(self.status, self.reason) if self.body is None else self.body
        return web.Response(status=self.status, body=body, headers=headers, content_type="application/json")


@dataclass(frozen=True)
class Cut:
    """Break the connection before the API server hears of the request."""

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        return exchange.cut()


@dataclass(frozen=True)
class Drop:
    """Let the API server do it, and break the connection instead of passing on the answer."""

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        await exchange.ask()
        return exchange.cut()


@dataclass(frozen=True)
class Freeze:
    """Accept the request, and never answer it."""

    async def act(self, _exchange: "Exchange") -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError


@dataclass(frozen=True)
class Delay:
    """Forward it once the test says so: `action.over.set()`."""

    over: asyncio.Event = field(default_factory=asyncio.Event)

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        await self.over.wait()
        return await exchange.forward()


@dataclass
class Late:
    """Keep it, also when whoever asked gives up, until the test lets it arrive: `await action.arrive()`."""

    _kept: "list[tuple[Exchange, asyncio.Future[web.Response]]]" = field(default_factory=list)

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        answer: asyncio.Future[web.Response] = asyncio.get_running_loop().create_future()
        self._kept.append((exchange, answer))
        return await answer

    async def arrive(self) -> list[int]:
        """Send on all that was kept; what the API server answers."""
        kept, self._kept = self._kept, []
        codes = []
        for exchange, answer in kept:
            said = await exchange.ask()
            codes.append(said.status)
            if not answer.done():
                answer.set_result(said.response())
        return codes


@dataclass
class Record:
    """Forward it, and keep the body of the answer for a later `Answer(200, body=…)`."""

    body: bytes = b""

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        answer = await exchange.ask()
        self.body = answer.body
        return answer.response()


@dataclass(frozen=True)
class InWatch:
    """Forward so many lines of a watch; then send `line`, if any, and `cut`, `freeze` or `end` it."""

    after: int
    line: bytes = b""
    then: str = "end"

    async def act(self, exchange: "Exchange") -> web.StreamResponse:
        return await exchange.stream(self)


def gone_in_watch(after: int = 0) -> InWatch:
    """The second form of 410: an ERROR event inside a stream that began well."""
    event = {"type": "ERROR", "object": json.loads(status(410, "Expired"))}
    return InWatch(after, json.dumps(event).encode() + b"\n")


def status(code: int, reason: str, message: str = "injected by the fault proxy") -> bytes:
    """An error as the API server words it."""
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return json.dumps(said | {"message": message, "reason": reason, "code": code}).encode()


@dataclass
class Rule:
    """What shall happen to some of the next requests."""

    method: str
    path: re.Pattern[str]
    action: Action
    times: int
    hits: int = 0
    _hit: asyncio.Event = field(default_factory=asyncio.Event)
    _used_up: asyncio.Event = field(default_factory=asyncio.Event)

    def wants(self, request: web.Request) -> bool:
        return (
            self.hits < self.times
            and self.method in {"", request.method}
            and bool(self.path.search(request.path_qs))
        )

    def use(self) -> None:
        self.hits += 1
        self._hit.set()
        if self.hits == self.times:
            self._used_up.set()

    async def hit(self) -> None:
        """Return when it has been used at least once."""
        async with asyncio.timeout(30):
            await self._hit.wait()

    async def used_up(self) -> None:
        """Return when it has been used as often as it was meant to be."""
        async with asyncio.timeout(30):
            await self._used_up.wait()
