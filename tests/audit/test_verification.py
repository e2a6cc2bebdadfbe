"""Whatever somebody does to the rows, `verify` names the first event that does not fit. On both databases."""

import msgspec
import pytest
from sqlalchemy import ColumnElement, Executable, delete, insert, select, text, update
from whenever import TimeDelta

from hibernator.audit.chain import Entry, Link, append
from hibernator.audit.database import Database
from hibernator.audit.reading import PAGE, Filter, Reader
from hibernator.audit.schema import CHAIN, EVENTS
from hibernator.audit.store import ChainStore
from hibernator.audit.verification import Promise, Verification, verify
from support.trail import NOON, sleeps, slept, to_row


@pytest.fixture
async def entries(database: Database) -> list[Entry]:
    """A chain of six events."""
    store = ChainStore(database, now=lambda: NOON)
    await store.append(await store.claim("a"), sleeps(1, 2, 3, 4, 5, 6))
    return await Reader(database).page(Filter())


async def tamper(database: Database, *statements: Executable) -> Verification:
    async with database.begin() as connection:
        for statement in statements:
            await connection.execute(statement)
    return await verify(database)


def row(sequence: int) -> ColumnElement[bool]:
    return EVENTS.c.sequence == sequence


async def test_an_untouched_trail_is_whole(database: Database, entries: list[Entry]) -> None:
    verdict = await verify(database)
    assert (verdict.start, verdict.end, verdict.problem) == (Link(0, "0" * 64), entries[-1].link, "")


async def test_an_empty_trail_is_whole(database: Database) -> None:
    assert (await verify(database)).problem == ""


CHANGES = {
    "id": "other",
    "version": 2,
    "time": NOON + TimeDelta(microseconds=1),
    "recorded_at": NOON + TimeDelta(microseconds=1),
    "data": '{"cycle":99}',
    "duration_ms": 1,
}


async def test_a_change_of_any_column_is_found(database: Database, entries: list[Entry]) -> None:
    for column in [name for name in to_row(entries[2]) if name not in {"sequence", "previous_hash"}]:
        change = {column: CHANGES.get(column, "mallory was not here")}
        verdict = await tamper(database, update(EVENTS).where(row(3)).values(change))
        assert (column, verdict.misfit and verdict.misfit.sequence) == (column, 3)
        assert verdict.problem == "its content does not match its hash"
        assert (await tamper(database, update(EVENTS).where(row(3)).values(to_row(entries[2])))).problem == ""


async def test_a_time_that_is_none_is_found_and_breaks_nothing(
    database: Database, entries: list[Entry]
) -> None:
    if database.is_postgres:
        pytest.skip("PostgreSQL accepts only times there")
    verdict = await tamper(database, text("UPDATE audit_events SET time = 'yesterday' WHERE sequence = 3"))
    assert verdict.problem == "its content does not match its hash"


async def test_a_deleted_row_is_named(database: Database, entries: list[Entry]) -> None:
    verdict = await tamper(database, delete(EVENTS).where(row(3)))
    assert verdict.problem == "event 3 is missing"
    assert verdict.misfit == entries[3]


async def test_deleted_first_rows_are_named(database: Database, entries: list[Entry]) -> None:
    verdict = await tamper(database, delete(EVENTS).where(EVENTS.c.sequence < 3))
    assert verdict.problem == "events 1 to 2 are missing"


async def test_deleted_first_rows_are_found_although_the_anchor_was_moved_along(
    database: Database, entries: list[Entry]
) -> None:
    verdict = await tamper(
        database,
        delete(EVENTS).where(EVENTS.c.sequence < 3),
        update(CHAIN).values(anchor_sequence=2, anchor_hash=entries[1].hash),
    )
    assert verdict.problem == "the events up to 2 are gone, and no retention removed them"


async def test_a_cut_tail_is_named(database: Database, entries: list[Entry]) -> None:
    verdict = await tamper(database, delete(EVENTS).where(EVENTS.c.sequence > 4))
    assert verdict.problem == "events 5 to 6 are missing at the end"
    assert verdict.end == entries[3].link


