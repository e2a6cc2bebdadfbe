"""The proof of the whole: what the trail has is what the API server saw, whoever died meanwhile.

Scalers, a plan and exceptions live through days that take seconds, while the operator is killed again and
again, the database goes away and comes back, and people meddle. HIBERNATOR_DEEP makes it longer by so much.
"""

import asyncio
import itertools
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from whenever import Instant, TimeDelta

from hibernator.api.core import DEPLOYMENTS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.kind import Kind
from hibernator.api.timewindowscaler import SCALERS
from hibernator.approvals.decision import Matter, NotAcceptedError, decide
from hibernator.approvals.people import Directory
from hibernator.audit.chain import Entry
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.verification import verify
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running as control_plane
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.clock import ScaledClock
from support.audit_prologue import MUSTS, Prologue
from support.cluster import ClusterInTest
from support.connector_scenes import ConnectorScene
from support.exception_scenes import EVERY_DAY, exception
from support.mortal_operator import Operators
from support.plan_scenes import PlanScene, noop, plan, workloads
from support.postgres import Postgres
from support.scaler_scenes import scaler, workload
from support.witness import Happened, Witness

MONDAY = Instant("2026-03-02T07:00:00Z")
SPEED = 3600.0  # an hour in a second
STEPS = 18 * int(os.environ.get("HIBERNATOR_DEEP", "1"))
PEOPLES = (23, 29, 31, 37)  # numbers of replicas that no schedule asks for
SCALINGS = {"scaled", "drift.corrected"}
TARGETS = {"hours": "web", "slow": "api"}  # of the scalers


class Outage:
    """A database that goes away and comes back: PostgreSQL stops, SQLite is locked by somebody else."""

    def __init__(self, database: str, postgres: Postgres | None) -> None:
        self._database = database
        self._postgres = postgres
        self._lock: sqlite3.Connection | None = None
        self.is_away = False
        self.count = 0

    async def begin(self) -> None:
        self.is_away = True
        self.count += 1
        if self._postgres:
            await asyncio.to_thread(self._postgres.stop)
        else:
            file = self._database.removeprefix("sqlite:///")
            self._lock = sqlite3.connect(file, timeout=30, isolation_level=None)
            self._lock.execute("BEGIN IMMEDIATE")

    async def end(self) -> None:
        self.is_away = False
        if self._postgres:
            await asyncio.to_thread(self._postgres.start)
        elif self._lock:
            self._lock.close()
            self._lock = None


class People:
    """Those who meddle, each time in another way."""

    def __init__(self, scene: PlanScene, client: Client, clock: ScaledClock, chance: Random) -> None:
        self._scene = scene
        self._client = client
        self._clock = clock
        self._chance = chance
        self._made = 0
        self._flags: dict[str, bool] = {}
        acts = [self._drift, self._pause, self._suspend, self._spoil, self._ask, self._retry]
        self._acts = itertools.cycle([*acts, self._drift, self._pause, self._suspend, self._ask])

    async def meddle(self) -> None:
        await next(self._acts)()

    async def _drift(self) -> None:
        replicas = self._chance.choice(PEOPLES)
        name = self._chance.choice([*TARGETS.values()])
        await self._patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}})

    async def _pause(self) -> None:
        body = {"spec": {"pause": self._toggled("pause")}}
        await self._patch(SCALERS, "hours", body)

    async def _spoil(self) -> None:
        zone = "Mars/Olympus_Mons" if self._toggled("zone") else "UTC"
        await self._patch(SCALERS, "slow", {"spec": {"timezone": zone}})

    async def _suspend(self) -> None:
        body = {"spec": {"suspend": self._toggled("suspend")}}
        await self._patch(PLANS, "nights", body)

    async def _retry(self) -> None:
        mark = {"hibernator.ardikabs.com/retry": str(self._chance.random())}
        await self._patch(PLANS, "nights", {"metadata": {"annotations": mark}})

    async def _ask(self) -> None:
        """For an exception, every other time with somebody's approval, which anybody may try to give."""
        self._made += 1
        name, now = f"ask-{self._made}", self._clock.now().round("second", mode="floor")
        spec: dict[str, Any] = {
            "type": "suspend",
            "validFrom": now.format_iso(),
            "validUntil": (now + TimeDelta(hours=12)).format_iso(),
            "windows": [{"start": "18:00", "end": "22:00", "daysOfWeek": ["Sunday"]}],
        }
        if self._made % 2:
            self._scene.create(exception(name, "nights", **spec))
            return
        needed: dict[str, Any] = {"approvalRequired": True, "approverEmails": ["bob@company.com"]}
        self._scene.create(exception(name, "nights", **spec, **needed))
        for who in self._chance.sample(["bob@company.com", "mallory@company.com"], k=2):
            matter, person = Matter(name, self._scene.namespace), Directory().person(who)
            try:
                await decide(self._client, matter, person, "approve", "cli", now=self._clock.now())
            except NotAcceptedError:
                return  # it was over before this one came

    async def _patch(self, kind: Kind[Any], name: str, body: dict[str, Any]) -> None:
        await self._client.patch(kind, name, self._scene.namespace, body, resource_version=None)

    def _toggled(self, flag: str) -> bool:
        self._flags[flag] = not self._flags.get(flag, False)
        return self._flags[flag]


