"""Approvals in Slack: how soon a click counts, and how long it takes to ask a thousand people.

    python bench/slack.py [DECISIONS] [PEOPLE] [TEMPO]     60, 1,000 and 20 by default

Operator and web process run as they are shipped, each a process of its own. Slack is the strict one of the
tests, on loopback: the way to the real one comes on top. People decide one after the other, in turns by a
click and by `kubectl patch`. *Click* is from the moment at which Slack sends the signed click to the moment
at which a watch shows the exception Active; *acknowledged* is until Slack has its answer. *kubectl patch* is
from the start of the command to the same moment.

Then everybody in a role of a thousand is asked at once. Slack allows 50 look-ups of users a minute, and as
many new conversations: *Slack's limit* is what that comes to. TEMPO makes Slack's minutes pass faster: at 20,
a minute takes 3 s, so all that Slack lets through comes twenty times as fast as it ever will. At 1, Slack's
own pace, it takes twenty minutes. Meanwhile, others are asked and decide, which shows whether anybody waits
for the thousand.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec
from whenever import Instant

import _paths  # noqa: F401 — for the imports from `support`
from _table import show
from approvals import each, operator, percentile
from hibernator.api.core import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from hibernator.api.crd import manifest
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.approvals import decision
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import Cluster, running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials, logging
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.messages.slack_blocks import APPROVE
from hibernator.web.slack import PATH
from support.slack import BOT_TOKEN, SECRET, TEAM, LoopbackSlack, loopback_slack
from web import free_port, process, web_arguments

WHERE, HOME = "bench", "hibernator-system"
LOOK_UPS = 50  # a minute: the third tier of Slack
PAUSE = 0.1  # seconds between two people who decide
A_MOMENT = 0.01
EVERY_DAY = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]


@dataclass
class Taken:
    """Seconds, by what took them."""

    acknowledged: list[float] = field(default_factory=list)
    click: list[float] = field(default_factory=list)
    kubectl: list[float] = field(default_factory=list)

    def rows(self, when: str = "") -> list[list[object]]:
        return [
            [f"{words}{when}, p{percent}", percentile(found, percent), "ms"]
            for words, found in (
                ("click acknowledged", self.acknowledged),
                ("click to Active", self.click),
                ("kubectl patch to Active", self.kubectl),
            )
            for percent in (50, 95)
        ]


@dataclass
class Desk:
    cluster: Cluster
    client: Client
    slack: LoopbackSlack
    session: aiohttp.ClientSession
    exceptions: Cache[ScheduleException]
    url: str
    active: dict[str, asyncio.Event] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exceptions.on_change(self._saw)

    def _saw(self, _old: ScheduleException | None, new: ScheduleException | None) -> None:
        if new and new.status.state == "Active":
            self.active[new.metadata.name].set()

    async def ask(self, name: str, **approvers: list[str]) -> None:
        """A plan, and an exception of it that waits for these people."""
        self.active[name] = asyncio.Event()
        window = {"start": "20:00", "end": "06:00", "daysOfWeek": EVERY_DAY}
        plan = {
            "schedule": {"timezone": "Europe/Berlin", "offHours": [window]},
            "targets": [{"name": "nothing", "type": "noop"}],
            "execution": {"strategy": {"type": "Sequential"}},
        }
        now = Instant.now()
        wanted = {
            "planRef": {"name": name},
            "type": "suspend",
            "windows": [window | {"end": "23:00"}],
            "reason": "Release night",
            "validFrom": now.add(hours=1).format_iso(unit="second"),
            "validUntil": now.add(hours=49).format_iso(unit="second"),
            "approvalRequired": True,
        }
        notes = {"annotations": {"hibernator.ardikabs.com/requested-by": "alice@company.com"}}
        await self.client.create(PLANS, {"metadata": {"name": name}, "spec": plan}, WHERE)
        body = {"metadata": {"name": name} | notes, "spec": wanted | approvers}
        await self.client.create(EXCEPTIONS, body, WHERE)

    async def informed(self, people: list[str], *, already: int = 0) -> None:
        """Wait until each of them has been asked about one thing more."""
        users = [f"D{self.slack.user_of(one)[1:]}" for one in people]
        while any(len(self.slack.messages.get(one, ())) <= already for one in users):  # noqa: ASYNC110 — of others
            await asyncio.sleep(A_MOMENT)

    async def click(self, name: str, who: str, taken: Taken) -> None:
        message = self.slack.questions(who)[-1]
        body, headers = self.slack.signed(self.slack.click(who, message, APPROVE))
        began = time.perf_counter()
        async with self.session.post(f"{self.url}{PATH}", data=body, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
        taken.acknowledged.append(time.perf_counter() - began)
        await self.active[name].wait()
        taken.click.append(time.perf_counter() - began)

    async def patch(self, name: str, who: str, taken: Taken) -> None:
        found = self.exceptions.get(WHERE, name)
        assert found
        about = decision.matter_of(found)
        entry = {
            "approvedBy": who,
            "approvedAt": Instant.now().format_iso(unit="second"),
            "uid": about.uid,
            "specHash": about.spec_hash,
        }
        change = msgspec.json.encode({"status": {"approvals": [entry]}}).decode()
        began = time.perf_counter()
        given = ("patch", "scheduleexception", name, "-n", WHERE, "--subresource=status", "--type=merge")
        await asyncio.to_thread(self.cluster.kubectl, *given, "-p", change)
        await self.active[name].wait()
        taken.kubectl.append(time.perf_counter() - began)

    async def decide_in_turns(self, names: list[str]) -> Taken:
        taken = Taken()
        for number, name in enumerate(names):
            act = self.patch if number % 2 else self.click
            await act(name, address(name), taken)
            await asyncio.sleep(PAUSE)
        return taken


def address(name: str) -> str:
    return f"{name}@company.com"


async def decisions(desk: Desk, count: int) -> list[list[object]]:
    names = [f"decision-{number}" for number in range(count)]
    for name in names:
        desk.slack.person(address(name))
    await each(desk.ask(name, approverEmails=[address(name)]) for name in names)
    await desk.informed([address(name) for name in names])
    return (await desk.decide_in_turns(names)).rows()


async def crowd(desk: Desk, people: list[str], count: int, tempo: float) -> list[list[object]]:
    """Ask everybody at once, while others whom Slack knows are asked and decide."""
    others = [f"other-{number}" for number in range(count)]
    known = [f"known-{number}" for number in range(count)]
    await each(desk.ask(name, approverEmails=[address(name)]) for name in others)
    await each(desk.ask(name, approverEmails=[address(name)]) for name in known)
    await desk.informed([address(name) for name in (*others, *known)])
    for method in ("users.lookupByEmail", "conversations.open"):
        desk.slack.limits[method] = (LOOK_UPS, 60 / tempo)
    began = time.perf_counter()
    await desk.ask("everybody", approvalRequiredRoles=["everybody"])
    async with asyncio.TaskGroup() as group:
        meanwhile = group.create_task(desk.decide_in_turns(others))
        neighbours = group.create_task(asked_meanwhile(desk, known))
        await desk.informed(people)
        seconds = time.perf_counter() - began
        is_during = meanwhile.done() and neighbours.done()
    least = (len(people) - 1) // LOOK_UPS * 60 / tempo
    assert all(len(desk.slack.questions(one)) == 1 for one in people)
    assert is_during, "the thousand were asked before the others had decided"
    return [
        [f"{len(people):,} people asked, a minute of Slack in {60 / tempo:g} s", seconds, "s"],
        ["Slack's limit for them at that pace", least, "s"],
        ["Slack's limit for them", least * tempo, "s"],
        ["times Slack said to wait", len(desk.slack.refused), ""],
        *meanwhile.result().rows(" meanwhile"),
        ["another person asked meanwhile, p95", percentile(neighbours.result(), 95), "ms"],
    ]


async def asked_meanwhile(desk: Desk, known: list[str]) -> list[float]:
    taken: list[float] = []
    for number, name in enumerate(known):
        began = time.perf_counter()
        await desk.ask(f"meanwhile-{number}", approverEmails=[address(name)])
        await desk.informed([address(name)], already=1)
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE)
    return taken


@asynccontextmanager
async def desk_of(cluster: Cluster, folder: Path, people: list[str]) -> AsyncIterator[Desk]:
    for name, content in (("bot", BOT_TOKEN), ("signing", SECRET)):
        (folder / name).write_text(content)
    url = f"http://127.0.0.1:{free_port()}"
    async with (
        loopback_slack(pace=1.0) as slack,
        Client(credentials.find(str(cluster.kubeconfig))) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        await each(client.create(CUSTOM_RESOURCE_DEFINITIONS, one) for one in map(manifest, DEFINITIONS))
        for name in (WHERE, HOME):
            await client.create(NAMESPACES, {"metadata": {"name": name}})
        for one in people:
            slack.person(one)
        roles = {"metadata": {"name": "hibernator-roles"}, "data": {"everybody": "\n".join(people)}}
        await client.create(CONFIG_MAPS, roles, HOME)
        cluster.until_established()
        exceptions = Cache(client, EXCEPTIONS, WHERE)
        following = group.create_task(exceptions.run())
        await exceptions.wait_synced()
        arguments, ready = web_arguments(cluster, folder, url)
        ours = (
            *(
                f"--slack-bot-token-file={folder / 'bot'}",
                f"--slack-signing-secret-file={folder / 'signing'}",
            ),
            *(f"--slack-api-url={slack.url}/api/", "--slack-mode=buttons", f"--slack-team-id={TEAM}"),
        )
        async with operator(cluster), process(*arguments, *ours, ready=ready):
            yield Desk(cluster, client, slack, session, exceptions, url)
        following.cancel()


async def main(count: int, many: int, tempo: float) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    people = [f"person-{number}@company.com" for number in range(many)]
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "cluster", binaries) as cluster:
        async with desk_of(cluster, Path(folder), people) as desk:
            rows = await decisions(desk, count)
            for number in range(count // 2):
                for name in ("other", "known"):
                    desk.slack.person(address(f"{name}-{number}"))
            rows += await crowd(desk, people, count // 2, tempo)
    show(
        f"{count} decisions, half by a click in Slack and half by kubectl; then {many:,} people are asked",
        ["", "", "unit"],
        rows,
        packages=["slack-sdk", "starlette", "uvicorn", "aiohttp"],
    )


if __name__ == "__main__":
    logging.configure("error")
    decided, asked, faster = (*sys.argv[1:], *("60", "1000", "20")[len(sys.argv) - 1 :])
    asyncio.run(main(int(decided), int(asked), float(faster)))
