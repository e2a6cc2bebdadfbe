"""How many events a second reach a sink, beside bare posts of the same bodies in the same run.

    python bench/notifications.py [N]      2,000 events unless told otherwise

The sink is an HTTP server in this process that answers at once. The ways take turns in each round:

- *bare posts*: a loop over aiohttp, one after the other, as order within a plan asks for.
- *bare posts and writes*: the same, and after each the status patch that records it: send, then record, is
  what lets nothing be lost and nothing come twice.
- *one by one*: events in the trail, until the sink has them all and the status says so.
- *in groups*: the same with `groupWithin`, a hundred events in a message and in a write.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

import _paths  # noqa: F401 — puts the tests' support on the path
from _table import show
from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import logging
from support.cluster import ClusterInTest
from support.notifying import Scene, Sink, http_sink, notifying

ROUNDS = 3


async def bare(scene: Scene, sink: Sink, bodies: list[bytes], *, writes: bool) -> None:
    async with aiohttp.ClientSession() as session:
        for number, body in enumerate(bodies):
            async with session.post(sink.url, data=body) as response:
                await response.read()
            if writes:
                status = {"sinkStatuses": [{"name": "out", "cursor": number, "delivered": number}]}
                await scene.client.patch(
                    NOTIFICATIONS,
                    "bare",
                    scene.namespace,
                    {"status": status},
                    resource_version=None,
                    subresource="status",
                )


async def ours(scene: Scene, sink: Sink, name: str, count: int) -> None:
    before = scene.sink(name).delivered or 0
    within = name == "grouped"
    if within:
        await scene.clock.advance(63)
    await scene.look_until_done(name)
    got = sum(len(one["data"].get("events", [one])) for one in sink.got)
    if got != count or scene.sink(name).delivered == before:
        raise AssertionError(got)


async def speed(sink: Sink, count: int, work: Callable[[], Awaitable[None]]) -> float:
    sink.forget()
    start = time.perf_counter()
    await work()
    return count / (time.perf_counter() - start)


async def measure(cluster: ClusterInTest, folder: Path, count: int) -> list[tuple[str, float, float, float]]:
    cluster.install_crds()
    namespace = cluster.create_namespace()
    names = ("bare posts", "bare posts and writes", "one by one", "in groups")
    found: dict[str, list[float]] = {name: [] for name in names}
    async with http_sink() as sink, notifying(cluster, namespace, folder) as scene:
        for name, spec in (("bare", {}), ("single", {}), ("grouped", {"groupWithin": "1m"})):
            await scene.notification({"url": sink.url}, name=name, **spec)
            await scene.look(name)
        for number in range(ROUNDS):
            first = number * count
            await scene.happens(*(scene.slept(cycle) for cycle in range(first, first + count)))
            single = await speed(sink, count, lambda: ours(scene, sink, "single", count))
            bodies = list(sink.bodies)
            grouped = await speed(sink, count, lambda: ours(scene, sink, "grouped", count))
            posts = await speed(sink, count, lambda: bare(scene, sink, bodies, writes=False))  # noqa: B023
            both = await speed(sink, count, lambda: bare(scene, sink, bodies, writes=True))  # noqa: B023
            for name, value in zip(names, (posts, both, single, grouped), strict=True):
                found[name].append(value)
    medians = {name: statistics.median(values) for name, values in found.items()}
    return [
        (name, medians[name], medians[name] / medians["bare posts"], medians[name] / medians[names[1]])
        for name in names
    ]


async def main(count: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as up:
        rows = await measure(ClusterInTest(up.layout, up.state), Path(folder), count)
    show(
        f"{count:,} events to a sink, median of {ROUNDS} rounds",
        ["", "events a second", "times bare posts", "times bare posts and writes"],
        rows,
        packages=["aiohttp", "msgspec", "sqlalchemy"],
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000))
