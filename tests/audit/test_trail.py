"""The trail as controllers see it: nothing waits, nothing is lost, and approvals fail closed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from whenever import Instant

from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.audit.verification import verify
from support.postgres import Postgres
from support.trail import NOON, eventually, ids, sleeps, slept, waiting


class Seen:
    """A watch that remembers."""

    def __init__(self) -> None:
        self.count = 0
        self.drops = 0
        self.reasons: list[str] = []

    def written(self, count: int, lag: float) -> None:
        assert lag >= 0
        self.count += count

    def dropped(self) -> None:
        self.drops += 1

    def away(self, reason: str) -> None:
        self.reasons.append(reason)


@asynccontextmanager
async def running(trail: Trail) -> AsyncIterator[Trail]:
    task = asyncio.create_task(trail.run())
    try:
        yield trail
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


async def emptied(database: Database) -> bool:
    """Whether the leader has taken everything out of the inbox."""
    return not await waiting(database)


async def holds(database: Database, events: list[AuditEvent], *, besides: int = 0) -> bool:
    """Whether exactly these events, and so many others, are in the chain."""
    found = await ids(database)
    return {told.id for told in events} <= set(found) and len(found) == len(events) + besides


def trail_of(database: Database, *, now: Callable[[], Instant] = lambda: NOON, **options: Any) -> Trail:
    found = Trail(ChainStore(database, now=now), identity="test", **options)
    found.lead()
    return found


async def test_a_recorded_event_is_written_behind_the_back_of_whoever_recorded_it(database: Database) -> None:
    async with running(trail_of(database)) as trail:
        for told in sleeps(1, 2, 1):
            assert trail.record(told)
        assert not trail.has(slept(1).id)
        await trail.flush()
        assert trail.has(slept(1).id)
    assert await ids(database) == [told.id for told in sleeps(1, 2)]


async def test_the_first_start_makes_the_tables(empty_url: str) -> None:
    database = Database(empty_url)
    async with running(trail_of(database)) as trail:
        await trail.record_now(slept(1))
    assert await ids(database) == [slept(1).id]
    await database.close()


async def test_a_repeat_of_what_is_durable_takes_no_room(database: Database) -> None:
    watch = Seen()
    async with running(trail_of(database, capacity=1, watch=watch)) as trail:
        await trail.record_now(slept(1))
        assert trail.record(slept(1))
        assert trail.waiting == 0
    assert (watch.count, watch.drops) == (1, 0)


async def test_the_next_process_tells_the_same_again_and_nothing_is_written_twice(database: Database) -> None:
    for _process in range(3):
        async with running(trail_of(database)) as trail:
            await trail.record_now(*sleeps(1, 2, 3))
    assert await ids(database) == [told.id for told in sleeps(1, 2, 3)]
    assert (await verify(database)).problem == ""


async def test_a_replica_that_does_not_lead_hands_its_events_to_the_one_that_does(
    url: str, database: Database
) -> None:
    follower = Trail(ChainStore(database, now=lambda: NOON), identity="follower")
    async with running(follower):
        await follower.record_now(slept(1))
        assert await waiting(database) == [slept(1).id]
        assert await ids(database) == []
        leading = Database(url)
        async with running(trail_of(leading)) as leader:
            await leader.record_now(slept(2))
            await eventually(lambda: emptied(database))
        await leading.close()
    assert sorted(await ids(database)) == sorted(told.id for told in sleeps(1, 2))


async def test_a_leader_that_was_replaced_hands_its_events_to_its_successor(database: Database) -> None:
    async with running(trail_of(database)) as old:
        await old.record_now(slept(1))
        async with running(trail_of(database)) as new:
            await new.record_now(slept(2))
            await old.record_now(slept(3))
            assert old.has(slept(3).id)
            await eventually(lambda: emptied(database))
    assert sorted(await ids(database)) == sorted(told.id for told in sleeps(1, 2, 3))
    assert (await verify(database)).problem == ""


async def test_a_leader_whose_replacement_has_vanished_takes_the_chain_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a restore from a backup, or two clusters that were given one database."""
    monkeypatch.setattr("hibernator.audit.trail._RECLAIM_AFTER", 0.01)
    async with running(trail_of(database)) as trail:
        await trail.record_now(slept(1))
        await ChainStore(database, now=lambda: NOON).claim("somebody who never writes")
        await trail.record_now(slept(2))
        await eventually(lambda: holds(database, sleeps(1, 2)))
    assert (await verify(database)).problem == ""


