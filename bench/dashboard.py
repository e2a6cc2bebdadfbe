"""The dashboard with 5,000 plans and 5,000 exceptions, and with a thousand people who look on.

    python bench/dashboard.py [OBJECTS [VIEWERS]]          5,000 and 1,000 unless told otherwise

The web process runs as it is shipped, a process of its own that is bound to one core. *Overview* and the
lists are what one person waits for who may see everything, page after page, once each was seen; *bare page*
is a page of the same length from Starlette and nothing else. *First overview* computes the day of every plan.

Then so many viewers stay connected, each by a WebSocket and with a log-in of their own, and a plan is changed
again and again. *Event* is from the moment at which a watch of ours shows the change to the moment at which a
viewer hears of it. *Bare broadcast* is the same message to as many WebSockets from Starlette and nothing
else, on one core, too. The memory is what the process has grown by, for each viewer.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from whenever import Instant

from _table import show
from approvals import each, percentile
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from hibernator.api.crd import manifest
from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.kind import Kind
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials, logging
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from web import BARE, People, free_port, opened, process, web_arguments

WHERE = "bench"
ROUNDS = 60  # how often each page is opened
EVENTS = 30
PAUSE = 0.7  # seconds between two changes
AN_ADDRESS = 100  # viewers that come from one address: a replica lets none of them ask for everything
PAGES = {"overview": "/", "plans": "/plans", "exceptions": "/exceptions"}
DAYS = ["MON", "TUE", "WED", "THU", "FRI"]
BARE_BROADCAST = """
import asyncio, sys
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from hibernator.kube.serving import Server

open_ = set()

async def stay(socket):
    await socket.accept()
    open_.add(socket)
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
    open_.discard(socket)

async def go(request):
    for socket in tuple(open_):
        await socket.send_json({"changed": True, "wait": 1000})
    return PlainTextResponse("")

routes = [Route("/", lambda request: PlainTextResponse("")), Route("/go", go), WebSocketRoute("/live", stay)]
asyncio.run(Server(Starlette(routes=routes), host="127.0.0.1", port=int(sys.argv[1]), websockets=True).run())
"""


async def fill(client: Client, count: int) -> None:
    """Plans of which a half sleeps, and an exception for each."""
    now = Instant.now()
    day = {"validFrom": now.add(hours=-2).format_iso(unit="second"), "validUntil": _later(now, 72)}

    async def one(number: int) -> None:
        name, asleep = f"plan-{number:04}", number % 2
        window = {"start": f"{18 + number % 5}:00", "end": f"{5 + number % 4}:00", "daysOfWeek": DAYS}
        spec = {
            "schedule": {"timezone": "Europe/Berlin", "offHours": [window]},
            "targets": [{"name": "nothing", "type": "noop"}],
            "execution": {"strategy": {"type": "Sequential"}},
        }
        await client.create(PLANS, {"metadata": {"name": name}, "spec": spec}, WHERE)
        following = {"at": _later(now, 1 + number % 20), "to": "Awake" if asleep else "Asleep"}
        status = {"phase": "Hibernated" if asleep else "Active", "nextTransition": following}
        await _status(client, PLANS, name, status)
        wanted: dict[str, Any] = {
            "planRef": {"name": name},
            "type": "suspend",
            "reason": "Release night",
            **day,
        }
        wanted |= {"windows": [{"start": "20:00", "end": "23:00", "daysOfWeek": DAYS}]}
        await client.create(EXCEPTIONS, {"metadata": {"name": name}, "spec": wanted}, WHERE)
        await _status(client, EXCEPTIONS, name, {"state": "Active"})

    await each(one(number) for number in range(count))


def _later(now: Instant, hours: int) -> str:
    return now.add(hours=hours).format_iso(unit="second")


async def _status(client: Client, kind: Kind[Any], name: str, status: Mapping[str, Any]) -> None:
    await client.patch(kind, name, WHERE, {"status": status}, resource_version=None, subresource="status")


async def pages(url: str, cookie: str) -> tuple[list[list[object]], int]:
    """What a person waits for who opens one page after the other; and the length of the first."""
    rows: list[list[object]] = []
    length = 0
    async with aiohttp.ClientSession(headers={"Cookie": cookie}, cookie_jar=aiohttp.DummyCookieJar()) as one:
        for words, path in PAGES.items():
            first: list[float] = []
            taken: list[float] = []
            text = await opened(one, url + path, first)
            for _ in range(ROUNDS):
                await opened(one, url + path, taken)
                await asyncio.sleep(0.05)
            if path == "/":
                length = len(text)
                rows.append(["first overview", first[0] * 1000, "ms"])
            rows += _rows(words, taken, (50, 95))
    return rows, length


def _rows(words: str, taken: Sequence[float], percents: Sequence[int]) -> list[list[object]]:
    return [[f"{words}, p{percent}", percentile(list(taken), percent), "ms"] for percent in percents]


class Viewers:
    """Pages that stay open, and when each of them heard of the last change."""

    def __init__(self, url: str, cookies: Sequence[str]) -> None:
        self._url, self._cookies = url, cookies
        self._heard: list[float] = []
        self._all = asyncio.Event()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            for start in range(0, len(self._cookies), AN_ADDRESS):
                address = f"127.0.0.{2 + start // AN_ADDRESS}"
                connector = aiohttp.TCPConnector(local_addr=(address, 0), limit=0)
                session = await stack.enter_async_context(
                    aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
                )
                for cookie in self._cookies[start : start + AN_ADDRESS]:
                    headers = {"Cookie": cookie, "Origin": self._url}
                    socket = await session.ws_connect(f"{self._url}/live?topics=plans", headers=headers)
                    group.create_task(self._listen(socket))
                    stack.push_async_callback(socket.close)
            await asyncio.sleep(1.0)  # what is new to all of them is past
            yield
            await stack.aclose()

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if '"changed":true' in message.data:
                self._heard.append(time.perf_counter())
                if len(self._heard) == len(self._cookies):
                    self._all.set()

    async def heard(self, happen: Callable[[], Awaitable[float]]) -> list[float]:
        """How long after it happened each of them heard of it."""
        self._heard.clear()
        self._all.clear()
        at = await happen()
        async with asyncio.timeout(30):
            await self._all.wait()
        return [moment - at for moment in self._heard]


async def events(viewers: Viewers, happen: Callable[[], Awaitable[float]]) -> list[float]:
    taken: list[float] = []
    for _ in range(EVENTS):
        taken += await viewers.heard(happen)
        await asyncio.sleep(PAUSE)
    return taken


def memory(pid: int) -> float:
    """KiB that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


