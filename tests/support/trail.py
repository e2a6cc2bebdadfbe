"""Small builders for audit events and a look at what the database holds."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from sqlalchemy import select
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent, Resource, event
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import COLUMNS, INBOX, to_values

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # NUL and lone surrogates included
ANY_DATA = st.dictionaries(
    ANY_TEXT,
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
        lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
        max_leaves=4,
    ),
)

NOON = Instant.from_utc(2026, 3, 2, 12)


def plan(name: str = "nightly") -> Resource:
    return Resource(
        group="hibernator.ardikabs.com", kind="HibernatePlan", namespace="shop", name=name, uid=f"uid-{name}"
    )


def slept(cycle: int, *, at: Instant = NOON, name: str = "nightly") -> AuditEvent:
    """The plan's sleep of this cycle began."""
    return event("hibernateplan.sleep.started", plan(name), at=at, identity=(cycle,), data={"cycle": cycle})


def sleeps(*cycles: int, at: Instant = NOON) -> list[AuditEvent]:
    return [slept(cycle, at=at) for cycle in cycles]


def to_row(entry: Entry) -> dict[str, Any]:
    """An entry by the names of its columns."""
    return dict(zip(COLUMNS, to_values(entry, lambda moment: moment), strict=True))


async def ids(database: Database) -> list[str]:
    """The ids in the chain, in its order."""
    found = await Reader(database).page(Filter(), limit=100_000)
    return [entry.id for entry in found]


async def waiting(database: Database) -> Sequence[str]:
    """The ids in the inbox."""
    async with database.begin() as connection:
        return (await connection.scalars(select(INBOX.c.id))).all()


async def eventually(check: Callable[[], Awaitable[bool]]) -> None:
    """Ask the database until it says yes; each question is a round trip, so that others get their turn."""
    async with asyncio.timeout(60):
        while not await check():
            pass
