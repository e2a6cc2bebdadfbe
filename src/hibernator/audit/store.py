"""The chain in a database. Each method is one transaction, so that a process may die anywhere.

Only the leader appends. It claims the chain first, which raises the epoch; who led before and has not
noticed yet gets `Superseded` at its next write instead of writing beside its successor. All other replicas
leave their events in the inbox, from which the leader moves them into the chain.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import structlog
from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection
from whenever import Instant, TimeDelta, YearMonth

from hibernator.audit import asked, chain
from hibernator.audit.asked import DeletionRequest
from hibernator.audit.chain import Entry, Link
from hibernator.audit.checkpoints import TRAIL, Signer
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent, Resource, as_text, event, from_json, to_json
from hibernator.audit.migrate import migrate
from hibernator.audit.schema import CHAIN, COLUMNS, EVENTS, INBOX, LIFE, AnyRow, to_values


def month_of(moment: Instant) -> YearMonth:
    return moment.to_fixed_offset().date().year_month()


def start_of(month: YearMonth) -> Instant:
    return Instant.from_utc(month.year, month.month, 1)


async def make_partition(connection: AsyncConnection, month: YearMonth) -> None:
    """Make the partition for a month, unless it is there.

    A finished table is attached, rather than made in place, because that locks out no reader.
    """
    name = _partition(month)
    if await connection.scalar(text("SELECT to_regclass(:name) IS NOT NULL"), {"name": name}):
        return
    start, end = start_of(month), start_of(month.add(months=1))
    await connection.execute(text(f"CREATE TABLE {name} (LIKE audit_events INCLUDING ALL)"))
    await connection.execute(
        text(f"ALTER TABLE audit_events ATTACH PARTITION {name} FOR VALUES FROM ('{start}') TO ('{end}')")
    )


async def remove_before(connection: AsyncConnection, month: YearMonth) -> None:
    """Remove everything that was recorded before this month."""
    if connection.dialect.name == "sqlite":
        await connection.execute(delete(EVENTS).where(EVENTS.c.recorded_at < start_of(month)))
        return
    found = await connection.scalars(
        text(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_events'::regclass "
            "ORDER BY 1"
        )
    )
    # Readers are brief; one that is not must hold up the removal, not everyone behind it.
    await connection.execute(text("SET LOCAL lock_timeout = '3s'"))
    for name in found:
        if name < _partition(month):
            await connection.execute(text(f"DROP TABLE {name}"))


def _partition(month: YearMonth) -> str:
    return f"audit_events_{month.year:04}_{month.month:02}"


# How far the clocks of two replicas may be apart for a repeat to be recognised.
_CLOCK_SKEW: Final = TimeDelta(hours=24 * 31)

_AT_ONCE: Final = 250  # events to chain, some 2 ms, before others in the event loop get their turn
_IN_ONE_QUESTION: Final = 1000  # parameters, of which databases take some ten thousand
_EVER: Final = Instant.from_utc(1970, 1, 1)

_log: Final = structlog.get_logger(__name__)


class Life(NamedTuple):
    """Someone whom the chain knows."""

    resource: Resource
    correlation_id: str


class Superseded(Exception):  # noqa: N818 — it names a state of the world, not a mistake
    """Someone else has claimed the chain since."""


class ChainStore:
    def __init__(
        self,
        database: Database,
        *,
        now: Callable[[], Instant],
        cluster: str = "",
        signer: Signer | None = None,
    ) -> None:
        self._database = database
        self._signer = signer
        self._now = now
        self._cluster = cluster
        self._insert = postgresql.insert if database.is_postgres else sqlite.insert

    async def prepare(self) -> None:
        """Bring the tables to the shape that this version knows."""
        await migrate(self._database)

    async def claim(self, writer: str) -> int:
        """Become the one writer; returns the epoch with which to write."""
        async with self._database.begin() as connection:
            claimed = await connection.execute(
                update(CHAIN).values(epoch=CHAIN.c.epoch + 1, writer=writer).returning(CHAIN.c.epoch)
            )
            return int(claimed.scalar_one())

    async def append(self, epoch: int, events: Sequence[AuditEvent]) -> Link:
        """Put those events behind the chain that are not in it yet; returns its new end."""
        async with self._database.begin() as connection:
            head = await _lock(connection, epoch)
            return await self._extend(connection, head, events)

    async def deliver(self, events: Iterable[AuditEvent]) -> None:
        """Leave events for the leader."""
        received_at = self._now()
        rows = [
            {"id": found.id, "received_at": received_at, "event": to_json(self._here(found))}
            for found in events
        ]
        if rows:
            async with self._database.begin() as connection:
                await connection.execute(self._insert(INBOX).on_conflict_do_nothing(), rows)

    async def drain(self, epoch: int, limit: int) -> int:
        """Move events from the inbox into the chain; returns how many."""
        async with self._database.begin() as connection:
            found = await connection.execute(select(INBOX).order_by(INBOX.c.received_at).limit(limit))
            if not (rows := found.all()):
                return 0
            head = await _lock(connection, epoch)
            await self._extend(connection, head, [read for row in rows if (read := _read(row))])
            await connection.execute(delete(INBOX).where(INBOX.c.id.in_([row.id for row in rows])))
            return len(rows)

    async def prune(self, epoch: int, keep_months: int) -> int:
        """Remove whole months beyond the last so many, leaving word in the chain; returns how many events."""
        first = month_of(self._now()).subtract(months=keep_months)
        async with self._database.begin() as connection:
            before = EVENTS.c.recorded_at < start_of(first)
            latest = select(EVENTS.c.sequence, EVENTS.c.hash).where(before).order_by(EVENTS.c.sequence.desc())
            if (last := (await connection.execute(latest.limit(1))).first()) is None:
                return 0
            head = await _lock(connection, epoch)
            await remove_before(connection, first)
            await connection.execute(
                update(CHAIN).values(
                    anchor_sequence=last.sequence, anchor_hash=last.hash, kept_from=start_of(first)
                )
            )
            await self._extend(connection, head, [*self._pruned(Link(*last))])
            return int(last.sequence - head.anchor_sequence)

    async def living(self) -> list[Life]:
        """Every object that the chain has seen begin, and whose end is neither there nor in the inbox."""
        row = EVENTS.c
        columns = (row.resource_kind, row.resource_namespace, row.resource_name, row.resource_uid)
        query = select(row.action, row.resource_group, row.correlation_id, *columns).where(
            text(LIFE), row.action != asked.ACTION
        )
        found: dict[str, Life] = {}
        ended: set[str] = set()
        async with self._database.begin() as connection:
            for one in await connection.execute(query):
                about = Resource(
                    group=one.resource_group,
                    kind=one.resource_kind,
                    namespace=one.resource_namespace,
                    name=one.resource_name,
                    uid=one.resource_uid,
                )
                found[about.uid] = Life(about, one.correlation_id)
                if one.action == "deleted":
                    ended.add(about.uid)
            waiting = [read for row in await connection.execute(select(INBOX)) if (read := _read(row))]
        ended |= {one.resource.uid for one in waiting if one.action == "deleted"}
        return [life for uid, life in found.items() if uid not in ended]

    async def asked(self, uids: Sequence[str]) -> list[DeletionRequest]:
        """Who asked to delete these objects, also if the leader has not come to it yet."""
        row = EVENTS.c
        query = select(row.resource_uid, row.time, row.actor_id).where(text(LIFE), row.action == asked.ACTION)
        found: list[DeletionRequest] = []
        async with self._database.begin() as connection:
            for first in range(0, len(uids), _IN_ONE_QUESTION):
                some = row.resource_uid.in_(uids[first : first + _IN_ONE_QUESTION])
                found += [DeletionRequest(*one) for one in await connection.execute(query.where(some))]
            waiting = [read for row in await connection.execute(select(INBOX)) if (read := _read(row))]
        return [*found, *asked.among(waiting, uids)]

    async def _extend(self, connection: AsyncConnection, head: AnyRow, events: Sequence[AuditEvent]) -> Link:
        link = Link(head.head_sequence, head.head_hash)
        now = self._now().round("microsecond", mode="floor")
        if not (fresh := await self._fresh(connection, head, events, now)):
            return link
        recorded_at = max(now, head.head_recorded_at)  # never back, so that months follow the chain
        entries = []
        for count, found in enumerate(fresh, 1):
            entry = chain.append(link, self._here(found), recorded_at)
            link = entry.link
            entries.append(entry)
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)
        if self._database.is_postgres:
            await make_partition(connection, month_of(recorded_at))
        await _insert(connection, entries)
        await connection.execute(
            update(CHAIN).values(
                head_sequence=link.sequence, head_hash=link.hash, head_recorded_at=recorded_at
            )
        )
        return link

    async def _fresh(
        self, connection: AsyncConnection, head: AnyRow, events: Sequence[AuditEvent], now: Instant
    ) -> list[AuditEvent]:
        """Those of the events that the chain has not had, each once."""
        fresh = {found.id: found for found in events if found.time >= head.kept_from}
        if not fresh:
            return []
        times = [found.time for found in fresh.values()]
        # Nothing is recorded before it happens, so that PostgreSQL need not look into older months; unless
        # someone's clock is ahead, when nothing is certain.
        since = min(times) - _CLOCK_SKEW if max(times) <= now else _EVER
        for found in await _known(connection, list(fresh), since):
            del fresh[found]
        return list(fresh.values())

    def _here(self, one: AuditEvent) -> AuditEvent:
        return one if one.cluster else msgspec.structs.replace(one, cluster=self._cluster)

    def _pruned(self, last: Link) -> Iterator[AuditEvent]:
        now = self._now()
        data = {"through": last.sequence, "hash": last.hash}
        yield event("audit.pruned", TRAIL, at=now, identity=(str(last),), data=data)
        if self._signer:
            yield self._signer.sign(last, now, opens=True).event()


def _read(row: AnyRow) -> AuditEvent | None:
    try:
        return from_json(row.event)
    except msgspec.DecodeError as error:
        # No replica writes this. It must not keep what lies behind it out of the chain.
        _log.error("removed what is no event from the audit inbox", id=row.id, reason=str(error))
        return None


async def _lock(connection: AsyncConnection, epoch: int) -> AnyRow:
    """Wait for the turn, check the claim and read the state of the chain, in one statement."""
    locked = await connection.execute(
        update(CHAIN).where(CHAIN.c.epoch == epoch).values(epoch=CHAIN.c.epoch).returning(CHAIN)
    )
    head: AnyRow | None = locked.first()
    if head is None:
        raise Superseded
    return head


_INSERT: Final = f"INSERT INTO {EVENTS.name} VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 — constants

# One parameter for all ids: a list of any length is then the same, already planned statement.
_KNOWN_SQLITE: Final = text(
    "SELECT id FROM audit_events WHERE id IN (SELECT value FROM json_each(:ids)) AND recorded_at >= :since"
)
_KNOWN_POSTGRES: Final = text(
    "SELECT id FROM audit_events WHERE id = ANY(CAST(:ids AS text[])) AND recorded_at >= :since"
)


async def _insert(connection: AsyncConnection, entries: Iterable[Entry]) -> None:
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql(_INSERT, [to_values(entry, as_text) for entry in entries])
        return
    raw = await connection.get_raw_connection()
    driver = raw.driver_connection
    assert driver is not None  # noqa: S101 — only a closed connection has none
    records = [to_values(entry, Instant.to_stdlib) for entry in entries]
    await driver.copy_records_to_table(EVENTS.name, columns=COLUMNS, records=records)


async def _known(connection: AsyncConnection, ids: Sequence[str], since: Instant) -> set[str]:
    """Those of the ids that were recorded since then."""
    if connection.dialect.name == "sqlite":
        values = {"ids": msgspec.json.encode(ids).decode(), "since": as_text(since)}
        return set(await connection.scalars(_KNOWN_SQLITE, values))
    return set(await connection.scalars(_KNOWN_POSTGRES, {"ids": list(ids), "since": since.to_stdlib()}))