async def live(
    url: str, pid: int, cookies: Sequence[str], words: str, happen: Callable[[], Awaitable[float]]
) -> list[list[object]]:
    viewers, before = Viewers(url, cookies), memory(pid)
    async with viewers.connected():
        grown = (memory(pid) - before) / len(cookies)
        taken = await events(viewers, happen)
    return [*_rows(words, taken, (50, 99)), [f"{words}, memory of a viewer", grown, "KiB"]]


async def measure(cluster: Cluster, folder: Path, count: int, viewers: int) -> list[list[object]]:
    url, bare_url, broadcast_url = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
    async with Client(credentials.find(str(cluster.kubeconfig))) as client, asyncio.TaskGroup() as group:
        await each(client.create(CUSTOM_RESOURCE_DEFINITIONS, one) for one in map(manifest, DEFINITIONS))
        for name in (WHERE, "hibernator-system"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        cluster.until_established()
        binding = ("create", "clusterrolebinding", "sees", "--clusterrole=cluster-admin")
        cluster.kubectl(*binding, "--user=person-0@company.com")
        await fill(client, count)
        plans = Cache(client, PLANS, WHERE)
        seen: asyncio.Queue[float] = asyncio.Queue()

        def saw(_old: HibernatePlan | None, _new: HibernatePlan | None) -> None:
            seen.put_nowait(time.perf_counter())

        following = group.create_task(plans.run())
        await plans.wait_synced()
        plans.on_change(saw)

        async def change() -> float:
            await _status(client, PLANS, "plan-0000", {"progress": f"{time.monotonic_ns() % 1000}/1000"})
            return await seen.get()

        arguments, ready = web_arguments(cluster, folder, url)
        async with process(*arguments, ready=ready, core=0) as served:
            people = People(url, folder, viewers)
            cookies = [people.cookie(name) for name in people.names]
            rows, length = await pages(url, cookies[0])
            async with process("-c", BARE, bare_url.rpartition(":")[2], str(length), ready=bare_url):
                bare: list[float] = []
                async with aiohttp.ClientSession() as one:
                    for _ in range(ROUNDS):
                        await opened(one, bare_url, bare)
            rows += _rows("bare page", bare, (50, 95))
            rows += await live(url, served.pid, cookies, "event", change)
        following.cancel()
    port = broadcast_url.rpartition(":")[2]
    async with (
        process("-c", BARE_BROADCAST, port, ready=broadcast_url, core=0) as broadcaster,
        aiohttp.ClientSession() as one,
    ):

        async def go() -> float:
            at = time.perf_counter()
            async with one.get(f"{broadcast_url}/go") as answer:
                assert answer.status == 200
            return at

        rows += await live(broadcast_url, broadcaster.pid, cookies, "bare broadcast", go)
    return rows


async def main(count: int, viewers: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
        rows = await measure(cluster, Path(folder), count, viewers)
    show(
        f"The dashboard with {count:,} plans and exceptions, and with {viewers:,} viewers on one core",
        ["", "", "unit"],
        rows,
        packages=["starlette", "uvicorn", "websockets", "jinja2", "aiohttp"],
    )


if __name__ == "__main__":
    logging.configure("error")
    given = [int(word) for word in sys.argv[1:]]
    asyncio.run(main(*(given + [5_000, 1_000][len(given) :])))
