"""One writer at a time, each event once, in both databases."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import func, insert, select
from whenever import Instant, TimeDelta

from hibernator.audit.chain import START, Entry
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.event import Actor, AuditEvent, Resource, event
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import EVENTS, INBOX
from hibernator.audit.store import ChainStore, Superseded
from hibernator.audit.verification import verify
from support.trail import ANY_DATA, ANY_TEXT, NOON, ids, sleeps, slept, waiting


def store_at(database: Database, now: Instant = NOON) -> ChainStore:
    return ChainStore(database, now=lambda: now)


def as_told(entry: Entry) -> AuditEvent:
    """The event without its place in the chain."""
    return AuditEvent(**{name: getattr(entry, name) for name in AuditEvent.__struct_fields__})


@pytest.fixture
def store(database: Database) -> ChainStore:
    return store_at(database)


async def assert_whole(database: Database) -> None:
    assert (await verify(database)).problem == ""


async def test_an_event_comes_back_as_it_was_told(database: Database, store: ChainStore) -> None:
    told = event(
        "scheduleexception.approval.given",
        Resource(
            group="hibernator.ardikabs.com", kind="ScheduleException", namespace="shop", name="x", uid="u"
        ),
        at=NOON,
        identity=("bob@example.com",),
        actor=Actor(type="user", id="bob", email="bob@example.com", ip="192.0.2.7", session="s-1"),
        channel="slack",
        correlation_id="c",
        parent_id="p",
        data={"role": "manager", "share": 0.65, "note": "\0 ünïcode"},
        duration_ms=12,
        error="none, really",
    )
    await store.append(await store.claim("a"), [told])
    [entry] = await Reader(database).page(Filter())
    assert as_told(entry) == told
    assert (entry.sequence, entry.recorded_at) == (1, NOON)


async def test_a_repeat_is_not_written_and_does_not_break_the_chain(
    database: Database, store: ChainStore
) -> None:
    epoch = await store.claim("a")
    await store.append(epoch, sleeps(1, 2))
    end = await store.append(epoch, sleeps(2, 3, 3, 1))
    assert end.sequence == 3
    assert await ids(database) == [told.id for told in sleeps(1, 2, 3)]
    await assert_whole(database)


async def test_a_batch_of_nothing_new_leaves_the_end_where_it_was(
    database: Database, store: ChainStore
) -> None:
    epoch = await store.claim("a")
    assert await store.append(epoch, []) == START
    end = await store.append(epoch, sleeps(1))
    assert await store.append(epoch, sleeps(1)) == end


async def test_a_repeat_is_recognised_a_year_later(database: Database) -> None:
    store = store_at(database)
    epoch = await store.claim("a")
    await store.append(epoch, sleeps(1))
    later = store_at(database, NOON.add(hours=24 * 365))
    assert (await later.append(epoch, [slept(1), slept(2, at=NOON.add(hours=24 * 365))])).sequence == 2


async def test_a_repeat_from_a_replica_whose_clock_is_ahead_is_recognised(database: Database) -> None:
    ahead = slept(1, at=NOON.add(hours=24 * 90))
    epoch = await store_at(database).claim("a")
    await store_at(database).append(epoch, [ahead])
    later = NOON.add(hours=24 * 60)
    assert (await store_at(database, later).append(epoch, [ahead, slept(2, at=later)])).sequence == 2


async def test_who_has_been_superseded_cannot_write(database: Database, store: ChainStore) -> None:
    old = await store.claim("old leader")
    new = await store.claim("new leader")
    await store.append(new, sleeps(1))
    with pytest.raises(Superseded):
        await store.append(old, sleeps(2))
    with pytest.raises(Superseded):
        await store_at(database, NOON.add(hours=24 * 60)).prune(old, keep_months=1)
    await store.deliver(sleeps(2))
    with pytest.raises(Superseded):
        await store.drain(old, 10)
    assert await ids(database) == [slept(1).id]
    await assert_whole(database)


async def test_writers_that_fight_for_the_chain_never_fork_it(url: str, database: Database) -> None:
    """Twelve processes' worth of leaders, each claiming and writing the same transitions at once."""
    databases = [Database(url) for _ in range(4)]

    async def lead(number: int) -> None:
        store = store_at(databases[number % 4])
        for cycle in range(10):
            while not await told(store, number, cycle):
                pass

    async def told(store: ChainStore, number: int, cycle: int) -> bool:
        """False when SQLite, which is not fair, has let others in for too long."""
        try:
            epoch = await store.claim(f"leader {number}")
            try:
                await store.append(epoch, sleeps(cycle, cycle + 1))
            except Superseded:
                await store.deliver(sleeps(cycle, cycle + 1))
        except AuditUnavailable:
            return False
        return True

    await asyncio.gather(*(lead(number) for number in range(12)))
    store = store_at(database)
    await store.drain(await store.claim("last"), 1000)
    assert sorted(await ids(database)) == sorted(told.id for told in sleeps(*range(11)))
    await assert_whole(database)
    for other in databases:
        await other.close()


