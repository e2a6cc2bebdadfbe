"""What the runtime costs beside a bare decode loop, how fast it reacts, and how soon it recovers.

    python bench/runtime.py

First on one core: a list of 10,000 HibernatePlans of 2.4 KB and 50,000 watch events, through cache, index,
queue and eight workers, beside a loop that only reads and decodes the same bytes. Each runs in a process of
its own, in turns. Then on a real API server: time to synced, reaction to a write, a boundary of 5,000 patches
beside a bare loop over as many connections, and recovery from faults made by a proxy.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from _cluster import (
    CONNECTIONS,
    FAULTS,
    PATCHES,
    Reaction,
    patches_per_second,
    reactions,
    recovery_seconds,
    seconds_to_synced,
)
from _replay import EVENTS, OBJECTS
from _table import show
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import logging
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.cluster import ClusterInTest
from support.faultproxy import faultproxy

HERE = Path(__file__).parent
ROUNDS = 5
PACKAGES = ("aiohttp", "msgspec")
Row = Sequence[object]


@contextmanager
def replaying() -> Iterator[dict[str, int]]:
    """The bytes, served from another core."""
    command = [sys.executable, str(HERE / "_replay.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())
        finally:
            server.terminate()


def follow(what: str, port: int) -> dict[str, float]:
    command = [sys.executable, str(HERE / "_follow.py"), what, "1", str(port)]
    result: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert result["objects"] == OBJECTS
    return result


def compare_following() -> None:
    runs: dict[str, list[dict[str, float]]] = {"bare": [], "runtime": []}
    with replaying() as replay:
        for _ in range(ROUNDS):
            for what, results in runs.items():
                results.append(follow(what, replay["port"]))
    middle = {
        what: {key: median(result[key] for result in results) for key in results[0]}
        for what, results in runs.items()
    }
    least = min(runs["bare"], key=lambda result: result["cpu"])["cpu"]
    rows: list[Row] = [
        (
            name,
            middle[what]["cpu"],
            min(result["cpu"] for result in runs[what]) / least,
            middle[what]["synced"],
            middle[what]["peak"] / 1e6,
            middle[what]["memory"] / 1e3,
        )
        for name, what in (
            ("read and decode, nothing else", "bare"),
            ("cache, index, queue, 8 workers", "runtime"),
        )
    ]
    show(
        f"{OBJECTS:,} objects of {replay['bytes'] / 1000:.1f} KB and {EVENTS:,} events on one core, "
        f"{ROUNDS} runs each (CPU: median; ratio: of the best)",
        ("client", "CPU s", "ratio", "listed after s", "peak MB", "KB/object"),
        rows,
        packages=PACKAGES,
    )


async def measure_on_a_cluster(cluster: ClusterInTest, folder: Path) -> None:
    await asyncio.to_thread(cluster.install_crds)
    namespace = await asyncio.to_thread(cluster.create_namespace)
    async with Client(find(str(cluster.kubeconfig))) as client:
        reaction = await reactions(client, namespace)
        bare, ours = await patches_per_second(client, namespace)
        synced = await seconds_to_synced(client, namespace)
    show(
        "On a real API server on the same machine",
        ("what", "value", "unit"),
        [
            (f"{OBJECTS:,} objects listed and indexed", synced, "s"),
            *_percentiles("from sending a write to its reconcile", reaction),
            (f"{PATCHES:,} patches over {CONNECTIONS} connections, bare", median(bare), "/s"),
            (f"{PATCHES:,} patches over {CONNECTIONS} connections, client", median(ours), "/s"),
            ("client beside bare", 100 * median(ours) / median(bare), "%"),
        ],
        packages=PACKAGES,
    )
    async with faultproxy(cluster, folder) as proxy, Client(find(str(proxy.kubeconfig))) as client:
        rows = [
            (name, 1000 * median([await recovery_seconds(client, proxy, namespace, fault) for _ in range(3)]))
            for name, fault in FAULTS.items()
        ]
    show("Recovery: until what happened during a fault is known", ("fault", "ms"), rows, packages=PACKAGES)


def _percentiles(what: str, reaction: Reaction) -> Iterator[Row]:
    for name, times in (("", reaction.from_request), (", from its answer", reaction.from_answer)):
        for percent in (50, 95, 99):
            yield f"{what}{name}, p{percent}", 1000 * times[len(times) * percent // 100], "ms"


def main() -> None:
    compare_following()
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as up:
        asyncio.run(measure_on_a_cluster(ClusterInTest(up.layout, up.state), Path(folder)))


if __name__ == "__main__":
    logging.configure("error")
    main()