async def test_a_cut_tail_with_the_head_moved_back_is_found_by_a_known_end(
    database: Database, entries: list[Entry]
) -> None:
    cut = (
        delete(EVENTS).where(EVENTS.c.sequence > 4),
        update(CHAIN).values(head_sequence=4, head_hash=entries[3].hash),
    )
    assert (await tamper(database, *cut)).problem == ""  # nothing inside the database can tell
    verdict = await verify(database, known=[Promise(entries[5].link, "an earlier check")])
    assert verdict.problem == "event 6, which an earlier check has seen, is missing at the end"


async def test_an_emptied_trail_is_found(database: Database, entries: list[Entry]) -> None:
    verdict = await tamper(database, delete(EVENTS))
    assert verdict.problem == "events 1 to 6 are missing at the end"


async def test_a_row_inserted_in_the_middle_is_found(database: Database, entries: list[Entry]) -> None:
    forged = append(entries[2].link, slept(99), NOON + TimeDelta(seconds=1))
    verdict = await tamper(database, insert(EVENTS).values(to_row(forged)))
    assert verdict.misfit == forged
    assert verdict.problem == "its number is taken by another event"


async def test_a_row_inserted_before_the_start_is_found(database: Database, entries: list[Entry]) -> None:
    forged = append(Link(-1, "0" * 64), slept(99), NOON)
    verdict = await tamper(database, insert(EVENTS).values(to_row(forged)))
    assert verdict.misfit == forged
    assert verdict.problem == "it lies before the start of what is kept, which is event 1"


async def test_a_row_put_behind_the_end_is_found(database: Database, entries: list[Entry]) -> None:
    forged = append(entries[5].link, slept(99), NOON)
    verdict = await tamper(database, insert(EVENTS).values(to_row(forged)))
    assert verdict.problem.startswith(f"the last event is {forged.link}, but the chain's own note")


async def test_two_rows_that_changed_places_are_found(database: Database, entries: list[Entry]) -> None:
    verdict = await tamper(
        database,
        update(EVENTS).where(row(3)).values(sequence=100),
        update(EVENTS).where(row(4)).values(sequence=3),
        update(EVENTS).where(row(100)).values(sequence=4),
    )
    assert verdict.misfit
    assert verdict.misfit.sequence == 3
    assert verdict.problem == "it does not continue from the event before it"


async def test_a_row_renewed_with_its_own_hash_is_found_at_the_next(
    database: Database, entries: list[Entry]
) -> None:
    forged = append(entries[1].link, slept(99), NOON)
    verdict = await tamper(database, update(EVENTS).where(row(3)).values(to_row(forged)))
    assert verdict.misfit == entries[3]
    assert verdict.problem == "it does not continue from the event before it"


async def test_a_chain_recomputed_as_a_whole_is_found_by_a_known_end(
    database: Database, entries: list[Entry]
) -> None:
    statements: list[Executable] = []
    link = entries[1].link
    for old in entries[2:]:
        new = append(link, msgspec.structs.replace(slept(old.sequence), error="rewritten"), NOON)
        statements.append(update(EVENTS).where(row(old.sequence)).values(to_row(new)))
        link = new.link
    statements.append(update(CHAIN).values(head_hash=link.hash))
    assert (await tamper(database, *statements)).problem == ""  # nothing inside the database can tell
    verdict = await verify(database, known=[Promise(entries[4].link, "an earlier check")])
    assert verdict.misfit
    assert verdict.misfit.sequence == 5
    assert verdict.problem == "its hash is not that of an earlier check"


async def test_a_second_row_of_one_number_is_found_at_the_end_of_a_page(database: Database) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.append(await store.claim("a"), sleeps(*range(PAGE + 3)))
    async with database.begin() as connection:
        query = select(EVENTS.c.sequence, EVENTS.c.hash).where(row(PAGE - 1))
        before = (await connection.execute(query)).one()
    forged = append(Link(*before), slept(9999), NOON + TimeDelta(seconds=1))
    verdict = await tamper(database, insert(EVENTS).values(to_row(forged)))
    assert verdict.misfit == forged


async def test_a_long_trail_is_walked_page_by_page_with_progress(database: Database) -> None:
    store = ChainStore(database, now=lambda: NOON)
    await store.append(await store.claim("a"), sleeps(*range(PAGE * 2 + 1)))
    seen: list[int] = []
    verdict = await verify(database, progress=lambda link: seen.append(link.sequence))
    assert verdict.problem == ""
    assert seen == [PAGE, PAGE * 2, PAGE * 2 + 1]
