"""How many events a second the trail takes in, beside bare batched inserts of the same rows in the same run.

    python bench/audit.py

SQLite in a file and a real PostgreSQL server, both with every commit forced to the disk. Wall time, because a
database is another process; the ways take turns in each round, so that a slow moment hits all of them.

- *bare insert*: the driver alone, `executemany` of rows that were made beforehand into the same tables with
  the same indexes, in transactions of the same size. No chain, no look for repeats.
- *bare copy*: the same by PostgreSQL's COPY, which the trail uses as well.
- *without indexes*: bare inserts into a table that nobody could search.
- *trail*: `record` for each event and one `flush`: ids looked up, events chained and hashed, all of it.

Then what a controller pays: `record` of a new event and of one that the trail has, and `record_now` of a
single one, which waits for the commit. And how fast `verify` walks.
"""

import asyncio
import shutil
import sqlite3
import statistics
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
from whenever import Instant

import _paths  # noqa: F401 — puts the tests' support on the path
from _table import show
from hibernator.audit.chain import GENESIS, Entry, Link, append
from hibernator.audit.database import Database
from hibernator.audit.event import Actor, AuditEvent, Resource, as_text, event
from hibernator.audit.migrate import migrate
from hibernator.audit.schema import COLUMNS, to_values
from hibernator.audit.store import ChainStore, make_partition, month_of
from hibernator.audit.trail import BATCH, Trail
from hibernator.audit.verification import verify
from hibernator.kube import logging
from support.postgres import Postgres

COUNT = 12_000
ROUNDS = 5
NOW = Instant.from_utc(2026, 3, 2, 12)


def events(start: int) -> list[AuditEvent]:
    """Events of a usual size, no two alike."""
    return [
        event(
            "hibernateplan.target.slept",
            Resource(
                group="hibernator.ardikabs.com",
                kind="HibernatePlan",
                namespace=f"team-{number % 50}",
                name=f"plan-{number % 1000}",
                uid=f"5f0c8f2e-9b1d-4c55-8a52-{number % 1000:012}",
            ),
            at=NOW,
            identity=(number, "web"),
            actor=Actor(type="user", id=f"user-{number % 200}", email=f"user-{number % 200}@example.com"),
            correlation_id=f"cycle-{number}",
            data={"cycle": number, "target": "web", "items": 12, "saved": {"cpu": "4", "memory": "16Gi"}},
            duration_ms=number,
        )
        for number in range(start, start + COUNT)
    ]


def chained(recorded: list[AuditEvent], after: int) -> list[Entry]:
    link, made = Link(after, GENESIS), []
    for found in recorded:
        made.append(append(link, found, NOW))
        link = made[-1].link
    return made