async def test_events_of_other_replicas_go_through_the_inbox_into_the_chain(
    database: Database, store: ChainStore
) -> None:
    epoch = await store.claim("leader")
    await store.append(epoch, sleeps(1))
    await store.deliver(sleeps(1, 2, 3))
    await store.deliver(sleeps(2))
    assert len(await waiting(database)) == 3
    assert await store.drain(epoch, 2) == 2
    assert await store.drain(epoch, 100) == 1
    assert await store.drain(epoch, 100) == 0
    assert sorted(await ids(database)) == sorted(told.id for told in sleeps(1, 2, 3))
    assert await waiting(database) == []
    await assert_whole(database)


async def test_an_event_comes_out_of_the_inbox_as_it_went_in(database: Database, store: ChainStore) -> None:
    told = slept(1)
    await store.deliver([told])
    await store.drain(await store.claim("leader"), 1)
    [entry] = await Reader(database).page(Filter())
    assert as_told(entry) == told


async def test_what_is_no_event_does_not_hold_up_the_inbox(database: Database, store: ChainStore) -> None:
    epoch = await store.claim("leader")
    async with database.begin() as connection:
        rows = [{"id": text, "received_at": NOON, "event": text} for text in ("", "{}", "[1", '{"id":2}')]
        await connection.execute(insert(INBOX), rows)
    await store.deliver(sleeps(1))
    assert await store.drain(epoch, 100) == 5
    assert await ids(database) == [slept(1).id]
    assert await waiting(database) == []


async def test_an_event_is_stamped_with_the_cluster_that_it_happened_in(database: Database) -> None:
    blue = ChainStore(database, now=lambda: NOON, cluster="blue")
    epoch = await blue.claim("a")
    await ChainStore(database, now=lambda: NOON, cluster="green").deliver(sleeps(1))
    await blue.drain(epoch, 1)
    await blue.append(epoch, sleeps(2))
    assert [entry.cluster for entry in await Reader(database).page(Filter())] == ["green", "blue"]


async def test_the_clock_going_back_does_not_take_the_chain_back(database: Database) -> None:
    epoch = await store_at(database).claim("a")
    await store_at(database, NOON).append(epoch, sleeps(1))
    await store_at(database, NOON - TimeDelta(hours=24 * 60)).append(epoch, sleeps(2))
    assert [entry.recorded_at for entry in await Reader(database).page(Filter())] == [NOON, NOON]


@settings(
    max_examples=settings().max_examples // 5, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(ANY_TEXT, ANY_DATA)
async def test_no_text_keeps_an_event_out(database: Database, text: str, data: dict[str, object]) -> None:
    store = store_at(database)
    epoch = await store.claim("a")
    count = select(func.count()).select_from(EVENTS)
    async with database.begin() as connection:
        before = await connection.scalar(count)
    actor = Actor(type="user", id=text, email=text, ip=text, session=text)
    what = Resource(group=text, kind=text, namespace=text, name=text, uid=text)
    for name in ("admission.denied", "remediationapprovalrequest.approval.refused"):
        told = event(name, what, at=NOON, identity=(before or 0,), actor=actor, data=data, error=text)
        if name == "admission.denied":
            await store.append(epoch, [told])
        else:
            await store.deliver([told])
    await store.drain(epoch, 10)
    async with database.begin() as connection:
        assert await connection.scalar(count) == (before or 0) + 2
    await assert_whole(database)


async def test_the_longest_names_fit_into_the_indexes(database: Database, store: ChainStore) -> None:
    long = "\N{GRINNING FACE}" * 5000
    what = Resource(group=long, kind=long, namespace=long, name=long, uid=long)
    told = event("admission.denied", what, at=NOON, actor=Actor(type="user", id=long, email=long), error=long)
    await store.append(await store.claim("a"), [told])
    await assert_whole(database)
