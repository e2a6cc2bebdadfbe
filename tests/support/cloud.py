"""Jobs of an executor in a cloud, and nights of everything that it finds."""

from typing import Any

from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import Target
from hibernator.api.meta import ConnectorReference
from hibernator.executors.protocol import Executor, Job, Saved

NOW = Instant("2026-03-02T20:00:00Z")


def job(
    type_: str,
    parameters: dict[str, Any],
    *,
    cycle: int = 1,
    connector: ConnectorReference | None = None,
    namespace: str = "team",
    plan: str = "nights",
    uid: str = "0a1b2c3d-0000-0000-0000-000000000000",
    later: float = 0.0,
) -> Job:
    target = Target(name="it", type=type_, parameters=parameters, connector_ref=connector)
    return Job(
        namespace=namespace,
        plan=plan,
        uid=uid,
        cycle=cycle,
        target=target,
        attempt=1,
        began=NOW,
        now=NOW + TimeDelta(seconds=later),
    )


async def awake(executor: Executor, work: Job) -> list[Saved]:
    """What there is to put to sleep, as it would be written down before."""
    found = [
        Saved(key=item.key, restore=item.restore)
        for item in await executor.discover(work)
        if item.restore is not None
    ]
    assert not executor.identity or all(executor.identity in item.restore for item in found)
    return found


async def fall_asleep(executor: Executor, work: Job) -> list[Saved]:
    items = await awake(executor, work)
    for item in items:
        await executor.sleep(work, item)
    return items


async def wake_up(executor: Executor, work: Job, items: list[Saved]) -> None:
    for item in items:
        await executor.wake(work, item)
