"""Thousands of remediations wait for people: how fast a decision arrives, and whether time-outs are on time.

    python bench/approvals.py [N]          1,000 unless told otherwise

The operator runs as it is shipped, a process of its own with its audit trail in a file. People decide one
after the other while all others wait. *Decision* is from the moment at which the API server has answered the
person to the moment at which a watch shows the analysis in its new phase: two status writes in a row, with
the record in the audit trail between them. *Two bare writes* is what two status writes in a row cost on this
machine at the same time, to the moment at which the same watch shows the second. What the last of many
deadlines can be compared with is *as many bare writes*: two for each, before there is an operator.
"""

import asyncio
import socket
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from whenever import Instant

from _table import show
from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from hibernator.api.crd import manifest
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.approvals.remediation import decision_patch
from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.decisions.person import Person
from hibernator.kube import credentials, logging
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client

CONNECTIONS = 16
PAUSE = 0.05  # seconds between two people who decide
SPREAD = 60.0  # seconds over which deadlines are spread
LEAD = 90.0  # seconds until the first deadline, in which everything is made
WHERE = "bench"
BOB = Person("bob@company.com")


async def each(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Run them all, so many at a time."""
    waiting = iter(coroutines)

    async def worker() -> None:
        for coroutine in waiting:
            await coroutine

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


class Scene:
    """What the benchmark sees of the cluster through watches of its own."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.analyses = Cache(client, ANALYSES, WHERE)
        self.requests = Cache(client, APPROVAL_REQUESTS, WHERE)
        self.requests.index("analysis", lambda one: (one.spec.ai_analysis_ref.name,))
        self.phases: dict[tuple[str, str], float] = {}  # when an analysis was first seen in a phase
        self.words: dict[tuple[str, str], float] = {}  # when its last word was first seen
        self.decided: dict[str, float] = {}  # when a request was first seen to be decided
        self.changed = asyncio.Event()
        self.analyses.on_change(self._analysis)
        self.requests.on_change(self._request)

    def _analysis(self, _old: AIAnalysis | None, new: AIAnalysis | None) -> None:
        if new:
            now = time.time()
            self.phases.setdefault((new.metadata.name, new.status.phase or ""), now)
            self.words.setdefault((new.metadata.name, new.status.message), now)
        self.changed.set()

    def _request(
        self, _old: RemediationApprovalRequest | None, new: RemediationApprovalRequest | None
    ) -> None:
        if new and new.status.decision:
            self.decided.setdefault(new.metadata.name, time.time())
        self.changed.set()

    async def until(self, fact: Callable[[], bool]) -> None:
        while not fact():
            self.changed.clear()
            await self.changed.wait()

    async def make(self, prefix: str, count: int, timeout: Callable[[int], str]) -> None:  # noqa: ASYNC109 — a text
        """Remediations with an analysis each, and wait until people are asked about all of them."""

        async def one(number: int) -> None:
            name = f"{prefix}-{number}"
            await self.client.create(REMEDIATIONS, {"metadata": {"name": name}}, WHERE)
            spec = {
                "remediationRequestRef": {"name": name},
                "analysis": {"confidence": 0.7, "recommendedPlaybook": "pod-oom-recovery"},
                "approvalTimeout": timeout(number),
            }
            await self.client.create(ANALYSES, {"metadata": {"name": name}, "spec": spec}, WHERE)

        await each(one(number) for number in range(count))
        await self.until(lambda: self.asked(prefix) == count)

    async def all_rejected(self, prefix: str, count: int) -> None:
        names = [f"{prefix}-{number}" for number in range(count)]
        await self.until(lambda: all((name, "Rejected") in self.phases for name in names))

    def asked(self, prefix: str) -> int:
        return sum(
            one.spec.ai_analysis_ref.name.startswith(f"{prefix}-") and bool(one.status.message)
            for one in self.requests.values()
        )

    async def decide(self, name: str) -> float:
        """The seconds from the API server's answer to the analysis in its new phase."""
        [request] = self.requests.find("analysis", name)
        await self.client.patch(
            APPROVAL_REQUESTS,
            request.metadata.name,
            WHERE,
            {"status": decision_patch(request, BOB, "approve", "cli", now=Instant.now())},
            resource_version=request.metadata.resource_version,
            subresource="status",
        )
        accepted = time.time()
        await self.until(lambda: (name, "Ready") in self.phases)
        return self.phases[name, "Ready"] - accepted

    async def write_twice(self, name: str) -> float:
        """Two status writes in a row to an analysis that nobody looks after."""
        began = time.time()
        for number in (1, 2):
            word = f"{began}-{number}"
            patch = {"status": {"message": word}}
            await self.client.patch(ANALYSES, name, WHERE, patch, resource_version=None, subresource="status")
        await self.until(lambda: (name, word) in self.words)
        return self.words[name, word] - began


@asynccontextmanager
async def operator(cluster: Cluster) -> AsyncIterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hibernator.cli.main", "operator", f"--kubeconfig={cluster.kubeconfig}"),
        *(f"--listen=127.0.0.1:{port}", f"--database={database(cluster)}", "--log-level=warning"),
    )
    try:
        while not await asyncio.to_thread(_leads, port):  # noqa: ASYNC110 — another process
            await asyncio.sleep(0.25)
        yield
    finally:
        process.terminate()
        await process.wait()


