"""A controller whose looks are noted, and end as a test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hibernator.api.meta import ObjectMeta, OwnerReference
from hibernator.kube.controller import (
    Controller,
    Key,
    Reconcile,
    Result,
    Source,
)
from hibernator.kube.metrics import Metrics
from support.clock import ManualClock

LOOK = Key("team", "a")


class Looks:
    """A reconcile that notes its keys and ends as it is told to."""

    def __init__(self, *ends: BaseException | Result) -> None:
        self.keys: list[Key] = []
        self._ends = list(ends)

    async def __call__(self, key: Key) -> Result:
        self.keys.append(key)
        end = self._ends.pop(0) if self._ends else Result()
        if isinstance(end, BaseException):
            raise end
        return end


class Setup:
    """A controller with what it is made from."""

    def __init__(self, clock: ManualClock, metrics: Metrics) -> None:
        self.clock = clock
        self.metrics = metrics

    def controller(self, reconcile: Reconcile, *sources: Source, workers: int = 4) -> Controller:
        return Controller(
            "test",
            reconcile,
            sources=sources,
            clock=self.clock,
            metrics=self.metrics,
            workers=workers,
            backoff=(30.0, 60.0, 120.0, 300.0),
        )

    @asynccontextmanager
    async def running(self, controller: Controller) -> AsyncIterator[None]:
        run = asyncio.create_task(controller.run())
        await self.clock.settle()
        yield
        controller.stop()
        async with asyncio.timeout(5):
            await run


versions = iter(range(1, 10**9))


def meta(name: str, namespace: str = "team", *, owner: OwnerReference | None = None) -> ObjectMeta:
    return ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{name}",
        resource_version=str(next(versions)),
        owner_references=(owner,) if owner else (),
    )


def owner(api_version: str = "apps/v1", *, controller: bool = True) -> OwnerReference:
    return OwnerReference(
        api_version=api_version, kind="Deployment", name="app", uid="u", controller=controller
    )
