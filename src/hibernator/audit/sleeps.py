"""What the trail tells of sleeping and waking plans from a moment on, and of who was asleep then."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from sqlalchemy import func, select
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import EVENTS, from_row

# Each tells what a target saves from then on.
SLEPT: Final = (
    "hibernateplan.target.slept",
    "hibernateplan.target.wokenbyothers",
    "hibernateplan.target.sleptagain",
)
ENDS: Final = ("hibernateplan.wake.started", "hibernateplan.deleted")
_AT_ONCE: Final = 500  # values in one question


async def sleeps(database: Database, since: Instant, namespace: str) -> AsyncIterator[Entry]:
    """Oldest first; before `since` only what tells of sleep that went on then, however long ago it began."""
    for entry in await _asleep_at(database, since, namespace):
        yield entry
    wanted = Filter(namespace=namespace, since=since, types=(*SLEPT, *ENDS))
    async for page in Reader(database).pages(wanted):
        for entry in page:
            yield entry


async def _asleep_at(database: Database, moment: Instant, namespace: str) -> list[Entry]:
    before = Filter(namespace=namespace, until=moment, types=(*SLEPT, *ENDS)).conditions()
    last = select(func.max(EVENTS.c.sequence)).where(*before).group_by(EVENTS.c.resource_uid)
    async with database.begin() as connection:
        found = await connection.execute(
            select(EVENTS.c.correlation_id).where(EVENTS.c.sequence.in_(last), EVENTS.c.type.in_(SLEPT))
        )
        cycles: Sequence[str] = found.scalars().all()
        entries: list[Entry] = []
        for some in _portions(cycles):
            query = select(EVENTS).where(
                *before, EVENTS.c.type.in_(SLEPT), EVENTS.c.correlation_id.in_(list(some))
            )
            rows = await connection.execute(query.order_by(EVENTS.c.sequence))
            entries += [from_row(row) for row in rows]
    return entries


def _portions(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))