async def test_old_months_are_removed_by_the_leader(database: Database) -> None:
    month = 1

    def now() -> Instant:
        return Instant.from_utc(2026, month, 1)

    async with running(trail_of(database, now=now)) as trail:
        await trail.record_now(slept(1, at=now()))
    month = 6
    async with running(trail_of(database, now=now, keep_months=2)) as trail:
        await trail.record_now(slept(2, at=now()))
        await eventually(lambda: holds(database, sleeps(2), besides=1))
    assert (await verify(database)).problem == ""


async def test_nothing_is_approved_while_the_database_cannot_be_opened(tmp_path: Path) -> None:
    blocked = tmp_path / "folder"
    blocked.write_text("a file where a folder should be")
    database = Database(f"sqlite:///{blocked}/audit.db")
    watch = Seen()
    async with running(trail_of(database, watch=watch)) as trail:
        with pytest.raises(AuditUnavailable, match="Nothing goes ahead without its record"):
            await trail.record_now(slept(1))
        assert trail.record(slept(2)), "what needs no approval goes on"
        assert "cannot be used" in trail.away
        blocked.unlink()
        await until_written(trail, 1)
        assert trail.away == ""
    assert await ids(database) == [told.id for told in sleeps(1, 2)]
    assert watch.reasons[-1] == ""
    await database.close()


async def test_an_approval_does_not_wait_for_ever_on_a_writer_that_is_not_there(database: Database) -> None:
    with pytest.raises(AuditUnavailable, match=r"not answered within 0\.01 seconds.*Nothing goes ahead"):
        await trail_of(database).record_now(slept(1), patience=0.01)


async def test_what_does_not_fit_in_is_dropped_and_everything_is_looked_at_again_later(
    database: Database,
) -> None:
    """The level-triggered way to heal: the status still knows, and the next pass tells it again."""
    watch, status = Seen(), sleeps(*range(10))

    def look_at_everything(trail: Trail) -> list[bool]:
        return [trail.record(told) for told in status]

    asked = asyncio.Event()
    trail = trail_of(database, capacity=3, watch=watch, resync=asked.set)
    assert look_at_everything(trail) == [True] * 3 + [False] * 7  # nobody writes yet, as in an outage
    with pytest.raises(AuditUnavailable, match="no room"):
        await trail.record_now(slept(99))
    async with running(trail):
        while not await holds(database, status):
            await asyncio.wait_for(asked.wait(), timeout=30)
            asked.clear()
            look_at_everything(trail)
            await trail.flush()
    assert watch.drops >= 7
    assert sorted(await ids(database)) == sorted(found.id for found in status)


async def until_written(trail: Trail, cycle: int) -> None:
    """Keep asking for an approval until the database takes it."""
    while True:
        try:
            return await trail.record_now(slept(cycle))
        except AuditUnavailable:
            continue


async def test_a_database_that_stops_and_starts_loses_nothing_and_keeps_the_chain(postgres: Postgres) -> None:
    database = Database(await postgres.create_database())
    async with running(trail_of(database)) as trail:
        await trail.record_now(*sleeps(1, 2))
        for cycle in (10, 20):
            postgres.stop()
            with pytest.raises(AuditUnavailable, match="Nothing goes ahead without its record"):
                await trail.record_now(slept(cycle))
            for more in range(1, 5):
                assert trail.record(slept(cycle + more))
            postgres.start()
            await until_written(trail, cycle)
            await trail.flush()
    expected = [1, 2, *range(10, 15), *range(20, 25)]
    assert await ids(database) == [told.id for told in sleeps(*expected)]
    assert (await verify(database)).problem == ""
    await database.close()


async def test_a_database_that_restarts_overnight_is_not_noticed_in_the_morning(postgres: Postgres) -> None:
    database = Database(await postgres.create_database())
    async with running(trail_of(database)) as trail:
        await trail.record_now(slept(1))
        postgres.stop()
        postgres.start()
        await trail.record_now(slept(2))
    await database.close()
