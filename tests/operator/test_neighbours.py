"""A flood of exceptions in one namespace, and whose turn it is in another: counted in looks, not in seconds.

The controllers, their sources and queues are those of the operator; only what a look does is left out, so
that each costs one turn. No quota stands in the way, as while the webhook is away.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.rego import Rego
from hibernator.audit.database import Database
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers import shared
from hibernator.controllers.means import Means
from hibernator.executors.connectors import Connectors
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, Key, Result
from hibernator.kube.credentials import find
from hibernator.kube.events import Recorder
from hibernator.kube.health import Health
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import Metrics
from hibernator.operator.app import METRICS, controllers
from hibernator.operator.settings import Settings
from support.clock import ManualClock
from support.exception_scenes import EVERY_DAY, exception, hours
from support.kubeconfigs import write_kubeconfig
from support.plan_scenes import noop, plan

PLANS = 20
OF_EACH = 30
LONG: dict[str, Any] = {
    "type": "extend",
    "validFrom": "2026-03-02T08:00:00Z",
    "validUntil": "2026-03-20T00:00:00Z",
    "windows": hours("08:00", "13:00", EVERY_DAY),
}
_versions = count(1)


class Operator:
    """All controllers of the operator, of which each look is noted down instead of done."""

    def __init__(self, means: Means, running: list[Controller], clock: ManualClock) -> None:
        self.plans = shared.plans(means.caches)
        self.exceptions = shared.exceptions(means.caches)
        self.clock = clock
        self.running = running
        self.looks: list[tuple[str, Key]] = []
        self.slow: set[str] = set()  # namespaces whose looks do not end
        self.go_on = asyncio.Event()
        for controller in running:
            controller._reconcile = self._noting(controller.name)

    def _noting(self, name: str) -> Any:
        async def reconcile(key: Key) -> Result:
            self.looks.append((name, key))
            if key.namespace in self.slow:
                await self.go_on.wait()
            return Result()

        return reconcile

    def saw_plan(self, namespace: str, name: str) -> None:
        self.plans.saw(msgspec.convert(_there(plan(noop("nothing"), name=name), namespace), HibernatePlan))

    def saw_exception(self, namespace: str, name: str, of: str) -> None:
        document = exception(name, of, **LONG)
        self.exceptions.saw(msgspec.convert(_there(document, namespace), ScheduleException))

    def flood(self) -> None:
        for number in range(PLANS):
            self.saw_plan("loud", f"plan-{number}")
            for one in range(OF_EACH):
                self.saw_exception("loud", f"e{number}-{one}", f"plan-{number}")

    @asynccontextmanager
    async def leading(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group, asyncio.timeout(20):
            for controller in self.running:
                group.create_task(controller.run())
            await self.clock.settle()
            try:
                yield
            finally:
                self.go_on.set()
                for controller in self.running:
                    controller.stop()


def _there(document: dict[str, Any], namespace: str) -> dict[str, Any]:
    number = next(_versions)
    placed = {"namespace": namespace, "uid": f"uid-{number}", "resourceVersion": str(number)}
    return document | {"metadata": document["metadata"] | placed}


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Operator]:
    server = {"server": "https://127.0.0.1:9"}  # never asked: the caches are told what there is
    config = write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"})
    clock, metrics, settings = ManualClock(), Metrics(METRICS), Settings()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(find(str(config))))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        connectors = await stack.enter_async_context(Connectors(client, session))
        trail = Trail(ChainStore(Database(f"sqlite:///{tmp_path}/audit.db"), now=clock.now), identity="test")
        means = Means(
            client=client,
            caches=Caches(client, metrics),
            recorder=Recorder(client, clock, metrics, instance="test"),
            clock=clock,
            metrics=metrics,
            trail=trail,
            spool=AuditSpool(client, trail, "hibernator-system"),
            workers=settings.workers,
        )
        manager = Manager(Health(metrics))
        found = controllers(settings, means, manager, None, connectors, Rego(), session)
        yield Operator(means, list(found), clock)


async def test_a_neighbour_has_its_turn_after_a_few_looks_of_a_flood(operator: Operator) -> None:
    async with operator.leading():
        operator.flood()
        operator.saw_plan("quiet", "nights")
        operator.saw_exception("quiet", "late", "nights")
        await operator.clock.settle()
    assert len(operator.looks) > PLANS * OF_EACH
    most = 3 * Settings().workers
    assert operator.looks.index(("hibernateplan", Key("quiet", "nights"))) < most
    assert operator.looks.index(("scheduleexception", Key("quiet", "late"))) < most


async def test_a_neighbour_does_not_wait_for_looks_that_do_not_end(operator: Operator) -> None:
    operator.slow.add("loud")
    async with operator.leading():
        operator.flood()
        await operator.clock.settle()
        operator.saw_plan("quiet", "nights")
        operator.saw_exception("quiet", "late", "nights")
        await operator.clock.settle()
        quiet = [name for name, key in operator.looks if key.namespace == "quiet"]
        assert {"hibernateplan", "scheduleexception"} <= set(quiet)


async def test_one_more_of_a_flood_makes_no_one_look_at_all_the_others(operator: Operator) -> None:
    async with operator.leading():
        operator.flood()
        await operator.clock.settle()
        before = len(operator.looks)
        operator.saw_exception("loud", "one-more", "plan-3")
        await operator.clock.settle()
        assert len(operator.looks) - before <= 2
