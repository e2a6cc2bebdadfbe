"""What makes a controller look, and what it makes of each way in which a look can end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hibernator.api.core import CONFIG_MAPS, DEPLOYMENTS, ConfigMap, Deployment
from hibernator.api.meta import ObjectMeta, OwnerReference
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import (
    Controller,
    For,
    Key,
    Owns,
    Reconcile,
    Result,
    Source,
    Stalled,
    Transient,
    Watches,
)
from hibernator.kube.credentials import find
from hibernator.kube.election import NotLeadingError
from hibernator.kube.errors import Conflict, Forbidden, Throttled, Unavailable
from hibernator.kube.logging import with_subject
from hibernator.kube.metrics import RECONCILE_ERRORS, RECONCILE_SECONDS, RECONCILES, Metrics
from hibernator.kube.together import together
from support.clock import ManualClock
from support.kubeconfigs import write_kubeconfig

LOOK = Key("team", "a")


@pytest.fixture
def nowhere(tmp_path: Path) -> Client:
    """A client that is never used: the caches of these tests are told what they see."""
    server = {"server": "https://127.0.0.1:9"}
    return Client(find(str(write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"}))))


@pytest.fixture
def maps(nowhere: Client) -> Cache[ConfigMap]:
    return Cache(nowhere, CONFIG_MAPS)


@pytest.fixture
def deployments(nowhere: Client) -> Cache[Deployment]:
    return Cache(nowhere, DEPLOYMENTS)


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


@pytest.fixture
def setup(clock: ManualClock, metrics: Metrics) -> Setup:
    return Setup(clock, metrics)


_versions = iter(range(1, 10**9))


def meta(name: str, namespace: str = "team", *, owner: OwnerReference | None = None) -> ObjectMeta:
    return ObjectMeta(
        name=name,
        namespace=namespace,
        uid=f"uid-of-{name}",
        resource_version=str(next(_versions)),
        owner_references=(owner,) if owner else (),
    )


def owner(api_version: str = "apps/v1", *, controller: bool = True) -> OwnerReference:
    return OwnerReference(
        api_version=api_version, kind="Deployment", name="app", uid="u", controller=controller
    )


async def test_everything_is_looked_at_once_at_the_start(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks()
    controller = setup.controller(looks, For(maps))
    for name in "ab":
        maps.saw(ConfigMap(metadata=meta(name)))
    async with setup.running(controller):
        assert looks.keys == [Key("team", "a"), Key("team", "b")]


async def test_a_replica_that_stands_by_gathers_no_keys(setup: Setup, maps: Cache[ConfigMap]) -> None:
    controller = setup.controller(Looks(), For(maps))
    maps.saw(ConfigMap(metadata=meta("a")))
    assert controller.queue.idle


async def test_each_change_makes_it_look_also_the_last(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks()
    async with setup.running(setup.controller(looks, For(maps))):
        for _ in range(2):
            maps.saw(ConfigMap(metadata=meta("a")))
            await setup.clock.settle()
        maps.saw_deletion(("team", "a"), next(_versions))
        await setup.clock.settle()
    assert looks.keys == [LOOK] * 3


async def test_a_hundred_changes_while_it_looks_cost_one_more_look(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    looks = Looks()

    async def slow(key: Key) -> Result:
        begun.set()
        await go_on.wait()
        return await looks(key)

    async with setup.running(setup.controller(slow, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await begun.wait()
        for _ in range(100):
            maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        go_on.set()
        await setup.clock.settle()
    assert looks.keys == [LOOK] * 2


@pytest.mark.parametrize(
    ("reference", "wanted"),
    [
        (owner(), [Key("team", "app")]),
        (owner(controller=False), []),
        (owner("extensions/v1"), []),
        (owner("apps/v9"), [Key("team", "app")]),
        (None, []),
    ],
    ids=["its controller", "only an owner", "another group", "another version", "nobody"],
)
async def test_a_part_makes_its_controller_look(
    setup: Setup, maps: Cache[ConfigMap], reference: OwnerReference | None, wanted: list[Key]
) -> None:
    looks = Looks()
    async with setup.running(setup.controller(looks, Owns(maps, DEPLOYMENTS))):
        maps.saw(ConfigMap(metadata=meta("part", owner=reference)))
        await setup.clock.settle()
    assert looks.keys == wanted


async def test_whoever_an_object_mattered_to_before_hears_of_its_change_too(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    def named_inside(obj: ConfigMap) -> Iterable[Key]:
        return [Key("team", name) for name in obj.data.values()]

    looks = Looks()
    async with setup.running(setup.controller(looks, Watches(maps, named_inside))):
        maps.saw(ConfigMap(metadata=meta("list"), data={"1": "before"}))
        await setup.clock.settle()
        maps.saw(ConfigMap(metadata=meta("list"), data={"1": "after"}))
        await setup.clock.settle()
    assert looks.keys == [Key("team", "before"), Key("team", "before"), Key("team", "after")]


async def test_an_object_that_cannot_be_mapped_is_counted_and_does_not_stop_the_rest(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    def number_inside(obj: ConfigMap) -> Iterable[Key]:
        return [Key("team", str(int(obj.data["number"])))]

    looks = Looks()
    controller = setup.controller(looks, Watches(maps, number_inside))
    maps.saw(ConfigMap(metadata=meta("bad"), data={"number": "none"}))
    maps.saw(ConfigMap(metadata=meta("good"), data={"number": "1"}))
    async with setup.running(controller):
        maps.saw(ConfigMap(metadata=meta("good"), data={"number": "2"}))
        maps.saw(ConfigMap(metadata=meta("bad"), data={"number": "3"}))
        await setup.clock.settle()
    assert looks.keys == [Key("team", name) for name in ("1", "1", "2", "3")]
    assert setup.metrics.value(RECONCILE_ERRORS, "test", "ValueError") == 2


async def test_it_looks_again_when_it_asked_to(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks(Result(after=3600), Result(after=60))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(3599)
        assert len(looks.keys) == 1
        await setup.clock.advance(1)
        assert len(looks.keys) == 2
        await setup.clock.advance(86_400)
        assert len(looks.keys) == 3


@pytest.mark.parametrize(
    ("error", "not_before", "not_after", "result"),
    [
        (Conflict("changed"), 0, 0, "conflict"),
        (Throttled("busy", retry_after=7), 7, 9, "throttled"),
        (NotLeadingError("who leads?"), 0.8, 1, "fenced"),
        (Unavailable("down"), 24, 30, "transient"),
        (Forbidden("no"), 24, 30, "transient"),
        (Transient("the cloud is slow"), 24, 30, "transient"),
        (TimeoutError(), 24, 30, "transient"),
        (ConnectionResetError(), 24, 30, "transient"),
        (ZeroDivisionError("a bug"), 24, 30, "fault"),
        (asyncio.CancelledError(), 24, 30, "fault"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_an_error_is_tried_again_when_it_makes_sense(
    setup: Setup,
    maps: Cache[ConfigMap],
    error: BaseException,
    not_before: float,
    not_after: float,
    result: str,
) -> None:
    looks = Looks(error)
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        if not_before:
            await setup.clock.advance(not_before - 0.01)
            assert len(looks.keys) == 1
        await setup.clock.advance(not_after - not_before + 0.01)
        assert len(looks.keys) == 2
        await setup.clock.advance(86_400)
        assert len(looks.keys) == 2
    assert setup.metrics.value(RECONCILES, "test", result) == 1
    assert setup.metrics.value(RECONCILES, "test", "done") == 1
    assert setup.metrics.value(RECONCILE_ERRORS, "test", type(error).__name__) == 1
    assert setup.metrics.value(RECONCILE_SECONDS, "test") == 2


async def test_failures_in_a_row_wait_as_the_table_says_and_success_starts_it_anew(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(*[Unavailable("down")] * 6, Result(), Unavailable("down"))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        for longest in (30, 60, 120, 300, 300, 300):
            (moment,) = setup.clock.pending()
            assert 0.8 * longest <= (moment - setup.clock.now()).total("seconds") <= longest
            await setup.clock.advance_to(moment)
        assert setup.clock.pending() == ()
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        (moment,) = setup.clock.pending()
        assert (moment - setup.clock.now()).total("seconds") <= 30


async def test_a_key_that_is_stalled_waits_for_a_change_and_for_nothing_else(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(Stalled("spec.timezone is no zone"))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(7 * 86_400)
        assert len(looks.keys) == 1
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.settle()
        assert len(looks.keys) == 2


async def test_conflict_after_conflict_does_not_spin(setup: Setup, maps: Cache[ConfigMap]) -> None:
    looks = Looks(*[Conflict("changed")] * 1_000)
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(10)
        assert 10 < len(looks.keys) < 30


async def test_a_fault_is_logged_with_its_key_and_where_it_came_from(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    with capture_logs(processors=[with_subject]) as lines:
        async with setup.running(setup.controller(Looks(ZeroDivisionError("a bug")), For(maps))):
            maps.saw(ConfigMap(metadata=meta("a")))
            await setup.clock.settle()
    (line,) = lines
    assert line["log_level"] == "error"
    assert (line["controller"], line["namespace"], line["name"]) == ("test", "team", "a")
    assert isinstance(line["exc_info"], ZeroDivisionError)


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


async def test_a_server_that_goes_on_being_busy_is_asked_less_and_less_often(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(*(Throttled("busy", retry_after=1) for _ in range(8)))
    moments: list[float] = []

    async def reconcile(key: Key) -> Result:
        moments.append(setup.clock.monotonic())
        return await looks(key)

    async with setup.running(setup.controller(reconcile, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(600)
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert len(pauses) == 8
    for failures, pause in enumerate(pauses):
        assert max(1.0, 0.8 * 2**failures) <= pause <= max(1.2, 2**failures) + 0.01


async def test_what_a_server_asks_for_is_the_least_that_is_waited(
    setup: Setup, maps: Cache[ConfigMap]
) -> None:
    looks = Looks(Throttled("busy", retry_after=50), Unavailable("down", retry_after=100))
    async with setup.running(setup.controller(looks, For(maps))):
        maps.saw(ConfigMap(metadata=meta("a")))
        await setup.clock.advance(49.9)
        assert len(looks.keys) == 1
        await setup.clock.advance(10.2)
        assert len(looks.keys) == 2
        await setup.clock.advance(88)
        assert len(looks.keys) == 2
        await setup.clock.advance(33)
        assert len(looks.keys) == 3
