"""How a controller shares its workers, and how it stops."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hibernator.api.core import ConfigMap, Deployment
from hibernator.kube.cache import Cache
from hibernator.kube.controller import (
    For,
    Key,
    Result,
)
from hibernator.kube.metrics import RECONCILES
from hibernator.kube.together import together
from support.looks import LOOK, Setup, meta


async def test_no_key_is_ever_with_two_workers(setup: Setup, maps: Cache[ConfigMap]) -> None:
    at_work: set[Key] = set()

    async def alone(key: Key) -> Result:
        assert key not in at_work
        at_work.add(key)
        for _ in range(3):
            await asyncio.sleep(0)
        at_work.remove(key)
        return Result()

    async with setup.running(setup.controller(alone, For(maps), workers=8)):
        for _ in range(50):
            for name in "abc":
                maps.saw(ConfigMap(metadata=meta(name)))
            await asyncio.sleep(0)
        await setup.clock.settle()
    assert setup.metrics.value(RECONCILES, "test", "fault") == 0
    assert setup.metrics.value(RECONCILES, "test", "done") > 3


async def test_a_storm_of_one_kind_does_not_hold_up_another(
    setup: Setup, maps: Cache[ConfigMap], deployments: Cache[Deployment]
) -> None:
    order: list[str] = []

    def noting(what: str) -> Callable[[Key], Awaitable[Result]]:
        async def reconcile(_key: Key) -> Result:
            order.append(what)
            return Result()

        return reconcile

    stormy = setup.controller(noting("storm"), For(maps))
    calm = setup.controller(noting("calm"), For(deployments))
    for number in range(10_000):
        maps.saw(ConfigMap(metadata=meta(f"map-{number}")))
    deployments.saw(Deployment(metadata=meta("app")))
    runs = [asyncio.create_task(controller.run()) for controller in (stormy, calm)]
    await setup.clock.settle()
    for controller in (stormy, calm):
        controller.stop()
    await asyncio.gather(*runs)
    assert len(order) == 10_001
    assert order.index("calm") < 100


@pytest.mark.parametrize(("workers", "share"), [(16, 12), (4, 3), (2, 1), (1, 1)])
async def test_looks_that_take_long_leave_workers_to_other_namespaces(
    setup: Setup, maps: Cache[ConfigMap], workers: int, share: int
) -> None:
    go_on = asyncio.Event()
    begun: list[str] = []

    async def reconcile(key: Key) -> Result:
        begun.append(key.namespace)
        if key.namespace == "slow":
            await go_on.wait()
        return Result()

    controller = setup.controller(reconcile, For(maps), workers=workers)
    async with setup.running(controller):
        for number in range(100):
            maps.saw(ConfigMap(metadata=meta(f"map-{number}", "slow")))
        await setup.clock.settle()
        assert begun == ["slow"] * share
        for number in range(20):
            maps.saw(ConfigMap(metadata=meta(f"map-{number}", "quick")))
        await setup.clock.settle()
        assert begun.count("quick") == (20 if share < workers else 0)
        go_on.set()
        await setup.clock.settle()
    assert len(begun) == 120


async def test_stopping_lets_the_look_that_is_under_way_finish_and_begins_no_other(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    finished: list[Key] = []

    async def slow(key: Key) -> Result:
        begun.set()
        await go_on.wait()
        finished.append(key)
        return Result(after=60)

    controller = setup.controller(slow, For(maps), workers=1)
    run = asyncio.create_task(controller.run())
    await setup.clock.settle()
    for name in "ab":
        maps.saw(ConfigMap(metadata=meta(name)))
    await begun.wait()
    controller.stop()
    await setup.clock.settle()
    assert not run.done()
    go_on.set()
    await run
    assert finished == [LOOK]
    assert setup.clock.pending() == ()


async def test_nothing_of_a_reconcile_that_takes_too_long_runs_on(
    setup: Setup, maps: Cache[ConfigMap], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hibernator.kube.controller._LONGEST", 0.05)
    ended: list[str] = []
    both_ended = asyncio.Event()

    async def hang(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as one does who closes a connection
            ended.append(name)

    async def reconcile(_key: Key) -> Result:
        try:
            await together(map(hang, ("one", "other")))
        finally:
            both_ended.set()
        return Result()

    controller = setup.controller(reconcile, For(maps))
    before = asyncio.all_tasks()
    async with setup.running(controller):
        controller.queue.add(LOOK)
        await both_ended.wait()
        assert sorted(ended) == ["one", "other"]
    assert asyncio.all_tasks() == before
    assert setup.metrics.value(RECONCILES, "test", "transient") == 1