def _leads(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            return "\nhibernator_leader 1" in answer.read().decode()
    except OSError:
        return False  # not listening yet


def database(cluster: Cluster) -> str:
    return f"sqlite:///{cluster.kubeconfig.parent}/audit.db"


def percentile(times: list[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)] * 1000


def lateness(scene: Scene, prefix: str) -> list[float]:
    """By how many seconds each request of these was seen as expired after its deadline."""
    return [
        scene.decided[one.metadata.name] - one.spec.required_by.timestamp()
        for one in scene.requests.values()
        if one.spec.ai_analysis_ref.name.startswith(f"{prefix}-")
    ]


async def complete(cluster: Cluster, expected: Counter[str]) -> float:
    """Which share of what happened is in the audit trail, each once, in percent."""
    found: Counter[str] = Counter()
    async with Database(database(cluster), read_only=True) as opened:
        async for page in Reader(opened).pages(Filter()):
            found.update(entry.type for entry in page)
    for name, count in expected.items():
        if found[name] != count:
            print(f"{name}: {found[name]} of {count}", file=sys.stderr)
    return 100 * sum((found & expected).values()) / expected.total()


async def measure(cluster: Cluster, count: int) -> list[list[object]]:
    async with Client(credentials.find(str(cluster.kubeconfig))) as client:
        await each(client.create(CUSTOM_RESOURCE_DEFINITIONS, one) for one in map(manifest, DEFINITIONS))
        for name in (WHERE, "hibernator-system"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        cluster.until_established()
        scene = Scene(client)
        following = [asyncio.create_task(cache.run()) for cache in (scene.analyses, scene.requests)]
        await asyncio.gather(scene.analyses.wait_synced(), scene.requests.wait_synced())
        writes = await bare_writes(scene, count)
        async with operator(cluster):
            rows = await decisions(scene, count)
            rows += await timeouts(scene, count) + writes
            rows += await cascade(scene)
        for task in following:
            task.cancel()
    happened = Counter(
        {
            "remediationrequest.created": 3 * count,
            "remediationrequest.deleted": 3 * count,
            "aianalysis.created": 3 * count + 1,  # with the idle one
            "aianalysis.adopted": 3 * count,
            "aianalysis.approving": 3 * count,
            "aianalysis.ready": count,
            "aianalysis.rejected": 2 * count + 1,
            "aianalysis.deleted": 3 * count,
            "remediationapprovalrequest.created": 3 * count,
            "remediationapprovalrequest.approved": count,
            "remediationapprovalrequest.expired": 2 * count,
            "remediationapprovalrequest.deleted": 3 * count,
        }
    )
    return [*rows, ["audit trail complete", await complete(cluster, happened), "%"]]


async def bare_writes(scene: Scene, count: int) -> list[list[object]]:
    """Two status writes to each of so many analyses, over as many connections as there are workers."""
    client, names = scene.client, [f"bare-{number}" for number in range(count)]
    await each(client.create(ANALYSES, {"metadata": {"name": name}, "spec": {}}, WHERE) for name in names)
    began = time.time()
    await each(scene.write_twice(name) for name in names)
    taken = time.time() - began
    await each(client.delete(ANALYSES, name, WHERE) for name in names)
    await scene.until(lambda: len(scene.analyses) == 0)
    return [["as many bare writes", taken * 1000, "ms"]]


async def decisions(scene: Scene, count: int) -> list[list[object]]:
    await scene.make("decided", count, lambda _: "2h")
    spec = {"analysis": {"confidence": 0.1}}
    await scene.client.create(ANALYSES, {"metadata": {"name": "idle"}, "spec": spec}, WHERE)
    await scene.until(lambda: ("idle", "Rejected") in scene.phases)
    await asyncio.sleep(5)  # for the events about all that
    taken, bare = [], []
    for number in range(count):
        taken.append(await scene.decide(f"decided-{number}"))
        await asyncio.sleep(PAUSE)
        if number % 5 == 0:
            bare.append(await scene.write_twice("idle"))
            await asyncio.sleep(PAUSE)
    return [
        ["decision, p50", percentile(taken, 50), "ms"],
        ["decision, p95", percentile(taken, 95), "ms"],
        ["decision, p99", percentile(taken, 99), "ms"],
        ["two bare writes, p50", percentile(bare, 50), "ms"],
        ["two bare writes, p95", percentile(bare, 95), "ms"],
    ]


async def timeouts(scene: Scene, count: int) -> list[list[object]]:
    """Deadlines over a minute, and then all at one second."""
    began = time.time()

    def spread(number: int) -> str:
        return f"{began + LEAD + SPREAD * number / count - time.time():.3f}s"

    def together(_number: int) -> str:
        return f"{began + 2 * LEAD + SPREAD - time.time():.3f}s"

    rows: list[list[object]] = []
    for prefix, timeout, words in (
        ("spread", spread, f"deadlines over {SPREAD:.0f} s"),
        ("together", together, "deadlines within two seconds"),
    ):
        await scene.make(prefix, count, timeout)
        await scene.all_rejected(prefix, count)
        late = lateness(scene, prefix)
        rows += [
            [f"{words}: within 1 s", 100 * sum(seconds <= 1 for seconds in late) / count, "%"],
            [f"{words}: within 30 s", 100 * sum(seconds <= 30 for seconds in late) / count, "%"],
            [f"{words}: the last", max(late) * 1000, "ms"],
        ]
    return rows


async def cascade(scene: Scene) -> list[list[object]]:
    """Delete the remediations and see what the garbage collector leaves."""
    before = len(scene.requests)
    remediations = await scene.client.list(REMEDIATIONS, WHERE)
    await each(scene.client.delete(REMEDIATIONS, one.metadata.name, WHERE) for one in remediations)
    began = time.time()
    try:
        async with asyncio.timeout(600):
            await scene.until(lambda: len(scene.requests) == 0 and len(scene.analyses) == 1)
    except TimeoutError:
        print(f"{len(scene.requests)} requests are left", file=sys.stderr)
    gone = 100 * (before - len(scene.requests)) / before
    await asyncio.sleep(5)  # for the audit trail
    return [["cascade deletion", gone, "%"], ["cascade deletion, the last", time.time() - began - 5, "s"]]


async def main(count: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
        rows = await measure(cluster, count)
    show(
        f"{count:,} requests wait for people",
        ["", "", "unit"],
        rows,
        packages=["aiohttp", "msgspec", "regopy"],
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
