"""Lives of an operator that end with a chosen write: committed, and before anybody heard of it.

Run as a program, the process ends itself by SIGKILL there.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from aiobotocore.session import AioSession

from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.audit.database import Database
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers.hibernateplan import plan_controller
from hibernator.controllers.means import Means
from hibernator.controllers.metrics import METRICS
from hibernator.controllers.strays import STRAYS, strays_of
from hibernator.executors.accounts import Account, Login
from hibernator.executors.aws.account import AwsAccount
from hibernator.executors.aws.session import Session
from hibernator.executors.connectors import Connectors
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.logins import AccountOpener
from hibernator.executors.registry import executors
from hibernator.kube import credentials
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, Key
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import RUNTIME, Metrics
from support.clock import ManualClock

T = TypeVar("T")
_PASSES = 200
_UNUSED = "sqlite:///unused.db"  # nobody runs the trail here, so that nothing is written to it


class Killed(BaseException):
    """The process is gone. Nothing in the house catches this."""


class MortalClient(Client):
    """Dies with its k-th write; who asks it for more afterwards is dead, too.

    One write at a time: none is on its way while another is the last one.
    """

    def __init__(self, found: credentials.Credentials, last: int | None, die: Callable[[], None]) -> None:
        super().__init__(found)
        self.writes = 0
        self._last = last
        self._die = die
        self._turn = asyncio.Lock()

    async def _send(self, kind: Any, verb: str, method: str, path: str, *args: Any, **more: Any) -> Any:
        if method == "GET":
            return await super()._send(kind, verb, method, path, *args, **more)
        return await self.last_words(super()._send(kind, verb, method, path, *args, **more))

    async def delete(self, *args: Any, **more: Any) -> None:
        await self.last_words(super().delete(*args, **more))

    async def last_words(self, write: Coroutine[Any, Any, T]) -> T:
        """Write, if still alive; wherever it is written, it counts."""
        try:
            async with self._turn:
                self._live()
                answer = await write
                self.writes += 1
                self._live()
        finally:
            write.close()
        return answer

    def _live(self) -> None:
        if self._last is not None and self.writes >= self._last:
            self._die()


def _killed() -> None:
    raise Killed


class _MortalAccount(AwsAccount):
    """Dies with the client."""

    client: MortalClient

    async def write(self, service: str, operation: str, **parameters: Any) -> Any:
        return await self.client.last_words(super().write(service, operation, **parameters))


@dataclass(frozen=True, eq=False)
class _MortalProject(GcpProject):
    """Dies with the client."""

    client: MortalClient = field(kw_only=True)

    async def write(self, *args: Any) -> Any:
        return await self.client.last_words(super().write(*args))


@dataclass(frozen=True)
class _MortalOpener:
    client: MortalClient
    session: aiohttp.ClientSession

    async def open(self, login: Login) -> Account:
        spec = login.spec.aws
        if spec is None:
            found = await AccountOpener(self.session).open(login)
            assert isinstance(found, GcpProject)
            return _MortalProject(
                found.name, found.tokens, self.session, endpoint=found.endpoint, client=self.client
            )
        account = _MortalAccount(_session(), spec.region, endpoint=spec.endpoint_url)
        account.client = self.client
        return account


@cache
def _session() -> Session:
    """One for all lives: it takes long to read what it knows about AWS."""
    session = AioSession()
    session.set_credentials("test", "test")
    return Session(session)


@asynccontextmanager
async def operating(
    client: Client,
    key: Key,
    clock: ManualClock,
    *,
    empty: Collection[Kind[Any]] = (),
    trail: type[Trail] = Trail,
) -> AsyncIterator[Controller]:
    """The controller of plans in one namespace, with its caches filled, for whoever calls its reconcile.

    There is nothing of the kinds that are `empty`, nor will there be: they need not be watched.
    """
    metrics = Metrics((*RUNTIME, *METRICS, STRAYS))
    async with (
        client,
        Database(_UNUSED) as database,
        aiohttp.ClientSession() as session,
        Connectors(client, session) as connectors,
    ):
        if isinstance(client, MortalClient):
            connectors._opener = _MortalOpener(client, session)  # type: ignore[assignment] # all that is asked of them
        kept = trail(ChainStore(database, now=clock.now), identity="test")
        means = Means(
            client=client,
            caches=Caches(client, metrics, key.namespace),
            recorder=Recorder(client, clock, metrics, instance="test"),
            clock=clock,
            metrics=metrics,
            trail=kept,
            spool=AuditSpool(client, kept, key.namespace),
        )
        registry = executors(connectors, own_namespace="hibernator-system")
        strays = strays_of(means, connectors, registry, lambda _cache: None, key.namespace)
        controller = plan_controller(means, registry=registry, strays=strays)
        caches = [source.cache for source in controller.sources if source.cache.kind not in empty]
        tasks = [asyncio.create_task(cache.run()) for cache in caches]
        try:
            for cache in caches:
                await cache.wait_synced()
            yield controller
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def live(
    kubeconfig: Path,
    key: Key,
    clock: ManualClock,
    *,
    last: int | None = None,
    die: Callable[[], None] = _killed,
) -> int:
    """Be one plan's operator until nothing is left to do now, or until the last write. Counts the writes."""
    client = MortalClient(credentials.find(str(kubeconfig)), last, die)
    async with operating(client, key, clock) as controller:
        try:
            await _until_quiet(client, controller, key, clock)
        except BaseExceptionGroup as group:
            if group.subgroup(Killed):  # one of several writes at once was the last
                raise Killed from group
            raise
        return client.writes


async def _until_quiet(client: MortalClient, controller: Controller, key: Key, clock: ManualClock) -> None:
    for _ in range(_PASSES):
        before = client.writes
        result = await controller._reconcile(key)
        if client.writes != before or not result.after:
            continue
        plan = await client.get(PLANS, key.name, key.namespace)
        if not any(target.state == "Running" for target in plan.status.targets):
            return
        await clock.advance(result.after)
    raise AssertionError("the plan never comes to rest")


if __name__ == "__main__":
    _kubeconfig, _namespace, _name, _moment, _last = sys.argv[1:]
    asyncio.run(
        live(
            Path(_kubeconfig),
            Key(_namespace, _name),
            ManualClock(_moment),
            last=int(_last),
            die=lambda: os.kill(os.getpid(), signal.SIGKILL),
        )
    )
