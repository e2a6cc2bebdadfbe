"""What is measured on the real API server: syncing, reacting, writing in bulk, and recovering from faults."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

import aiohttp
import msgspec

import _paths  # noqa: F401 — for the imports from `support`
from _replay import OBJECTS, plan
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.hibernateplan import PLANS
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Controller, For, Key, Result
from hibernator.kube.metrics import Metrics
from hibernator.kube.reflector import ReflectorTuning
from support.faultproxy import FaultProxy
from support.faults import Action, Answer, InWatch, gone_in_watch

CONNECTIONS = 34  # as many requests as the client has in flight for one kind
PATCHES = 5_000
_REACTIONS = 500
_PAUSE = 0.01  # seconds between two writes


async def in_parallel(items: Iterable[Any], work: Callable[[Any], Awaitable[Any]]) -> None:
    """Work through everything over as many connections as a client has."""
    left = iter(items)

    async def worker() -> None:
        for item in left:
            await work(item)

    async with asyncio.TaskGroup() as workers:
        for _ in range(CONNECTIONS):
            workers.create_task(worker())


@asynccontextmanager
async def following(cache: Cache[Any], *controllers: Controller) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(cache.run())]
    try:
        await cache.wait_synced()
        tasks += [asyncio.create_task(controller.run()) for controller in controllers]
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def seconds_to_synced(client: Client, namespace: str) -> float:
    """Make all objects, then see how long a new cache takes to know them."""

    async def make(number: int) -> None:
        body = plan(number, 1)
        metadata = {key: body["metadata"][key] for key in ("name", "labels", "annotations")}
        await client.create(PLANS, {"metadata": metadata, "spec": body["spec"]}, namespace)

    await in_parallel(range(OBJECTS), make)
    start = time.perf_counter()
    cache = Cache(client, PLANS, namespace)
    async with following(cache):
        taken = time.perf_counter() - start
    if len(cache) != OBJECTS:
        raise AssertionError(len(cache))
    return taken


class Reaction(NamedTuple):
    """Seconds from a write to the start of its reconcile, sorted."""

    from_request: list[float]
    from_answer: list[float]


async def reactions(client: Client, namespace: str) -> Reaction:
    """Write now and then, and see how long it takes until the reconcile of what was written begins."""
    began: dict[str, float] = {}
    seen = asyncio.Event()

    async def reconcile(key: Key) -> Result:
        if (obj := cache.get(*key)) is not None:
            began.setdefault(obj.data.get("n", ""), time.perf_counter())
            seen.set()
        return Result()

    metrics = Metrics()
    cache = Cache(client, CONFIG_MAPS, namespace, metrics=metrics)
    controller = Controller("react", reconcile, sources=[For(cache)], clock=SystemClock(), metrics=metrics)
    await client.create(CONFIG_MAPS, {"metadata": {"name": "react"}}, namespace)
    from_request, from_answer = [], []
    async with following(cache, controller):
        for number in map(str, range(_REACTIONS)):
            start = time.perf_counter()
            patch = {"data": {"n": number}}
            await client.patch(CONFIG_MAPS, "react", namespace, patch, resource_version=None)
            answered = time.perf_counter()
            while number not in began:
                seen.clear()
                await seen.wait()
            from_request.append(began[number] - start)
            from_answer.append(max(0.0, began[number] - answered))
            await asyncio.sleep(_PAUSE)
    return Reaction(sorted(from_request), sorted(from_answer))


async def patches_per_second(client: Client, namespace: str) -> tuple[list[float], list[float]]:
    """A boundary: thousands of patches at once, by a bare loop and by the client, in turns."""
    names = [f"boundary-{number}" for number in range(200)]
    pad = {"data": {"pad": "x" * 2000}}
    await in_parallel(
        names, lambda name: client.create(CONFIG_MAPS, {"metadata": {"name": name}} | pad, namespace)
    )
    access = await client.credentials.access()
    decoder = msgspec.json.Decoder(ConfigMap)
    bare, ours = [], []
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls), headers=access.headers
    ) as session:

        async def bare_patch(number: int) -> None:
            url = f"{access.server}{CONFIG_MAPS.path(namespace, names[number % len(names)])}"
            body = msgspec.json.encode({"data": {"n": str(number)}})
            kind = {"Content-Type": "application/merge-patch+json"}
            async with session.patch(url, data=body, headers=kind) as response:
                response.raise_for_status()
                decoder.decode(await response.read())

        async def our_patch(number: int) -> None:
            name, patch = names[number % len(names)], {"data": {"n": str(number)}}
            await client.patch(CONFIG_MAPS, name, namespace, patch, resource_version=None)

        for _ in range(3):
            bare.append(await _speed(bare_patch))
            ours.append(await _speed(our_patch))
    return bare, ours


async def _speed(patch: Callable[[int], Awaitable[None]]) -> float:
    start = time.perf_counter()
    await in_parallel(range(PATCHES), patch)
    return PATCHES / (time.perf_counter() - start)


FAULTS: dict[str, Action | None] = {
    "the connection is cut": None,
    "and the next watch is answered 500": Answer(500),
    "and the next watch is answered 410": Answer(410, "Expired"),
    "and the next watch ends in a 410 inside the stream": gone_in_watch(),
    "and the next watch is throttled for 1 s": Answer(429, "TooManyRequests", retry_after=1),
    "the watch hangs half-open, found after 2 s of silence here": InWatch(0, then="freeze"),
}


async def recovery_seconds(client: Client, proxy: FaultProxy, namespace: str, fault: Action | None) -> float:
    """How long after a fault a change that happened during it is known."""
    changed = asyncio.Event()
    cache = Cache(client, CONFIG_MAPS, namespace, habits=ReflectorTuning(silence=2.0))
    cache.on_change(lambda _old, new: changed.set() if new and new.metadata.name == "marker" else None)
    async with following(cache):
        await proxy.watching()
        proxy.freeze_watches()
        await client.create(CONFIG_MAPS, {"metadata": {"name": "marker"}}, namespace)
        if fault is not None:
            proxy.next(path="watch=true", action=fault)
        start = time.perf_counter()
        proxy.cut_watches()
        await changed.wait()
        taken = time.perf_counter() - start
    await client.delete(CONFIG_MAPS, "marker", namespace)
    proxy.clear()
    return taken
