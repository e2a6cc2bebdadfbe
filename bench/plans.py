"""A plan puts thousands of Deployments to sleep and wakes them, beside a bare loop of the same patches.

    python bench/plans.py [N …]            2,000 unless told otherwise

The bare loop sends one patch to each Deployment, with a precondition, and does nothing else: it is the limit
of this machine. The plan lists them, writes down what wakes them, reads each before it writes, and tells how
far it is. Both are timed by the same watch, from the first patch or from the boundary to the last Deployment
that was seen to have followed.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from _table import show
from hibernator.api.core import DEPLOYMENTS, NAMESPACES, Deployment
from hibernator.api.crd import manifest
from hibernator.api.extensions import CUSTOM_RESOURCE_DEFINITIONS
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


def plan() -> dict[str, object]:
    """Asleep for three minutes from the boundary at which the operator's clock is set."""
    window = {"start": "09:00", "end": "09:03", "daysOfWeek": ["MON"]}
    parameters = {"namespace": {"literals": [space(i) for i in range(NAMESPACES_USED)]}}
    return {
        "metadata": {"name": "nights"},
        "spec": {
            "schedule": {"timezone": "UTC", "offHours": [window]},
            "targets": [{"name": "everything", "type": "workloadscaler", "parameters": parameters}],
        },
    }


async def followed(deployments: Cache[Deployment], replicas: int) -> asyncio.Future[float]:
    """The wall time at which the watch showed the last Deployment at this number."""
    left = {one.metadata.uid for one in deployments.values() if one.spec.replicas != replicas}
    done: asyncio.Future[float] = asyncio.get_running_loop().create_future()

    def changed(_old: Deployment | None, new: Deployment | None) -> None:
        if new and new.spec.replicas == replicas:
            left.discard(new.metadata.uid)
            if not left and not done.done():
                done.set_result(time.time())

    deployments.on_change(changed)
    return done


async def bare(cluster: Cluster, deployments: Cache[Deployment], count: int, replicas: int) -> float:
    done = await followed(deployments, replicas)
    start = await patched(cluster, deployments, count, replicas=replicas)
    taken = await done - start
    await rest(deployments)
    return taken


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
        limits = [await bare(cluster, deployments, count, replicas) for replicas in (ASLEEP, AWAKE)]
        await client.create(PLANS, plan(), space(0))
        taken, requests, cpu = [], [], []
        async with operator(cluster, LEAD) as process:
            await process.until(lambda: process.metric("hibernator_leader") == 1)
            for boundary, replicas in ((process.boundary, ASLEEP), (process.boundary + NIGHT, AWAKE)):
                done = await followed(deployments, replicas)
                asked, spent = process.metric(ASKED), process.cpu()
                taken.append(await done - boundary)
                await rest(deployments)
                cpu.append(process.cpu() - spent)
                requests.append((process.metric(ASKED) - asked) / count)
        following.cancel()
    names = (f"{count:,} fall asleep", f"{count:,} wake up")
    return [
        [name, limit, ours, ours / limit, each_, spent]
        for name, limit, ours, each_, spent in zip(names, limits, taken, requests, cpu, strict=True)
    ]


async def main(counts: list[int]) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    rows: list[list[object]] = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
            rows += await measure(cluster, count)
    show(
        f"One plan over Deployments, {AT_ONCE} at a time; the bare loop has {CONNECTIONS} connections",
        ["", "bare s", "plan s", "ratio", "requests each", "CPU s"],
        rows,
        packages=["aiohttp", "msgspec"],
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main([int(argument) for argument in sys.argv[1:]] or [2_000]))
