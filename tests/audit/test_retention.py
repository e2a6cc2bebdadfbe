"""Whole months go, from the front; what stays can still be checked, and nothing old comes back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from sqlalchemy import delete, text, update
from sqlalchemy.ext.asyncio import AsyncConnection
from whenever import Instant

from decisions.test_journals import ANALYSIS, EXCEPTION, next_status
from hibernator.api.aianalysis import ANALYSES
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import CHAIN, EVENTS
from hibernator.audit.store import ChainStore
from hibernator.audit.verification import verify
from hibernator.controllers.journal_audit import events
from support.trail import ids, slept


class Calendar:
    """A store whose month a test turns by hand."""

    def __init__(self, database: Database) -> None:
        self.now = Instant.from_utc(2026, 1, 31, 23, 59)
        self.database = database
        self.store = ChainStore(database, now=lambda: self.now)
        self.epoch = 0

    async def write(self, *events: AuditEvent) -> None:
        self.epoch = self.epoch or await self.store.claim("a")
        await self.store.append(self.epoch, events)

    async def prune(self, keep_months: int) -> int:
        return await self.store.prune(self.epoch, keep_months)

    async def partitions(self) -> list[str]:
        query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'audit_events%' ORDER BY 1"
        async with self.database.begin() as connection:
            return list(await connection.scalars(text(query)))


@pytest.fixture
async def calendar(database: Database) -> Calendar:
    """January, February and March, with two events each."""
    found = Calendar(database)
    for month in (1, 2, 3):
        found.now = Instant.from_utc(2026, month, 15)
        await found.write(slept(month * 10, at=found.now), slept(month * 10 + 1, at=found.now))
    return found


async def test_every_month_has_its_partition(calendar: Calendar) -> None:
    if not calendar.database.is_postgres:
        pytest.skip("SQLite has no partitions")
    assert await calendar.partitions() == [
        "audit_events_2026_01",
        "audit_events_2026_02",
        "audit_events_2026_03",
    ]


async def test_months_beyond_the_retention_go_and_the_rest_is_whole(calendar: Calendar) -> None:
    assert await calendar.prune(keep_months=1) == 2
    entries = await Reader(calendar.database).page(Filter())
    assert [entry.sequence for entry in entries] == [3, 4, 5, 6, 7]
    verdict = await verify(calendar.database)
    assert (verdict.problem, verdict.start.sequence, verdict.end.sequence) == ("", 2, 7)
    if calendar.database.is_postgres:
        assert "audit_events_2026_01" not in await calendar.partitions()


async def test_the_removal_itself_is_in_the_trail(calendar: Calendar) -> None:
    january = (await Reader(calendar.database).page(Filter()))[1]
    await calendar.prune(keep_months=1)
    [told] = await Reader(calendar.database).page(Filter(type="audit.pruned"))
    assert bytes(told.data).decode() == f'{{"hash":"{january.hash}","through":2}}'


async def test_a_second_removal_in_the_same_month_does_nothing(calendar: Calendar) -> None:
    await calendar.prune(keep_months=1)
    before = await ids(calendar.database)
    assert await calendar.prune(keep_months=1) == 0
    assert await ids(calendar.database) == before


async def test_removals_month_after_month_stay_whole(calendar: Calendar) -> None:
    for month in range(4, 9):
        calendar.now = Instant.from_utc(2026, month, 1)
        await calendar.write(slept(month * 10, at=calendar.now))
        await calendar.prune(keep_months=1)
        assert (await verify(calendar.database)).problem == ""
    # July, August, and the notes of the removals in both.
    assert [entry.type for entry in await Reader(calendar.database).page(Filter())] == [
        "hibernateplan.sleep.started",
        "audit.pruned",
    ] * 2


async def test_a_trail_of_which_everything_is_too_old_goes_on_from_its_end(calendar: Calendar) -> None:
    calendar.now = Instant.from_utc(2027, 6, 1)
    assert await calendar.prune(keep_months=3) == 6
    verdict = await verify(calendar.database)
    assert (verdict.problem, verdict.start.sequence, verdict.end.sequence) == ("", 6, 7)


async def test_what_was_removed_does_not_come_back_with_an_old_object(
    calendar: Calendar,
) -> None:
    await calendar.prune(keep_months=1)
    before = await ids(calendar.database)
    await calendar.write(slept(10, at=Instant.from_utc(2026, 1, 15)))
    assert await ids(calendar.database) == before


async def test_an_event_told_late_stays_as_long_as_its_neighbours_in_the_chain(calendar: Calendar) -> None:
    calendar.now = Instant.from_utc(2026, 3, 20)
    await calendar.write(slept(1, at=Instant.from_utc(2026, 1, 1)))
    await calendar.prune(keep_months=1)
    assert slept(1).id in await ids(calendar.database)
    assert (await verify(calendar.database)).problem == ""


async def test_a_forged_anchor_is_found_after_a_removal(calendar: Calendar) -> None:
    await calendar.prune(keep_months=1)
    forged = (await Reader(calendar.database).page(Filter()))[0]
    async with calendar.database.begin() as connection:
        await connection.execute(update(CHAIN).values(anchor_sequence=3, anchor_hash=forged.hash))
        await connection.execute(delete(EVENTS).where(EVENTS.c.sequence == 3))
    verdict = await verify(calendar.database)
    assert verdict.problem == "the events up to 3 are gone, and no retention removed them"


async def test_a_walk_under_which_a_month_is_removed_begins_again(url: str, calendar: Calendar) -> None:
    class Shaky(Database):
        """Loses January between the look at the anchor and the first page."""

        transactions = 0

        @asynccontextmanager
        async def begin(self) -> AsyncIterator[AsyncConnection]:
            self.transactions += 1
            if self.transactions == 2:
                assert await calendar.prune(keep_months=1) == 2
            async with super().begin() as connection:
                yield connection

    database = Shaky(url)
    verdict = await verify(database)
    await database.close()
    assert (verdict.problem, verdict.start.sequence) == ("", 2)


async def test_an_expired_exception_is_not_recorded_as_changed_after_retention_and_a_restart(
    database: Database,
) -> None:
    when = Instant("2026-01-15T00:00:00Z")
    store = ChainStore(database, now=lambda: when)
    await store.prepare()
    epoch = await store.claim("first")
    await store.append(epoch, [*events(EXCEPTIONS, EXCEPTION)])
    when = Instant("2026-06-01T00:00:00Z")
    await store.prune(epoch, keep_months=2)
    before = await ids(database)
    restarted = replace(EXCEPTION, status=next_status(EXCEPTION, when))
    await store.append(epoch, [*events(EXCEPTIONS, restarted)])
    adopted = replace(ANALYSIS, status=next_status(ANALYSIS, when))
    await store.append(epoch, [*events(ANALYSES, adopted)])
    assert await ids(database) == before
