"""What is open towards clouds and clusters: opened once, and again when what it was made from has changed.

What could not be opened is not tried again for a moment: a target may have hundreds of items, and if each of
them waited for its own answer from no one, the attempt would never end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

from hibernator.decisions.connectors import Reason
from hibernator.executors.protocol import ExecutorError, Job, Permanent
from hibernator.kube.client import Client

_FRESH: Final = 30.0  # seconds for which a connector is taken as unchanged
_REST: Final = 5.0  # seconds after a failure
_IN_USE: Final = 600.0  # seconds after which nothing that began with an old connection is still going on


class Unusable(Permanent):
    """A connector that leads nowhere. `reason` is one word for its Ready condition."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class Closes(Protocol):
    async def close(self) -> None: ...


C = TypeVar("C", bound=Closes)
M = TypeVar("M")
Name = tuple[str, str, str]  # kind, namespace and name


@dataclass(slots=True)
class _Open:
    made_of: object = field(repr=False)  # may hold secrets
    connection: Any
    fresh_until: float


class Connections:
    def __init__(self) -> None:
        self._open: dict[Name, _Open] = {}
        self._locks: dict[Name, asyncio.Lock] = {}
        self._retired: list[tuple[float, Closes]] = []
        self._failed: dict[Name, tuple[float, ExecutorError]] = {}

    async def get(
        self,
        name: Name,
        look: Callable[[], Awaitable[M]],
        make: Callable[[M], Awaitable[C]],
        *,
        afresh: bool = False,
    ) -> C:
        """What is open under that name; `look` tells what it has to be made of now."""
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(name, asyncio.Lock()):
            known = self._open.get(name)
            if known is None or afresh or loop.time() >= known.fresh_until:
                self._rested(name, afresh=afresh)
                try:
                    known = await self._look(name, known, await look(), make)
                except ExecutorError as error:
                    self._failed[name] = loop.time() + _REST, error
                    raise
                known.fresh_until = loop.time() + _FRESH
                await self._close_retired(loop.time() - _IN_USE)
            connection: C = known.connection
            return connection

    def forget(self, name: Name) -> None:
        """Close what belongs to a connector that is gone."""
        if known := self._open.pop(name, None):
            self._retire(known)

    async def close(self) -> None:
        for one in self._open.values():
            await one.connection.close()
        await self._close_retired(float("inf"))

    def _rested(self, name: Name, *, afresh: bool) -> None:
        until, error = self._failed.pop(name, (0.0, None))
        if error and not afresh and asyncio.get_running_loop().time() < until:
            self._failed[name] = until, error
            raise error

    async def _look(
        self, name: Name, known: _Open | None, made_of: M, make: Callable[[M], Awaitable[C]]
    ) -> _Open:
        if known and known.made_of == made_of:
            return known
        made = _Open(made_of, await make(made_of), 0.0)
        if known:
            self._retire(known)
        self._open[name] = made
        return made

    def _retire(self, known: _Open) -> None:
        self._retired.append((asyncio.get_running_loop().time(), known.connection))

    async def _close_retired(self, before: float) -> None:
        over = [one for since, one in self._retired if since < before]
        self._retired = [(since, one) for since, one in self._retired if since >= before]
        for one in over:
            await one.close()


class Clusters(Protocol):
    async def client(self, job: Job) -> Client:
        """The client for the target's cluster; the errors of `protocol` when it cannot be reached."""
