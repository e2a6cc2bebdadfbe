"""Months: PostgreSQL keeps each in a partition of its own, and retention removes them whole."""

from sqlalchemy import delete, text
from sqlalchemy.ext.asyncio import AsyncConnection
from whenever import Instant, YearMonth

from hibernator.audit.schema import EVENTS


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
    # Readers are brief; one that is not must hold up the removal, not everybody behind it.
    await connection.execute(text("SET LOCAL lock_timeout = '3s'"))
    for name in found:
        if name < _partition(month):
            await connection.execute(text(f"DROP TABLE {name}"))


def _partition(month: YearMonth) -> str:
    return f"audit_events_{month.year:04}_{month.month:02}"