def people_the_scene(scene: PlanScene) -> None:
    shop = workload(name="shop", replicas=3)
    shop["metadata"]["labels"] = {"tier": "shop"}
    off_hours = [
        {"start": start, "end": end, "daysOfWeek": EVERY_DAY}
        for start, end in (("01:00", "05:00"), ("10:00", "13:00"), ("18:00", "21:00"))
    ]
    nights = plan(
        workloads("shop", scene.namespace, workloadSelector={"matchLabels": {"tier": "shop"}}),
        noop("drill", items=2, failureMode="sleep", failures=1),
        name="nights",
        schedule={"timezone": "UTC", "offHours": off_hours},
        behavior={"mode": "BestEffort", "retries": 2},
    )
    scene.create(workload(name="web"), workload(name="api"), shop, nights)
    half = [
        {"days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "start": start, "end": end, "replicas": n}
        for start, end, n in (("06:00", "10:00", 4), ("13:00", "17:00", 5), ("20:00", "23:00", 3))
    ]
    scene.apply(scaler("hours", windows=half))
    reference = {"kind": "Deployment", "name": "api"}
    scene.apply(scaler("slow", targetRef=reference, windows=half, gracePeriodSeconds=1800))


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    """The operators register their webhooks here, and leave them behind."""
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with control_plane(tmp_path_factory.mktemp("own") / "cluster", binaries) as up:
        cluster = ClusterInTest(up.layout, up.state)
        cluster.install_crds()
        yield cluster


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_the_trail_has_what_the_api_server_saw_over_deaths_of_operator_and_database(
    own_cluster: ClusterInTest, tmp_path: Path, kind: str, tell: Callable[[str], None]
) -> None:
    namespace = own_cluster.create_namespace()
    scene, chance = ConnectorScene(own_cluster, namespace), Random(f"{kind} 1")
    prologue = Prologue(scene)
    server = Postgres() if kind == "postgresql" else None
    if server:
        server.start()
    url = await server.create_database() if server else f"sqlite:///{tmp_path}/audit.db"
    clock, outage = ScaledClock(SPEED, MONDAY), Outage(url, server)
    try:
        with (
            Witness(own_cluster, namespace) as witness,
            Operators(own_cluster.kubeconfig, namespace, url) as operators,
        ):
            async with Client(credentials.find(str(own_cluster.kubeconfig))) as client:
                people_the_scene(scene)
                operators.start(clock.now(), SPEED)
                await what_must_happen(prologue, operators, outage, clock, witness, url)
                await live(witness, operators, outage, People(scene, client, clock, chance), clock, chance)
            await at_rest(operators, outage, clock)
            rows = await agreed(witness, url)
            assert operators.stop() == 0
        denied = await denials(url)
        tell(
            f"audit trail on {kind}: {len(rows)} transitions of {len({row.type for row in rows})} types, "
            f"{operators.deaths} deaths, {outage.count} outages"
        )
        assert operators.deaths >= STEPS // 5
        assert outage.count >= STEPS // 10
        await assert_whole(url, rows)
        assert_refusals_are_told(prologue.offended, denied)
        assert MUSTS - {row.type for row in (*rows, *denied)} == set()
    finally:
        if server:
            server.__exit__(None, None, None)


async def what_must_happen(
    prologue: Prologue,
    operators: Operators,
    outage: Outage,
    clock: ScaledClock,
    witness: Witness,
    url: str,
) -> None:
    await prologue.arrive()
    await prologue.remedy()
    await prologue.meet_the_webhook()
    await prologue.leave()
    await agreed(witness, url, ("gone", "here"))  # without a finalizer, what was not told goes with an object
    operators.kill()
    await prologue.leave_unseen()
    operators.start(clock.now(), SPEED)
    await outage.begin()
    await prologue.pass_through()
    operators.kill()
    operators.start(clock.now(), SPEED)


async def live(
    witness: Witness,
    operators: Operators,
    outage: Outage,
    people: People,
    clock: ScaledClock,
    chance: Random,
) -> None:
    """Something terrible, or somebody, comes after each few changes."""
    for step in range(STEPS):
        await witness.hears(chance.randint(1, 9))
        match (*"kkk", *"pppp")[chance.randrange(7)] if step % 4 else "o":
            case "k":
                operators.kill()
                if chance.random() < 0.3:
                    await people.meddle()
                operators.start(clock.now(), SPEED)
            case "o":
                await (outage.end() if outage.is_away else outage.begin())
            case _:
                await people.meddle()


async def at_rest(operators: Operators, outage: Outage, clock: ScaledClock) -> None:
    """Let the last operator live in a noon that lasts, when everything is over that had an end."""
    if outage.is_away:
        await outage.end()
    operators.kill()
    day = clock.now().to_tz("UTC").date().add(days=3)
    operators.start(Instant(f"{day.format_iso()}T12:00:00Z"), 1.0)


async def agreed(witness: Witness, url: str, names: Collection[str] = ()) -> list[Entry]:
    """Return the rows once they are what was seen, of some objects or of all.

    What is missing, or there twice, stays so for ever.
    """
    problem = ""
    try:
        async with asyncio.timeout(120):
            while True:
                rows = await read(url)
                problem = difference(witness, rows, names)
                if not problem:
                    return rows
                await asyncio.sleep(0.2)  # the operator and the witness may both be a moment behind
    except TimeoutError:
        pytest.fail(problem)


async def read(url: str) -> list[Entry]:
    async with Database(url, read_only=True) as database:
        try:
            rows = await Reader(database).page(Filter(), limit=100_000)
        except AuditUnavailable:
            return []
    return [row for row in rows if row.resource.uid and row.category != "security"]


async def denials(url: str) -> list[Entry]:
    async with Database(url, read_only=True) as database:
        return list(await Reader(database).page(Filter(type="admission.denied")))


def assert_refusals_are_told(offended: Mapping[str, bool], denied: list[Entry]) -> None:
    """Each refusal that somebody heard once. What took the webhook too long was let in, and may be told."""
    told = Counter(row.resource.name for row in denied)
    for name, refused in offended.items():
        assert told[name] == 1 if refused else told[name] <= 1
    assert told.keys() <= offended.keys()


def difference(witness: Witness, rows: list[Entry], names: Collection[str]) -> str:
    """What the trail and the witness do not agree about, as far as it is about these objects; none is all."""
    told: Counter[Happened] = Counter()
    for row in rows:
        if row.action not in SCALINGS:
            told[row.resource.kind, row.resource.name, row.action] += 1
    seen = witness.happened()
    if names:
        seen, told = (
            Counter({one: n for one, n in all_.items() if one[1] in names}) for all_ in (seen, told)
        )
        return "" if seen == told else f"missing: {seen - told}; too many: {told - seen}"
    if told != seen:
        return f"missing: {seen - told}; too many: {told - seen}"
    for name, target in TARGETS.items():
        saw = [(old, new) for old, new in witness.scalings(target) if new not in PEOPLES]
        mine = [
            msgspec.json.decode(row.data)
            for row in rows
            if row.resource.name == name and row.action in SCALINGS
        ]
        mine.sort(key=lambda data: int(data["scaling"]))
        if [(data["from"], data["to"]) for data in mine] != saw:
            return f"scalings of {target}: saw {saw}, told {mine}"
    return ""


async def assert_whole(url: str, rows: list[Entry]) -> None:
    async with Database(url, read_only=True) as database:
        assert (await verify(database)).problem == ""
    assert len({row.id for row in rows}) == len(rows)
    assert "timewindowscaler.scaled" in {row.type for row in rows}
    for row in rows:
        if row.type == "timewindowscaler.drift.corrected":
            assert msgspec.json.decode(row.data)["from"] in PEOPLES
