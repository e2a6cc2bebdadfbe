"""An operator of a test's own: in this process, in one namespace, on a clock that the test moves."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from hibernator.controllers import strays
from hibernator.kube import credentials
from hibernator.kube.metrics import API_REQUESTS, RECONCILE_SECONDS, Metric, Metrics
from hibernator.operator.app import Operator, operator
from hibernator.operator.settings import Settings
from support.account import operator_kubeconfig, settle_in
from support.clock import ManualClock
from support.settled import settled

SELDOM = 90 * 86_400.0  # seconds
_DEADLINE = 120.0  # real seconds; reached only by a test that fails
_LOOK_EVERY = 0.02
_PROMPT = {"scaler_jitter_from": 0.0, "scaler_jitter_to": 0.0, "scaler_minimum": 0.0}


@dataclass
class Running:
    operator: Operator
    clock: ManualClock
    database: str
    task: asyncio.Task[None]
    ends_by_itself: bool = False
    forbidden: frozenset[str] = frozenset()  # resources that the test keeps from the operator

    async def ended(self) -> BaseException | None:
        """Why the operator has ended, once it has by itself."""
        self.ends_by_itself = True
        await asyncio.wait([self.task])
        return self.task.exception()

    async def settle(self) -> None:
        """Wait until the operator has seen all that is there and has nothing left to do about it now."""
        await settled(self.operator.manager)

    async def advance_to(self, moment: str) -> None:
        await self.clock.advance_to(moment)

    async def advance(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    def metric(self, metric: Metric, *labels: str) -> float:
        return self.operator.metrics.value(metric, *labels)

    def looks(self, controller: str) -> float:
        """How often a controller has looked at anything so far."""
        return self.metric(RECONCILE_SECONDS, controller)

    async def trail(self, type_: str) -> list[Entry]:
        """What the audit trail has of a type, once everything told so far is in it."""
        await self.operator.trail.flush()
        async with Database(self.database, read_only=True) as database:
            return list(await Reader(database).page(Filter(type=type_)))

    async def until(self, fact: Callable[[], Any]) -> None:
        """Wait for something that the operator, or Kubernetes itself, brings about."""
        async with asyncio.timeout(_DEADLINE):
            while not await asyncio.to_thread(fact):
                await asyncio.sleep(_LOOK_EVERY)  # nobody tells when the controller manager is done
                await self.settle()


@asynccontextmanager
async def running(
    kubeconfig: Path,
    namespace: str,
    clock: ManualClock | None = None,
    *,
    home: str = "",
    database: str = "",
    sweeps: float = SELDOM,
    **settings: Any,
) -> AsyncIterator[Running]:
    """Run the operator until the block ends, and then stop it as a SIGTERM would.

    It looks for strays when it begins to lead, and then every so many seconds: seldom, because a clock that
    a test moves by weeks would stop for each time.

    It lives in the namespace that it acts in, unless it has a home elsewhere, with a new audit trail, unless
    there is one to go on with. In place of the admin's kubeconfig it uses its own, with the roles that are
    shipped; the test fails if they forbid it anything.
    """
    clock = clock or ManualClock("2026-03-02T08:00:00Z")  # a Monday
    audit = Path(tempfile.mkdtemp(prefix="hibernator-audit-"))
    chosen = Settings(
        database=database or f"sqlite:///{audit}/audit.db",
        watch_namespace=namespace,
        namespace=home or namespace,
        listen="127.0.0.1:0",
        **(_PROMPT | {"leader_elect": False} | settings),
    )
    own = await asyncio.to_thread(operator_kubeconfig, kubeconfig)
    if chosen.webhook_listen or chosen.leader_elect:
        await asyncio.to_thread(settle_in, kubeconfig, chosen.namespace)
    with patch.object(strays, "EVERY", sweeps):
        async with _running(chosen, own, clock, audit) as run:
            yield run


@asynccontextmanager
async def _running(chosen: Settings, own: Path, clock: ManualClock, audit: Path) -> AsyncIterator[Running]:
    async with operator(chosen, credentials.find(str(own)), clock=clock) as made:
        task = asyncio.create_task(made.manager.run())
        try:
            run = Running(made, clock, chosen.database, task)
            await run.settle()
            clock.settles_with(run.settle)
            yield run
        finally:
            made.manager.stop()
            await asyncio.wait([task])
            shutil.rmtree(audit)
        if not run.ends_by_itself:
            task.result()
        assert not list(_forbidden(made.metrics, run.forbidden))


def _forbidden(metrics: Metrics, expected: frozenset[str]) -> Iterator[str]:
    """What the API server did not let the operator do."""
    for line in metrics.text().decode().splitlines():
        is_known = any(f'"{resource}"' in line for resource in expected)
        if line.startswith(API_REQUESTS.name) and 'code="403"' in line and not is_known:
            yield line
