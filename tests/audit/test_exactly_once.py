"""Every transition is in the trail once, whenever the operator or the database dies."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlalchemy import delete, event as sqlalchemy_event, update
from whenever import Instant, YearMonth

from hibernator.audit.chain import GENESIS
from hibernator.audit.database import Database
from hibernator.audit.event import transition_id
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import CHAIN, INBOX
from hibernator.audit.store import ChainStore, Superseded, remove_before
from hibernator.audit.verification import verify
from support.audit_lives import LEFT_BY_OTHERS, OWN, write
from support.mortal import Fate, Nursery
from support.postgres import Postgres
from support.trail import NOON, eventually, ids, sleeps, slept


@pytest.fixture(scope="module")
def writers() -> Iterator[Nursery]:
    with Nursery("support.audit_lives:write") as nursery:
        yield nursery


@pytest.fixture(scope="module")
def starters() -> Iterator[Nursery]:
    with Nursery("support.audit_lives:start") as nursery:
        yield nursery


@pytest.fixture(scope="module")
def operators() -> Iterator[Nursery]:
    with Nursery("support.audit_lives:operate") as nursery:
        yield nursery


async def test_a_writer_killed_between_any_two_statements_is_healed_by_the_next(
    url: str, database: Database, writers: Nursery
) -> None:
    step, died = 0, True
    while died:
        step += 1
        await forget_everything(database)
        died = writers.live(url, step=step)
        assert (await verify(database)).problem == "", f"killed before step {step}"
        await write(Fate(), [url])
        assert (await verify(database)).problem == "", f"healed after step {step}"
        entries = await Reader(database).page(Filter())
        told = sorted(entry.id for entry in entries if entry.type != "audit.pruned")
        assert told == sorted(found.id for found in OWN + LEFT_BY_OTHERS), f"healed after step {step}"
        assert len(entries) == len(told) + 1, "the removal of January is told once"
    assert step > 20, "there was something to die in"


async def forget_everything(database: Database) -> None:
    """Make the database as it was after its first migration."""
    start = {"head_sequence": 0, "head_hash": GENESIS, "anchor_sequence": 0, "anchor_hash": GENESIS}
    before = Instant.from_utc(1970, 1, 1)
    async with database.begin() as connection:
        await remove_before(connection, YearMonth(9999, 12))
        await connection.execute(delete(INBOX))
        await connection.execute(update(CHAIN).values(**start, head_recorded_at=before, kept_from=before))


async def test_a_first_start_killed_anywhere_leaves_no_half_made_tables(
    empty_url: str, starters: Nursery
) -> None:
    step = 1
    while starters.live(empty_url, step=step):
        step += 1
    async with Database(empty_url) as database:
        assert (await verify(database)).problem == ""
        assert await ids(database) == [told.id for told in OWN]
    assert step > 10, "there was something to die in"


@pytest.mark.parametrize("seed", [1, 2])
async def test_an_operator_killed_at_random_tells_every_transition_once(
    url: str, tmp_path: Path, operators: Nursery, seed: int
) -> None:
    file = tmp_path / "object.json"
    file.write_text(json.dumps({"cycle": 0, "unaudited": [], "truth": []}))
    lives = itertools.count()
    while operators.live(url, str(file), "60", seed=seed * 1000 + next(lives)):
        pass
    assert next(lives) > 3, "it died a few times"
    await assert_all_told(url, json.loads(file.read_text())["truth"], cycles=60)


async def test_an_operator_and_a_database_killed_at_random_tell_every_transition_once(
    tmp_path: Path, operators: Nursery, postgres: Postgres
) -> None:
    """The database goes after each dozen events, and is away until the operator has moved on without it."""
    url = await postgres.create_database()
    file = tmp_path / "object.json"
    file.write_text(json.dumps({"cycle": 0, "unaudited": [], "truth": []}))

    async def trouble() -> None:
        for outage in range(1, 6):
            await reaches(file, audited=12 * outage)
            await asyncio.to_thread(postgres.stop)
            await reaches(file, cycle=15 * outage + 5)
            await asyncio.to_thread(postgres.start)

    troubled = asyncio.create_task(trouble())
    seed = itertools.count()
    while await asyncio.to_thread(operators.live, url, str(file), "100", seed=next(seed)):
        pass
    await troubled
    assert next(seed) > 2, "it died a few times"
    await assert_all_told(url, json.loads(file.read_text())["truth"], cycles=100)


async def reaches(file: Path, *, cycle: int = 0, audited: int = 0) -> None:
    """Return when the object has moved on to this cycle, and so many of its cycles are in the trail."""

    async def reached() -> bool:
        await asyncio.sleep(0.01)  # leaves the processor to those who are watched
        status = json.loads(await asyncio.to_thread(file.read_text))
        return bool(status["cycle"] >= cycle and status["cycle"] - len(status["unaudited"]) >= audited)

    await eventually(reached)


async def assert_all_told(url: str, truth: list[int], *, cycles: int) -> None:
    assert truth == list(range(1, cycles + 1))
    async with Database(url) as database:
        found = await ids(database)
        assert (await verify(database)).problem == ""
    assert sorted(found) == sorted(told.id for told in sleeps(*truth))


class Crash(Exception):  # noqa: N818 — not an error, a death
    """The process is gone."""


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "deliver", "drain", "claim"]),
        st.lists(st.integers(0, 9), max_size=5),
        st.none() | st.integers(1, 6),  # dies before this statement
    ),
    max_size=8,
)


@settings(
    max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(operations=OPERATIONS, leaders=st.lists(st.integers(0, 1), min_size=8, max_size=8))
async def test_whatever_happens_in_whatever_order_the_trail_has_what_was_told_once(
    database: Database, operations: list[tuple[str, list[int], int | None]], leaders: list[int]
) -> None:
    """Two replicas tell, lead, die and come back in any order; at the end a last leader tells the rest."""
    run = transition_id("", repr(operations))  # one database serves all examples, each with its own plan
    store = ChainStore(database, now=lambda: NOON)
    epochs = [0, 0]
    told = set()
    for (what, cycles, death), who in zip(operations, leaders, strict=False):
        events = [slept(cycle, name=run) for cycle in cycles]
        told |= {found.id for found in events}
        with contextlib.suppress(Crash, Superseded), dying(database, death):
            match what:
                case "claim":
                    epochs[who] = await store.claim(str(who))
                case "append":
                    await store.append(epochs[who], events)
                case "deliver":
                    await store.deliver(events)
                case "drain":
                    await store.drain(epochs[who], 3)
    last = await store.claim("last")
    await store.append(last, [slept(cycle, name=run) for _, cycles, _ in operations for cycle in cycles])
    await store.drain(last, 1000)
    found = [entry.id for entry in await Reader(database).page(Filter(name=run))]
    assert (await verify(database)).problem == ""
    assert sorted(found) == sorted(told)


@contextlib.contextmanager
def dying(database: Database, statement: int | None) -> Iterator[None]:
    count = itertools.count(1)

    def step(*_arguments: object) -> None:
        if next(count) == statement:
            raise Crash

    names = ("before_cursor_execute", "commit")
    for name in names:
        sqlalchemy_event.listen(database.engine.sync_engine, name, step)
    try:
        yield
    finally:
        for name in names:
            sqlalchemy_event.remove(database.engine.sync_engine, name, step)
