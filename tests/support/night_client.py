"""A client of which one write meets a fault, and whose watch of plans may stand still for a while."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self, TypeVar

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.controllers.shared import RESTORE_MAPS
from hibernator.kube.client import Client
from hibernator.kube.election import NotLeadingError
from hibernator.kube.errors import Conflict, Unavailable
from hibernator.kube.wire import Page, WatchEvent
from support.night_cases import Fault
from support.plan_lives import Killed

T = TypeVar("T")
Send = Callable[[Client], Awaitable[T]]

_ERRORS: dict[Fault, BaseException] = {
    "lost before": Unavailable("the connection broke", maybe_committed=True),
    "lost after": Unavailable("the connection broke", maybe_committed=True),
    "late": Unavailable("no answer in time", maybe_committed=True),
    "very late": Unavailable("no answer in time", maybe_committed=True),
    "conflict": Conflict("the object has been modified", status=409),
    "error 500": Unavailable("internal error", status=500, maybe_committed=True),
    "killed": Killed(),
    "lease lost": NotLeadingError("the lease is gone"),
}
_ENDS: frozenset[Fault] = frozenset({"killed", "lease lost"})


@dataclass(slots=True)
class Blow:
    """What the writes of a night come to: how many there were, and whether the fault has struck."""

    fault: Fault
    write: int  # 0: none
    strike: Callable[[], Awaitable[None]]
    writes: int = 0
    struck: str = ""  # the request that met the fault
    held: Send[Any] | None = None  # on its way, though nobody waits for it
    plans: list[HibernatePlan] = field(default_factory=list)  # as the API server answered, oldest first


@dataclass(frozen=True, slots=True)
class Past:
    """What the watches of a process have come to that takes over."""

    plan: HibernatePlan
    maps: str = ""  # the version of the watch of restore data, from when there was none, unless that is fresh


class FaultyClient(Client):
    """One write at a time, so that the number of a write means the same in each run.

    All lives send over the connections of another client: a handshake costs as much as several requests.
    """

    def __init__(self, other: Client, blow: Blow, past: Past | None = None) -> None:
        super().__init__(other.credentials)
        self.flows = asyncio.Event()  # the watches, again
        self._other = other
        self._blow = blow
        self._past = past
        self._turn = asyncio.Lock()
        self._end: BaseException | None = None

    async def __aenter__(self) -> Self:
        self._transport = self._other._open
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._transport = None

    async def _send(self, kind: Kind[Any], verb: str, method: str, path: str, *args: Any, **more: Any) -> Any:
        if method == "GET":
            return await super()._send(kind, verb, method, path, *args, **more)

        async def send(client: Client) -> Any:
            answer = await Client._send(client, kind, verb, method, path, *args, **more)
            if isinstance(answer, HibernatePlan):
                self._blow.plans.append(answer)
            return answer

        return await self._write(f"{method} {path}", send)

    async def delete(self, kind: Kind[Any], name: str, *args: Any, **more: Any) -> None:
        async def send(client: Client) -> None:
            await Client.delete(client, kind, name, *args, **more)

        await self._write(f"DELETE {name}", send)

    async def _write(self, request: str, send: Send[T]) -> T:
        async with self._turn:
            if self._end:
                raise self._end
            blow = self._blow
            blow.writes += 1
            if blow.writes == blow.write:
                blow.struck = request
                await self._suffer(blow, send)
            return await send(self)

    async def _suffer(self, blow: Blow, send: Send[Any]) -> NoReturn:
        if blow.fault in _ENDS:
            self._end = _ERRORS[blow.fault]
        if blow.fault in {"lost after", "killed"}:
            await send(self)
        elif blow.fault in {"late", "very late"}:
            blow.held = send
        await blow.strike()
        raise _ERRORS[blow.fault].with_traceback(None)  # which would keep every operator that met it

    def _stands_still(self, kind: Kind[Any]) -> bool:
        if self._past is None or self.flows.is_set():
            return False
        return kind is PLANS or (kind is RESTORE_MAPS and bool(self._past.maps))

    async def pages(self, kind: Kind[Any], *args: Any, **more: Any) -> AsyncIterator[Page[Any]]:
        if self._past and self._stands_still(kind):
            known = self._past.plan
            if kind is PLANS:
                yield Page(items=[known], resource_version=known.metadata.resource_version, next="")
            else:
                yield Page(items=[], resource_version=self._past.maps, next="")
            return
        async for page in super().pages(kind, *args, **more):
            yield page

    async def watch(
        self, kind: Kind[Any], *args: Any, **more: Any
    ) -> AsyncGenerator[Iterator[WatchEvent[Any]], None]:
        if self._stands_still(kind):
            yield iter(())
            await self.flows.wait()
        async with aclosing(super().watch(kind, *args, **more)) as batches:
            async for batch in batches:
                yield batch
