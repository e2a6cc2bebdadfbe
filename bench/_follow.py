"""One client in a process of its own: lists, watches, keeps the objects; prints what that cost as JSON.

python bench/_follow.py bare|runtime CORE PORT
"""

import asyncio
import ctypes
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp
import msgspec

from _replay import EVENTS, OBJECTS
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Controller, For, Key, Result
from hibernator.kube.credentials import Credentials
from hibernator.kube.kubeconfig import Cluster, ResolvedContext, User
from hibernator.kube.memory import spare_the_caches
from hibernator.kube.metrics import Metrics

Synced = Callable[[], None]
WORKERS = 8


class _Meta(msgspec.Struct):
    continue_: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct):
    metadata: _Meta
    items: list[HibernatePlan]


class _Event(msgspec.Struct):
    object: HibernatePlan


async def bare(url: str, synced: Synced) -> int:
    """As little as a client can do: read, decode into the same types, keep by name."""
    pages, events = msgspec.json.Decoder(_Page), msgspec.json.Decoder(_Event)
    objects: dict[str, HibernatePlan] = {}
    path = f"{url}{PLANS.path()}"
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
        more = ""
        while True:
            async with session.get(f"{path}?limit=500&continue={more}") as response:
                page = pages.decode(await response.read())
            objects.update((item.metadata.name, item) for item in page.items)
            if not (more := page.metadata.continue_):
                break
        synced()
        count = 0
        async with session.get(f"{path}?watch=true") as response:
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = events.decode(line)
                    objects[event.object.metadata.name] = event.object
                count += len(lines)
                if count == EVENTS:
                    break
    return len(objects)


async def runtime(url: str, synced: Synced) -> int:
    """The runtime: cache, index, queue and eight workers that look up what they are told to look at."""
    metrics = Metrics()
    looked: set[Key] = set()
    ended = asyncio.Event()
    last = str(OBJECTS + EVENTS)

    async def reconcile(key: Key) -> Result:
        plan = cache.get(*key)
        if plan is not None and cache.find("team", plan.metadata.labels["team"]):
            looked.add(key)
            if plan.metadata.resource_version == last:
                ended.set()
        return Result()

    place = ResolvedContext("replay", Cluster(server=url, insecure_skip_tls_verify=True), User(), "default")
    async with Client(Credentials(place), metrics=metrics) as client:
        cache = Cache(client, PLANS, metrics=metrics)
        cache.index("team", lambda plan: (plan.metadata.labels["team"],))
        controller = Controller(
            "bench", reconcile, sources=[For(cache)], clock=SystemClock(), metrics=metrics, workers=WORKERS
        )
        follow = asyncio.create_task(cache.run())
        await cache.wait_synced()
        synced()
        work = asyncio.create_task(controller.run())
        await ended.wait()
        controller.stop()
        await work
        follow.cancel()
        with suppress(asyncio.CancelledError):
            await follow
    return len(looked)


def resident() -> int:
    """Bytes of memory in use, after what is free was given back."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def main() -> None:
    what, core, port = sys.argv[1:]
    os.sched_setaffinity(0, {int(core)})
    spare_the_caches()  # for both, so that neither is judged by the collector
    follow: Callable[[str, Synced], Awaitable[int]] = {"bare": bare, "runtime": runtime}[what]
    result: dict[str, float] = {}
    before, start, cpu = resident(), time.perf_counter(), time.process_time()

    def synced() -> None:
        result["synced"] = time.perf_counter() - start
        result["memory"] = (resident() - before) / OBJECTS

    async def run() -> int:
        return await follow(f"http://127.0.0.1:{port}", synced)

    result["objects"] = asyncio.run(run())
    result["cpu"] = time.process_time() - cpu
    result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result))


if __name__ == "__main__":
    main()
