"""Lives of an operator of remediations; run as a program, one that ends by SIGKILL with a chosen write.

The write is committed, and nobody heard of it. What the audit trail was told and had not written yet is lost.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from hibernator.approvals.people import Naming
from hibernator.approvals.rego import Rego
from hibernator.audit.database import Database
from hibernator.audit.spool import AuditSpool
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.controllers.means import Means
from hibernator.controllers.remediation import remediation_controllers
from hibernator.kube import credentials
from hibernator.kube.cache import Caches
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key
from hibernator.kube.errors import Conflict
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import RUNTIME, Metrics
from support.clock import ManualClock
from support.plan_lives import MortalClient

_PASSES = 100


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live(kubeconfig: Path, namespace: str, clock: Clock, database: str, last: int | None = None) -> int:
    """Be the operator until nothing is left to do now, or until the last write. Counts the writes."""
    metrics = Metrics(RUNTIME)
    async with (
        MortalClient(credentials.find(str(kubeconfig)), last, _die) as client,
        Database(database) as opened,
        Rego() as rego,
    ):
        store = ChainStore(opened, now=clock.now)
        await store.prepare()  # an approval waits for its record only so long
        trail = Trail(store, identity="test")
        trail.lead()
        means = Means(
            client=client,
            caches=Caches(client, metrics, namespace),
            recorder=Recorder(client, clock, metrics, instance="test"),
            clock=clock,
            metrics=metrics,
            trail=trail,
            spool=AuditSpool(client, trail, namespace),
        )
        controllers = list(
            remediation_controllers(
                means,
                rego=rego,
                naming=Naming(),
                roles="hibernator-roles",
                policy="hibernator-remediation-policy",
                home=namespace,
                own_allowed=False,
            )
        )
        caches = {source.cache for controller in controllers for source in controller.sources}
        tasks = [asyncio.create_task(cache.run()) for cache in caches]
        tasks.append(asyncio.create_task(trail.run()))
        try:
            for cache in caches:
                await cache.wait_synced()
            await _until_quiet(client, controllers)
            await trail.flush(30.0)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        return client.writes


async def _until_quiet(client: MortalClient, controllers: list[Controller]) -> None:
    for _ in range(_PASSES):
        before, disturbed = client.writes, False
        for controller in controllers:
            for key in list(_keys(controller)):
                try:
                    await controller._reconcile(key)
                except Conflict:
                    disturbed = True  # a cache was behind, and will not be for long
                    await asyncio.sleep(0.01)
        if client.writes == before and not disturbed:
            return
    raise AssertionError("it never comes to rest")


async def die(kubeconfig: Path, namespace: str, moment: str, database: str, last: int) -> bool:
    """Live in a process of its own; whether that was killed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "support.remediation_lives"),
        *(str(kubeconfig), namespace, moment, database, str(last)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    ended = await process.wait()
    assert ended in {0, -signal.SIGKILL}
    return ended != 0


def _keys(controller: Controller) -> Iterator[Key]:
    found = controller.sources[0].cache.values()
    return (Key(one.metadata.namespace, one.metadata.name) for one in found)


if __name__ == "__main__":
    _kubeconfig, _namespace, _moment, _database, _last = sys.argv[1:]
    asyncio.run(live(Path(_kubeconfig), _namespace, ManualClock(_moment), _database, int(_last)))
