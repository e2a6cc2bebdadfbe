"""Thousands of scalers cross one boundary together, beside a bare loop that sends the same patches.

    python bench/scalers.py [N …]          1,000 and 5,000 unless told otherwise

Each scaler has a Deployment of its own on a real control plane. The bare loop sends the same patches to the
same Deployments, with the same preconditions over the same number of connections, and does nothing else: it
is the limit of this machine. Both are timed by the same watch. Jitter is off.

Kubernetes' own controllers answer each patch with half a dozen writes, and how many of these fall into the
time that is measured is a matter of luck, for the bare loop as well. So both take turns, the bare loop begins
and ends, and each is told by its median.
"""

import asyncio
import re
import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from whenever import Instant

from _table import show
from hibernator.api.core import DEPLOYMENTS, NAMESPACES, Deployment
from hibernator.api.crd import manifest
from hibernator.api.extensions import CUSTOM_RESOURCE_DEFINITIONS
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client

CONNECTIONS = 32  # as many as the operator uses for one kind
NAMESPACES_USED = 10  # kube-green works on at most 500 in one
BOUNDARY = Instant("2026-03-02T09:00:00Z")
LEAD = 45  # seconds between the start of the operator and the boundary, for the second start
QUIET = 20  # seconds over which an idle operator is watched
AT_LEAST = 3_000  # scalers cross in all, however few cross together
LABELS = {"app": "bench"}


@dataclass
class Crossing:
    """When each Deployment was seen at its new number, in seconds after the boundary."""

    first: float
    last: float


