"""A hundred people open their page and decide at the same time: how long they wait for an answer.

    python bench/web.py [PEOPLE]           100 unless told otherwise

Operator and web process run as they are shipped, each a process of its own. Every person is logged in, is
asked about one exception of a plan, opens its page again and again with one to three seconds between, and
decides at the end. *Bare page* is the same load on a process that serves a page of the same length with
Starlette and nothing else. *Decision* is what the person waits for: the form is sent, the decision written,
counted by the operator, recorded in the trail, and the page says what became of it. After four seconds the
page says that it is recorded and not counted yet; how often that happens is counted, too. *Two bare writes*
is what two status writes in a row cost on this machine under the same load, to the moment at which a watch
shows the second.

A hundred people decide within six seconds. The operator reads the policies past its own cache, and the API
server confirms only every tenth of a second that its own is fresh, so most of these decisions wait for that.
*Alone* is the same with half a second between two decisions, as where people are not made to hurry.
"""

import asyncio
import os
import random
import re
import secrets
import socket
import sys
import tempfile
import time
import urllib.request
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
from starlette.responses import Response
from whenever import Instant

from _table import show
from approvals import each, operator, percentile
from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from hibernator.api.crd import manifest
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials, logging
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.web.identity import Identity
from hibernator.web.sealing import Keyring
from hibernator.web.sessions import Sessions

WHERE = "bench"
ALONE = 20  # who decide one after the other
APART = 0.5  # seconds
ROUNDS = 8  # how often each person opens the page
READING = (1.0, 3.0)  # seconds between
EVERY_DAY = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
BARE = """
import asyncio, sys
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
from hibernator.kube.serving import Server

async def page(request):
    return HTMLResponse("x" * int(sys.argv[2]))

asyncio.run(Server(Starlette(routes=[Route("/", page)]), host="127.0.0.1", port=int(sys.argv[1])).run())
"""


class People:
    """Everybody with the cookie of their log-in, one connection each, as their browsers have."""

    def __init__(self, url: str, folder: Path, count: int) -> None:
        self.url = url
        self._sessions = Sessions(Keyring(folder / "keys"), SystemClock())
        self.names = [f"person-{number}" for number in range(count)]
        self.alone = [f"alone-{number}" for number in range(ALONE)]

    def cookie(self, name: str) -> str:
        email = f"{name}@company.com"
        known = Identity("https://login.company.com", name, email, name, email, (), Instant.now())
        response = Response()
        self._sessions.remember(response, self._sessions.begin(known))
        lines = [value.decode() for key, value in response.raw_headers if key == b"set-cookie"]
        return "; ".join(line.partition(";")[0] for line in lines if "Max-Age=0" not in line)

    async def all(self, act: Callable[[str], Awaitable[None]]) -> None:
        async with asyncio.TaskGroup() as group:
            for name in self.names:
                group.create_task(_awaited(act(name)))


async def _awaited(act: Awaitable[None]) -> None:
    await act


async def opened(session: aiohttp.ClientSession, url: str, taken: list[float]) -> str:
    began = time.perf_counter()
    async with session.get(url) as answer:
        text = await answer.text()
    taken.append(time.perf_counter() - began)
    assert answer.status == 200, text
    return text


async def read(url: str, cookie: str, taken: list[float]) -> str:
    """Open a page again and again, and read it in between."""
    text = ""
    async with aiohttp.ClientSession(headers={"Cookie": cookie}, cookie_jar=aiohttp.DummyCookieJar()) as one:
        for _ in range(ROUNDS):
            await asyncio.sleep(random.uniform(*READING))
            text = await opened(one, url, taken)
    return text


async def decide(url: str, cookie: str, page: str, taken: list[float]) -> bool:
    """Send the form; whether the answer says that the decision counts."""
    form = dict(re.findall(r'name="(form_token|spec_hash|token)" value="([^"]*)"', page))
    body = urlencode(form | {"verdict": "approve", "reason": ""})
    headers = {
        "Cookie": cookie,
        "Content-Type": "application/x-www-form-urlencoded",
        "Sec-Fetch-Site": "same-origin",
    }
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as one:
        began = time.perf_counter()
        async with one.post(url, data=body, headers=headers) as answer:
            text = await answer.text()
        taken.append(time.perf_counter() - began)
    counts = "Approved and active" in text
    assert counts or "Your decision is recorded" in text, text
    return counts


async def hurry() -> None:
    await asyncio.sleep(random.uniform(0, READING[1] * 2))


@asynccontextmanager
async def process(*arguments: str, ready: str, core: int | None = None) -> AsyncIterator[Process]:
    """A process, once it answers; bound to one core, if wanted."""
    running_ = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    if core is not None:
        os.sched_setaffinity(running_.pid, {core})
    try:
        while not await asyncio.to_thread(_answers, ready):
            assert running_.returncode is None, f"{arguments} ended with {running_.returncode}"
            await asyncio.sleep(0.1)
        yield running_
    finally:
        running_.terminate()
        await running_.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 — of ours
            return int(answer.status) == 200
    except OSError:
        return False  # not yet


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def web_arguments(cluster: Cluster, folder: Path, url: str) -> tuple[tuple[str, ...], str]:
    """How a web process is started, and where it says that it is ready."""
    metrics = f"127.0.0.1:{free_port()}"
    (folder / "keys").write_text(secrets.token_hex(32))
    arguments = (
        *("-m", "hibernator.cli.main", "web", f"--kubeconfig={cluster.kubeconfig}", f"--base-url={url}"),
        *(f"--listen={url.removeprefix('http://')}", f"--metrics-listen={metrics}", "--log-level=error"),
        *(f"--session-key-file={folder / 'keys'}", "--oidc-issuer=https://login.company.com"),
        *("--oidc-client-id=hibernator", "--oidc-username-claim=email"),
    )
    return arguments, f"http://{metrics}/readyz"


