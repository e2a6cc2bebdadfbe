"""Thousands of scalers cross one boundary together, beside a bare loop that sends the same patches.

    python bench/scalers.py [N …]          1,000 and 5,000 unless told otherwise

Each scaler has a Deployment of its own on a real control plane. The bare loop sends the same patches to the
same Deployments, with the same marks and preconditions over the same number of connections, and does nothing
else: it is the limit of this machine. Both are timed by the same watch. Jitter is off.

Kubernetes' own controllers answer each patch of a Deployment with half a dozen writes. In the race they keep
to their default rates, as in a cluster that people run: then they work at one pace all the time, for both.
Both take turns, the bare loop begins and ends, and each is told by its median.

What an operator costs until every status tells of the boundary is measured apart, where these controllers are
let loose: by their default rates they follow some 3.5 Deployments a second.
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
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
from whenever import Instant

from _table import show
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, Deployment
from hibernator.api.crd import manifest
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.controlplane.binaries import Binaries, find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.decisions.scaler_mark import ANNOTATION, ScalingMark
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
    await put_back(cluster, deployments, count)
    return Crossing(times[0] - start, times[-1] - start)


async def put_back(cluster: Cluster, deployments: Cache[Deployment], count: int) -> None:
    await patched(cluster, deployments, count, replicas=0)
    while any(one.spec.replicas for one in deployments.values()):  # noqa: ASYNC110  until the watch shows it
        await asyncio.sleep(0.1)


async def patched(cluster: Cluster, deployments: Cache[Deployment], count: int, *, replicas: int) -> float:
    """Send the same patches as the operator, mark and precondition included; returns when it began."""
    access = await credentials.find(str(cluster.kubeconfig)).access()
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=access.tls)
    headers = {**access.headers, "Content-Type": "application/merge-patch+json"}

    def body(number: int) -> bytes:
        found = deployments.get(space(number), name(number))
        if found is None:
            raise LookupError(f"{name(number)} was not seen")
        mark = ScalingMark(
            scaler=found.metadata.uid,
            number=1,
            at=BOUNDARY.to_stdlib(),
            old=1 - replicas,
            new=replicas,
            wanted=replicas,
            window="BusinessHours",
        )
        annotations = {ANNOTATION: msgspec.json.encode(mark).decode()}
        metadata = {"resourceVersion": found.metadata.resource_version, "annotations": annotations}
        return msgspec.json.encode({"metadata": metadata, "spec": {"replicas": replicas}})

    async def patch(number: int, text: bytes) -> None:
        path = DEPLOYMENTS.path(space(number), name(number))
        while True:
            async with session.patch(cluster.url + path, data=text) as response:
                await response.read()
                if response.status != HTTPStatus.CONFLICT:
                    response.raise_for_status()
                    return
            await asyncio.sleep(0.02)  # Kubernetes was quicker; the watch will show what it did
            text = body(number)

    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        ready = [(number, body(number)) for number in range(count)]
        start = time.time()
        await each(patch(*one) for one in ready)
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

    async def until_settled(self, count: int) -> None:
        """Until it has looked at every scaler, and has nothing left to do."""
        await self.until(lambda: self.metric("hibernator_scaler_writes_saved_total") >= 0)
        await self.until(lambda: self.metric("hibernator_reconcile_seconds_count") >= count)
        await self.until(lambda: self.metric("hibernator_queue_depth") == 0)

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


@asynccontextmanager
async def filled(cluster: Cluster, count: int) -> AsyncIterator[Cache[Deployment]]:
    """So many scalers and Deployments, and a watch on the latter."""
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        await fill(client, count)
        await each(client.create(SCALERS, scaler(name(i)), space(i)) for i in range(count))
        deployments = Cache(client, DEPLOYMENTS)
        following = asyncio.create_task(deployments.run())
        await deployments.wait_synced()
        yield deployments
        following.cancel()


async def race(cluster: Cluster, count: int) -> tuple[list[float], list[Crossing]]:
    """When the bare loop and the operator were done, by turns; the bare loop begins and ends."""
    async with filled(cluster, count) as deployments:
        limits, nights = [await bare(cluster, deployments, count)], []
        for _ in range(max(1, AT_LEAST // count)):
            done = await observed(deployments, count)
            async with operator(cluster, LEAD + count / 50) as process:
                await process.until_settled(count)
                times = await done
            nights.append(Crossing(times[0] - process.boundary, times[-1] - process.boundary))
            await put_back(cluster, deployments, count)
            limits.append(await bare(cluster, deployments, count))
    return [one.last for one in limits], nights


@dataclass
class Life:
    """One life of an operator over one boundary, until every status tells of it."""

    writes: float  # for each scaler
    cpu: float
    peak: float
    held: float  # KB for each scaler
    idle: float  # requests a minute


async def lived(cluster: Cluster, count: int) -> Life:
    async with operator(cluster, 3600) as empty:
        await empty.until(lambda: empty.metric("hibernator_leader") == 1)
        await asyncio.sleep(5)
        nothing = empty.memory()
    async with (
        filled(cluster, count) as deployments,
        operator(cluster, LEAD + count / 50) as process,
    ):
        await rest(deployments)
        await process.until_settled(count)
        await asyncio.sleep(5)
        held, cpu = process.memory(), process.cpu()
        before = len(cluster.writes())
        asked = process.metric("hibernator_api_requests_total")
        began = time.time()
        await asyncio.sleep(min(QUIET, max(0.0, process.boundary - time.time() - 3)))
        idle = (process.metric("hibernator_api_requests_total") - asked) / (time.time() - began) * 60
        await process.until(lambda: _status_writes(cluster, before) >= count)
        await asyncio.sleep(10)  # should anybody be told of twice
        spent, peak = process.cpu() - cpu, process.memory("VmHWM")
        ours = [w for w in cluster.writes()[before:] if w.resource in {"deployments", "timewindowscalers"}]
        ours = [w for w in ours if w.subresource in {"", "status"} and not w.user.startswith("system:")]
    return Life(len(ours) / count, spent, peak, (held - nothing) * 1024 / count, idle)


def _status_writes(cluster: Cluster, before: int) -> int:
    """Of how many scalers the status was written since then."""
    since = cluster.writes()[before:]
    return len({(w.namespace, w.name) for w in since if w.resource == "timewindowscalers"})


async def install(cluster: Cluster) -> None:
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        await each(
            client.create(CUSTOM_RESOURCE_DEFINITIONS, document) for document in map(manifest, DEFINITIONS)
        )
        await client.create(NAMESPACES, {"metadata": {"name": "hibernator-system"}})
    cluster.until_established()


async def measure(binaries: Binaries, count: int) -> list[object]:
    with tempfile.TemporaryDirectory() as folder:
        with running(Path(folder) / "cluster", binaries, hurried=False) as cluster:
            await install(cluster)
            limits, nights = await race(cluster, count)
        with running(Path(folder) / "cluster", binaries) as cluster:
            await install(cluster)
            life = await lived(cluster, count)
    limit, last = statistics.median(limits), statistics.median(night.last for night in nights)
    return [
        f"{count:,} scalers",
        limit,
        last,
        last / limit,
        max(night.first for night in nights),
        life.writes,
        life.cpu,
        life.peak,
        life.held,
        life.idle,
    ]


async def main(counts: list[int]) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    rows = [await measure(binaries, count) for count in counts]
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
