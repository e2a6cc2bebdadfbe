"""Changes without a pause: open pages show each of them within a second, and take nothing from who types.

`make test` does so for a few seconds. The whole minute of the promise is one command, on a machine that does
nothing else:

    HIBERNATOR_LIVE_SECONDS=60 .venv/bin/python -m pytest -s tests/web/dashboard/test_live_load.py
"""

import asyncio
import os
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from hibernator.api.hibernateplan import PLANS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.web.metrics import OPEN_PAGES
from support.approving import ALICE, BOB
from support.chromium import Tab, tab
from support.plan_scenes import noop, plan
from support.showing import Showing

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

    from hibernator.api.kind import Kind

ASKED_FOR = os.environ.get("HIBERNATOR_LIVE_SECONDS")
SECONDS = float(ASKED_FOR or 6)
WITHIN = 1.0  # seconds
WRITERS = 4
PAUSE = 0.05  # seconds between two changes of one writer
# How long the page waited for itself, in milliseconds: much, where tests of others have the machine, too.
FETCHED = "Math.max(...performance.getEntriesByName(location.href, 'resource').map(one => one.duration))"
# When the page showed how new a state. Both clocks are this machine's.
WATCH = """() => {
  window.shown = [];
  new MutationObserver(() => shown.push([Date.now(), document.body.dataset.version]))
    .observe(document.body, { attributes: true, attributeFilter: ["data-version"] });
}"""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@dataclass
class Writers:
    """They change plans and exceptions, each its own, until they are told to stop."""

    scene: Showing
    client: Client
    written: list[tuple[float, int, int]] = field(default_factory=list)  # when, topic, resourceVersion
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def write(self, name: str, topic: int) -> None:
        kind: Kind[Any] = (PLANS, EXCEPTIONS)[topic]
        for number in count():
            patch: dict[str, Any] = {"metadata": {"labels": {"turn": str(number)}}}
            if topic == 0 and number % 10 == 0:  # the operator has something to say to that
                patch["spec"] = {"dryRun": number % 20 == 0}
            found = await self.client.patch(kind, name, self.scene.namespace, patch, resource_version=None)
            self.written.append((time(), topic, int(found.metadata.resource_version)))
            if self.done.is_set():
                return
            await asyncio.sleep(PAUSE)

    def latencies(self, shown: list[tuple[float, str]]) -> list[float]:
        """How long after each change the page had it, in order of size."""
        found = []
        for topic in (0, 1):
            at = [moment / 1000 for moment, _ in shown]
            versions = [int(version.split(".")[topic]) for _, version in shown]
            for moment, among, version in self.written:
                if among == topic:
                    place = bisect_left(versions, version)
                    found.append(at[place] - moment if place < len(at) else float("inf"))
        return sorted(found)


async def settled(page: "Page", version: int) -> None:
    await page.wait_for_function("v => +document.body.dataset.version.split('.')[0] >= v", arg=version)


async def typing(found: Tab, done: asyncio.Event) -> str:
    """Type on and on; what was typed."""
    await found.page.focus("#reason")
    text = ""
    for letter in "it has to stay awake, and this is why: " * 20:
        await found.page.keyboard.type(letter)
        text += letter
        if done.is_set():
            break
        await asyncio.sleep(PAUSE)
    await done.wait()
    return text


async def test_while_everything_changes_each_change_is_shown_within_a_second_and_typing_goes_on(
    scene: Showing, chromium: "Browser"
) -> None:
    desk, site = scene.desk, scene.desk.webs.replicas[0]
    base_url, namespace = desk.webs.settings.base_url, scene.namespace
    names = [f"restless-{number}" for number in range(WRITERS - 1)]
    desk.scene.create(*(plan(noop("x"), name=name) for name in names))
    asked = await desk.shown(desk.ask(BOB))
    uses = [(name, 0) for name in names] + [("release-reports", 1)]
    open_before = site.metrics.value(OPEN_PAGES)
    async with Client(credentials.find(str(desk.scene.cluster.kubeconfig))) as client:
        writers = Writers(scene, client)
        files, tasks = open_files(), len(asyncio.all_tasks())
        async with tab(chromium, base_url) as alice, tab(chromium, base_url) as bob:
            await alice.open("/plans?q=restless", ALICE, "Alice Tran")
            await bob.open(asked, BOB)
            await alice.page.evaluate(WATCH)
            await alice.page.fill("[data-search]", "half a wo")
            async with asyncio.TaskGroup() as group:
                for name, topic in uses:
                    group.create_task(writers.write(name, topic))
                typed = group.create_task(typing(bob, writers.done))
                await asyncio.sleep(SECONDS)
                writers.done.set()
            await settled(alice.page, max(version for _, topic, version in writers.written if not topic))
            await alice.page.wait_for_function(
                "v => +document.body.dataset.version.split('.')[1] >= v",
                arg=max(version for _, topic, version in writers.written if topic),
            )
            latencies = writers.latencies(await alice.page.evaluate("shown"))
            fetched = await alice.page.evaluate(FETCHED) / 1000
            assert await alice.page.input_value("[data-search]") == "half a wo"
            assert await alice.page.evaluate("document.activeElement.matches('[data-search]')")
            assert await bob.page.input_value("#reason") == typed.result()
            assert await bob.page.evaluate("document.activeElement.id") == "reason"
            assert await alice.page.is_hidden("#stale")
            assert site.metrics.value(OPEN_PAGES) == open_before + 2
        await desk.operator.until(lambda: site.metrics.value(OPEN_PAGES) == open_before)
    parts = (f"p{part} {latencies[len(latencies) * part // 100 - 1]:.2f} s" for part in (50, 95, 99, 100))
    print(f"\n{len(latencies)} changes in {SECONDS:g} s, shown after", ", ".join(parts))  # noqa: T201  who asks wants to know
    print(f"the slowest answer took {fetched:.2f} s")  # noqa: T201
    assert len(latencies) > 5 * SECONDS
    assert latencies[-1] < (WITHIN if ASKED_FOR else WITHIN + 5 * fetched)
    await desk.operator.until(lambda: open_files() <= files + 4)  # kept for the next request
    assert len(asyncio.all_tasks()) <= tasks + 4
    await asyncio.to_thread(desk.scene.cluster.kubectl, "delete", "hibernateplans", *names, "-n", namespace)
