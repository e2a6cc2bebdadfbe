"""Ten plans put thousands of Deployments to sleep and wake them, beside a bare loop of as many patches.

    python bench/plans.py [N …]            5,000 unless told otherwise

The bare loop sends one patch to each Deployment, with a mark and a precondition, and does nothing else: it is
the limit of this machine. The plans list them, write down what wakes them, patch each once, and say how far
they are. Both are timed by the same watch, from the first patch or from the boundary to the last Deployment
that was seen to have followed. The bare loop runs before and after; its median is the limit.

Aims: 1.25 times the bare loop, one request for an object in each direction, the first change within half a
second, less than 150 MiB at the peak.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from _table import show
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, DEPLOYMENTS, NAMESPACES, Deployment
from hibernator.api.crd import manifest
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kinds import DEFINITIONS
from hibernator.controllers.hibernateplan_runs import AT_ONCE
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials, logging
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from scalers import CONNECTIONS, NAMESPACES_USED, each, fill, operator, patched, rest, space

LEAD = 30  # seconds between the start of the operator and the evening
NIGHT = 180  # seconds, as in the windows of the plan below
AWAKE, ASLEEP = 1, 0  # replicas
ASKED = "hibernator_api_requests_total"


def plan(namespace: str) -> dict[str, object]:
    """Asleep for three minutes from the boundary at which the operator's clock is set."""
    window = {"start": "09:00", "end": "09:03", "daysOfWeek": ["MON"]}
    parameters = {"namespace": {"literals": [namespace]}}
    return {
        "metadata": {"name": "nights"},
        "spec": {
            "schedule": {"timezone": "UTC", "offHours": [window]},
            "targets": [{"name": "everything", "type": "workloadscaler", "parameters": parameters}],
        },
    }


@dataclass(frozen=True)
class Crossing:
    """When the watch showed the first and the last Deployment at its new number, as wall time."""

    first: float
    last: float


async def followed(deployments: Cache[Deployment], replicas: int) -> asyncio.Future[Crossing]:
    left = {one.metadata.uid for one in deployments.values() if one.spec.replicas != replicas}
    done: asyncio.Future[Crossing] = asyncio.get_running_loop().create_future()
    first = 0.0

    def changed(_old: Deployment | None, new: Deployment | None) -> None:
        nonlocal first
        if new and new.spec.replicas == replicas and new.metadata.uid in left:
            left.discard(new.metadata.uid)
            first = first or time.time()
            if not left and not done.done():
                done.set_result(Crossing(first, time.time()))

    deployments.on_change(changed)
    return done


def say(text: str) -> None:
    """How far it is, for who waits: Kubernetes' own controllers take most of the time."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


async def bare(cluster: Cluster, deployments: Cache[Deployment], count: int, replicas: int) -> float:
    done = await followed(deployments, replicas)
    start = await patched(cluster, deployments, count, replicas=replicas)
    taken = (await done).last - start
    say(f"the bare loop has set {count:,} to {replicas} in {taken:.1f} s")
    await rest(deployments)
    return taken


async def limits(cluster: Cluster, deployments: Cache[Deployment], count: int) -> list[float]:
    return [await bare(cluster, deployments, count, replicas) for replicas in (ASLEEP, AWAKE)]


async def measure(cluster: Cluster, count: int) -> list[list[object]]:
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        await each(client.create(CUSTOM_RESOURCE_DEFINITIONS, one) for one in map(manifest, DEFINITIONS))
        await client.create(NAMESPACES, {"metadata": {"name": "hibernator-system"}})
        cluster.until_established()
        await fill(client, count)
        deployments = Cache(client, DEPLOYMENTS)
        following = asyncio.create_task(deployments.run())
        await deployments.wait_synced()
        await rest(deployments)
        await bare(cluster, deployments, count, AWAKE)
        before = await limits(cluster, deployments, count)
        await each(client.create(PLANS, plan(space(i)), space(i)) for i in range(NAMESPACES_USED))
        nights: list[tuple[float, float, float, float]] = []
        async with operator(cluster, LEAD) as process:
            await process.until(lambda: process.metric("hibernator_leader") == 1)
            for boundary, replicas in ((process.boundary, ASLEEP), (process.boundary + NIGHT, AWAKE)):
                done = await followed(deployments, replicas)
                asked, spent = process.metric(ASKED), process.cpu()
                crossed = await done
                each_ = (process.metric(ASKED) - asked) / count
                cpu = process.cpu() - spent
                nights.append((crossed.first - boundary, crossed.last - boundary, each_, cpu))
                say(f"ten plans have set {count:,} to {replicas} in {crossed.last - boundary:.1f} s")
                await rest(deployments)
            peak = process.memory("VmHWM")
        after = await limits(cluster, deployments, count)
        following.cancel()
    names = (f"{count:,} fall asleep", f"{count:,} wake up")
    return [
        [name, statistics.median(bare_), last, last / statistics.median(bare_), first, each_, cpu, peak]
        for name, bare_, (first, last, each_, cpu) in zip(
            names, zip(before, after, strict=True), nights, strict=True
        )
    ]


async def main(counts: list[int]) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    rows: list[list[object]] = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
            rows += await measure(cluster, count)
    show(
        f"Ten plans over Deployments, {AT_ONCE} at a time; the bare loop has {CONNECTIONS} connections",
        ["", "bare s", "plans s", "ratio", "first s", "requests each", "CPU s", "peak MiB"],
        rows,
        packages=["aiohttp", "msgspec"],
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main([int(argument) for argument in sys.argv[1:]] or [5_000]))