class SqliteSide:
    """The bare ways on SQLite."""

    name = "SQLite"
    ways = ("bare insert", "bare insert without indexes")

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def url(self) -> str:
        return f"sqlite:///{self._folder}/{uuid.uuid4()}.db"

    async def bare(self, way: str, url: str, entries: list[Entry]) -> float:
        table = "bare" if "without" in way else "audit_events"
        values = [to_values(entry, as_text) for entry in entries]
        return await asyncio.to_thread(self._insert, url.removeprefix("sqlite:///"), table, values)

    def _insert(self, file: str, table: str, values: list[tuple[object, ...]]) -> float:
        connection = sqlite3.connect(file, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 — our names
        began = time.perf_counter()
        for batch in batches(values):
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(insert, batch)
            connection.execute("COMMIT")
        took = time.perf_counter() - began
        connection.close()
        return took


class PostgresSide:
    """The bare ways on PostgreSQL."""

    name = "PostgreSQL"
    ways = ("bare insert", "bare insert without indexes", "bare copy")

    def __init__(self, server: Postgres) -> None:
        self._server = server

    async def url(self) -> str:
        return await self._server.create_database()

    async def bare(self, way: str, url: str, entries: list[Entry]) -> float:
        table = "bare" if "without" in way else "audit_events"
        values = [to_values(entry, Instant.to_stdlib) for entry in entries]
        marks = ", ".join(f"${number}" for number in range(1, len(COLUMNS) + 1))
        connection = await asyncpg.connect(url)
        insert = f"INSERT INTO {table} VALUES ({marks})"  # noqa: S608 — our names
        began = time.perf_counter()
        for batch in batches(values):
            async with connection.transaction():
                if way == "bare copy":
                    await connection.copy_records_to_table(table, records=batch)
                else:
                    await connection.executemany(insert, batch)
        took = time.perf_counter() - began
        await connection.close()
        return took


def batches(values: list[tuple[object, ...]]) -> Iterator[list[tuple[object, ...]]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]


async def through_the_trail(trail: Trail, recorded: list[AuditEvent]) -> float:
    began = time.perf_counter()
    for found in recorded:
        trail.record(found)
    await trail.flush(patience=600)
    return time.perf_counter() - began


async def measure(side: SqliteSide | PostgresSide) -> tuple[dict[str, float], list[object]]:
    """The rate of each way, and what a controller pays."""
    bare = {way: await empty_table(side) for way in side.ways}
    async with Database(await side.url()) as database:
        trail = Trail(ChainStore(database, now=lambda: NOW, cluster="bench"), identity="bench")
        trail.lead()
        writer = asyncio.create_task(trail.run())
        await trail.record_now(events(-1)[0])
        times: dict[str, list[float]] = {way: [] for way in (*side.ways, "trail")}
        for turn in range(ROUNDS):
            recorded = events(turn * COUNT)
            entries = chained(recorded, after=turn * COUNT)
            for way in side.ways:
                times[way].append(await side.bare(way, bare[way], entries))
            times["trail"].append(await through_the_trail(trail, recorded))
        paid = await what_a_controller_pays(trail, database)
        writer.cancel()
        await asyncio.wait([writer])
    return {way: COUNT / statistics.median(took) for way, took in times.items()}, [side.name, *paid]


async def empty_table(side: SqliteSide | PostgresSide) -> str:
    """A database with the tables of the trail, and one like it without indexes."""
    url = await side.url()
    async with Database(url) as database:
        await migrate(database)
        async with database.begin() as connection:
            if database.is_postgres:
                await make_partition(connection, month_of(NOW))
            await connection.exec_driver_sql("CREATE TABLE bare AS SELECT * FROM audit_events")
    return url


async def what_a_controller_pays(trail: Trail, database: Database) -> list[float]:
    recorded = events(COUNT * ROUNDS)
    began = time.perf_counter()
    for found in recorded:
        trail.record(found)
    new = (time.perf_counter() - began) / COUNT
    await trail.flush(patience=600)
    began = time.perf_counter()
    for found in recorded:
        trail.record(found)
    known = (time.perf_counter() - began) / COUNT
    waits = []
    for found in events(COUNT * (ROUNDS + 1))[:100]:
        began = time.perf_counter()
        await trail.record_now(found)
        waits.append(time.perf_counter() - began)
    began = time.perf_counter()
    verdict = await verify(database)
    walked = verdict.end.sequence / (time.perf_counter() - began)
    assert verdict.problem == ""
    return [new * 1e6, known * 1e6, statistics.median(waits) * 1e3, walked]


async def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="hibernator-bench-"))
    rates: list[list[object]] = []
    paid: list[list[object]] = []
    try:
        with Postgres(durable=True) as server:
            for side in (SqliteSide(folder), PostgresSide(server)):
                measured, costs = await measure(side)
                rates += [
                    [f"{side.name}, {way}", rate, f"{measured['trail'] / rate:.0%}"]
                    for way, rate in measured.items()
                ]
                paid.append(costs)
    finally:
        shutil.rmtree(folder)
    packages = ("sqlalchemy", "aiosqlite", "asyncpg")
    show(
        f"Audit: {COUNT:,} events in transactions of {BATCH}, median of {ROUNDS} rounds",
        ("way", "events/s", "the trail does"),
        rates,
        packages=packages,
    )
    show(
        "Audit: what a controller pays, and how fast a check walks",
        ("database", "record new, µs", "record known, µs", "record_now, ms", "verify, events/s"),
        paid,
        packages=packages,
    )


if __name__ == "__main__":
    logging.configure("error")
    asyncio.run(main())