async def each(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Run them all, so many at a time."""
    waiting = iter(coroutines)

    async def worker() -> None:
        for coroutine in waiting:
            await coroutine

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


def deployment(called: str) -> dict[str, Any]:
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    return {
        "metadata": {"name": called, "labels": LABELS},
        "spec": {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": template},
    }


def scaler(called: str) -> dict[str, Any]:
    days = ["Mon", "Tue", "Wed", "Thu", "Fri"]
    return {
        "metadata": {"name": called},
        "spec": {
            "targetRef": {"kind": "Deployment", "name": called},
            "timezone": "UTC",
            "windows": [{"days": days, "start": "09:00", "end": "17:00", "replicas": 1}],
        },
    }


def space(number: int) -> str:
    return f"bench-{number % NAMESPACES_USED}"


def name(number: int) -> str:
    return f"scaled-{number}"


async def fill(client: Client, count: int) -> None:
    await each(client.create(NAMESPACES, {"metadata": {"name": space(i)}}) for i in range(NAMESPACES_USED))
    await each(client.create(DEPLOYMENTS, deployment(name(i)), space(i)) for i in range(count))


async def observed(deployments: Cache[Deployment], count: int) -> asyncio.Future[list[float]]:
    """The wall times at which the watch showed each Deployment at one replica."""
    seen: dict[str, float] = {}
    done: asyncio.Future[list[float]] = asyncio.get_running_loop().create_future()

    def changed(_old: Deployment | None, new: Deployment | None) -> None:
        if new and new.spec.replicas == 1 and not done.done():
            seen.setdefault(new.metadata.name, time.time())
            if len(seen) == count:
                done.set_result(sorted(seen.values()))

    deployments.on_change(changed)
    return done


async def rest(deployments: Cache[Deployment]) -> None:
    """Wait until Kubernetes itself has followed."""

    def is_behind(one: Deployment) -> bool:
        seen = one.status.observed_generation == one.metadata.generation
        return not (seen and one.status.replicas == one.spec.replicas)

    while any(map(is_behind, deployments.values())):  # noqa: ASYNC110  the controller manager tells nobody
        await asyncio.sleep(0.5)


async def bare(cluster: Cluster, deployments: Cache[Deployment], count: int) -> Crossing:
    """Nothing but aiohttp and ready-made bodies; afterwards everything is as it was."""
    done = await observed(deployments, count)
    start = await patched(cluster, deployments, count, replicas=1)
    times = await done
    await rest(deployments)
    await put_back(cluster, deployments, count)
    return Crossing(times[0] - start, times[-1] - start)


async def put_back(cluster: Cluster, deployments: Cache[Deployment], count: int) -> None:
    await patched(cluster, deployments, count, replicas=0)
    await rest(deployments)


async def patched(cluster: Cluster, deployments: Cache[Deployment], count: int, *, replicas: int) -> float:
    """Send the patches; returns when the first one was sent."""
    access = await credentials.find(str(cluster.kubeconfig)).access()
    requests = []
    for i in range(count):
        found = deployments.get(space(i), name(i))
        if found is None:
            raise LookupError(f"{name(i)} was not seen")
        version = found.metadata.resource_version
        body = {"metadata": {"resourceVersion": version}, "spec": {"replicas": replicas}}
        requests.append((cluster.url + DEPLOYMENTS.path(space(i), name(i)), msgspec.json.encode(body)))
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls)
    headers = {**access.headers, "Content-Type": "application/merge-patch+json"}

    async def patch(url: str, body: bytes) -> None:
        async with session.patch(url, data=body) as response:
            response.raise_for_status()
            await response.read()

    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        start = time.time()
        await each(patch(url, body) for url, body in requests)
    return start


class Process:
    """The operator under test, from the outside."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, boundary: float) -> None:
        self.pid = process.pid
        self.port = port
        self.boundary = boundary

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def memory(self, line: str = "VmRSS") -> float:
        text = Path(f"/proc/{self.pid}/status").read_text("utf-8")
        found = re.search(rf"{line}:\s+(\d+)", text)
        return int(found[1]) / 1024 if found else 0.0

    def metric(self, name: str) -> float:
        """The sum of all samples of a metric."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))

    async def until(self, fact: Callable[[], bool]) -> None:
        while True:
            try:
                if await asyncio.to_thread(fact):
                    return
            except OSError:
                pass  # not listening yet
            await asyncio.sleep(0.25)


@asynccontextmanager
async def operator(cluster: Cluster, seconds_before: float) -> AsyncIterator[Process]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    boundary = time.time() + seconds_before
    script = Path(__file__).with_name("_scaler_operator.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(cluster.kubeconfig), BOUNDARY.format_iso(), str(boundary), str(port)
    )
    try:
        yield Process(process, port, boundary)
    finally:
        process.terminate()
        await process.wait()


@dataclass
class Night:
    """One life of an operator over one boundary."""

    crossing: Crossing
    writes: float  # for each scaler
    cpu: float
    peak: float
    held: float
    idle: float  # requests a minute


async def crossed(cluster: Cluster, deployments: Cache[Deployment], count: int) -> Night:
    done = await observed(deployments, count)
    async with operator(cluster, LEAD + count / 50) as process:
        await process.until(lambda: process.metric("hibernator_scaler_writes_saved_total") >= 0)
        await process.until(lambda: process.metric("hibernator_reconcile_seconds_count") >= count)
        await process.until(lambda: process.metric("hibernator_queue_depth") == 0)
        await asyncio.sleep(5)
        held, cpu = process.memory(), process.cpu()
        before = len(cluster.writes())
        asked = process.metric("hibernator_api_requests_total")
        began = time.time()
        await asyncio.sleep(min(QUIET, max(0.0, process.boundary - time.time() - 3)))
        idle = (process.metric("hibernator_api_requests_total") - asked) / (time.time() - began) * 60
        times = await done
        await rest(deployments)
        await process.until(lambda: process.metric("hibernator_queue_depth") == 0)
        await asyncio.sleep(5)
        spent, peak = process.cpu() - cpu, process.memory("VmHWM")
        ours = [w for w in cluster.writes()[before:] if w.resource in {"deployments", "timewindowscalers"}]
        ours = [w for w in ours if w.subresource in {"", "status"} and not w.user.startswith("system:")]
    await put_back(cluster, deployments, count)
    crossing = Crossing(times[0] - process.boundary, times[-1] - process.boundary)
    return Night(crossing, len(ours) / count, spent, peak, held, idle)


async def measure(cluster: Cluster, count: int) -> list[object]:
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        await each(
            client.create(CUSTOM_RESOURCE_DEFINITIONS, document) for document in map(manifest, DEFINITIONS)
        )
        await client.create(NAMESPACES, {"metadata": {"name": "hibernator-system"}})
        cluster.until_established()
        async with operator(cluster, 3600) as empty:
            await empty.until(lambda: empty.metric("hibernator_leader") == 1)
            await asyncio.sleep(5)
            nothing = empty.memory()
        await fill(client, count)
        await each(client.create(SCALERS, scaler(name(i)), space(i)) for i in range(count))
        deployments = Cache(client, DEPLOYMENTS)
        following = asyncio.create_task(deployments.run())
        await deployments.wait_synced()
        await rest(deployments)
        limits, nights = [await bare(cluster, deployments, count)], []
        for _ in range(max(1, AT_LEAST // count)):
            nights.append(await crossed(cluster, deployments, count))
            limits.append(await bare(cluster, deployments, count))
        following.cancel()
    limit = statistics.median(one.last for one in limits)
    last = statistics.median(night.crossing.last for night in nights)
    return [
        f"{count:,} scalers",
        limit,
        last,
        last / limit,
        max(night.crossing.first for night in nights),
        max(night.writes for night in nights),
        statistics.median(night.cpu for night in nights),
        max(night.peak for night in nights),
        (nights[0].held - nothing) * 1024 / count,
        max(night.idle for night in nights),
    ]


async def main(counts: list[int]) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    rows = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
            rows.append(await measure(cluster, count))
    show(
        f"One boundary, {CONNECTIONS} connections, a Deployment each; the lease is renewed every two seconds",
        [
            "",
            "bare s",
            "last s",
            "ratio",
            "first s",
            "writes each",
            "CPU s",
            "peak MB",
            "KB each",
            "idle req/min",
        ],
        rows,
        packages=["aiohttp", "msgspec"],
    )


if __name__ == "__main__":
    asyncio.run(main([int(argument) for argument in sys.argv[1:]] or [1_000, 5_000]))