async def ask(client: Client, exceptions: Cache[ScheduleException], names: list[str]) -> dict[str, str]:
    """A plan for each person, and an exception of it that waits for them; the uid of each."""

    async def one(name: str) -> None:
        schedule = {"timezone": "Europe/Berlin", "offHours": [_window("20:00", "06:00")]}
        target = {"name": "nothing", "type": "noop"}
        spec = {"schedule": schedule, "targets": [target], "execution": {"strategy": {"type": "Sequential"}}}
        await client.create(PLANS, {"metadata": {"name": name}, "spec": spec}, WHERE)
        now = Instant.now()
        wanted = {
            "planRef": {"name": name},
            "type": "suspend",
            "windows": [_window("20:00", "23:00")],
            "reason": "Release night",
            "validFrom": now.add(hours=1).format_iso(unit="second"),
            "validUntil": now.add(hours=49).format_iso(unit="second"),
            "approvalRequired": True,
            "approverEmails": [f"{name}@company.com"],
        }
        notes = {"annotations": {"hibernator.ardikabs.com/requested-by": "alice@company.com"}}
        await client.create(EXCEPTIONS, {"metadata": {"name": name} | notes, "spec": wanted}, WHERE)

    await each(one(name) for name in names)
    while sum(one.status.state == "Pending" for one in exceptions.values()) < len(names):  # noqa: ASYNC110
        await asyncio.sleep(0.2)
    return {one.metadata.name: one.metadata.uid for one in exceptions.values()}


def _window(start: str, end: str) -> dict[str, object]:
    return {"start": start, "end": end, "daysOfWeek": EVERY_DAY}


class BareWrites:
    """Two status writes in a row, until a watch has shown the second."""

    def __init__(self, client: Client, exceptions: Cache[ScheduleException]) -> None:
        self._client = client
        self._seen: dict[str, asyncio.Event] = {}
        exceptions.on_change(self._saw)

    def _saw(self, _old: ScheduleException | None, new: ScheduleException | None) -> None:
        if new and (waiting := self._seen.get(new.status.message)):
            waiting.set()

    async def by(self, name: str, taken: list[float]) -> None:
        began = time.perf_counter()
        for word in (f"{name} once", f"{name} twice"):
            self._seen[word] = asyncio.Event()
            patch = {"status": {"message": word}}
            await self._client.patch(
                EXCEPTIONS, name, WHERE, patch, resource_version=None, subresource="status"
            )
        await self._seen[f"{name} twice"].wait()
        taken.append(time.perf_counter() - began)


async def measure(cluster: Cluster, folder: Path, count: int) -> list[list[object]]:
    url, bare_url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    took: dict[str, list[float]] = {
        words: []
        for words in (
            "page",
            "bare page",
            "decision alone",
            "two bare writes alone",
            "decision",
            "two bare writes",
        )
    }
    late = 0
    async with Client(credentials.find(str(cluster.kubeconfig))) as client, asyncio.TaskGroup() as group:
        await each(client.create(CUSTOM_RESOURCE_DEFINITIONS, one) for one in map(manifest, DEFINITIONS))
        for name in (WHERE, "hibernator-system"):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        cluster.until_established()
        exceptions = Cache(client, EXCEPTIONS, WHERE)
        following = group.create_task(exceptions.run())
        await exceptions.wait_synced()
        arguments, ready = web_arguments(cluster, folder, url)
        async with operator(cluster), process(*arguments, ready=ready):
            people = People(url, folder, count)
            uids = await ask(client, exceptions, [*people.names, *people.alone])
            cookies = {name: people.cookie(name) for name in (*people.names, *people.alone)}
            shown: dict[str, str] = {}

            async def look(name: str) -> None:
                shown[name] = await read(f"{url}/approve/{uids[name]}", cookies[name], took["page"])

            async def press(name: str, words: str) -> None:
                nonlocal late
                page = f"{url}/approve/{uids[name]}"
                late += not await decide(page, cookies[name], shown[name], took[words])

            async def press_in_a_hurry(name: str) -> None:
                await hurry()
                await press(name, "decision")

            await people.all(look)
            length = len(next(iter(shown.values())))
            port = bare_url.rpartition(":")[2]
            async with process("-c", BARE, port, str(length), ready=bare_url):
                await people.all(lambda _name: _nothing(read(bare_url, "", took["bare page"])))
            for name in people.alone:
                async with aiohttp.ClientSession(headers={"Cookie": cookies[name]}) as one:
                    shown[name] = await opened(one, f"{url}/approve/{uids[name]}", [])
                await asyncio.sleep(APART)
                await press(name, "decision alone")
            await people.all(press_in_a_hurry)
        writes = BareWrites(client, exceptions)

        async def write_in_a_hurry(name: str) -> None:
            await hurry()
            await writes.by(name, took["two bare writes"])

        for name in people.alone:
            await asyncio.sleep(APART)
            await writes.by(name, took["two bare writes alone"])
        await people.all(write_in_a_hurry)
        following.cancel()
    rows: list[list[object]] = []
    for words, taken in took.items():
        rows += [[f"{words}, p{percent}", percentile(taken, percent), "ms"] for percent in (50, 95, 99)]
    return [*rows, ["decisions that were not counted within 4 s", late, ""]]


async def _nothing(reading: Awaitable[str]) -> None:
    await reading


async def main(count: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
        rows = await measure(cluster, Path(folder), count)
    show(
        f"{count} people open their page and decide at the same time",
        ["", "", "unit"],
        rows,
        packages=["starlette", "uvicorn", "jinja2", "aiohttp"],
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
