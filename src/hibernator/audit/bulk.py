"""The two statements on the way of every event, in each database's own fastest form.

Everything else goes through SQLAlchemy alike; these two would spend most of their time in it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.event import as_text
from hibernator.audit.schema import COLUMNS, EVENTS, to_values

_INSERT: Final = f"INSERT INTO {EVENTS.name} VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 — constants

# One parameter for all ids: a list of any length is then the same, already planned statement.
_KNOWN_SQLITE: Final = text(
    "SELECT id FROM audit_events WHERE id IN (SELECT value FROM json_each(:ids)) AND recorded_at >= :since"
)
_KNOWN_POSTGRES: Final = text(
    "SELECT id FROM audit_events WHERE id = ANY(CAST(:ids AS text[])) AND recorded_at >= :since"
)


async def insert(connection: AsyncConnection, entries: Iterable[Entry]) -> None:
    if connection.dialect.name == "sqlite":
        await connection.exec_driver_sql(_INSERT, [to_values(entry, as_text) for entry in entries])
        return
    raw = await connection.get_raw_connection()
    driver = raw.driver_connection
    assert driver is not None  # noqa: S101 — only a closed connection has none
    records = [to_values(entry, Instant.to_stdlib) for entry in entries]
    await driver.copy_records_to_table(EVENTS.name, columns=COLUMNS, records=records)


async def known(connection: AsyncConnection, ids: Sequence[str], since: Instant) -> set[str]:
    """Those of the ids that were recorded since then."""
    if connection.dialect.name == "sqlite":
        values = {"ids": msgspec.json.encode(ids).decode(), "since": as_text(since)}
        return set(await connection.scalars(_KNOWN_SQLITE, values))
    return set(await connection.scalars(_KNOWN_POSTGRES, {"ids": list(ids), "since": since.to_stdlib()}))
