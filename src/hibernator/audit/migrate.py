"""Brings the database to the shape that this version knows, no matter which process starts first.

Alembic is imported only when there is something to do: it costs a process a good part of its start, and a
database changes its shape once in a release.
"""

import asyncio
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Text, column, inspect, select, table, text

from hibernator.audit.database import AuditUnavailable, Database

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE: Final = "audit_version"
NEWEST: Final = "0003"  # the last of the migrations

# Any number that no one else uses: "hibernat" in ASCII.
_LOCK: Final = 0x68696265726E6174

# Alembic keeps the migration that runs in a global; the lock above only keeps other processes out.
_one_at_a_time: Final = asyncio.Lock()


async def migrate(database: Database) -> None:
    """Run the migrations that are missing, all or none. Of several callers one works and the others wait."""
    async with _one_at_a_time, database.begin() as connection:
        if await connection.run_sync(_is_newest):
            return
        if database.is_postgres:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def config(connection: Connection) -> "Config":
    from alembic.config import Config

    found = Config()
    found.set_main_option("script_location", "hibernator.audit:migrations")
    found.attributes["connection"] = connection
    return found


def _is_newest(connection: Connection) -> bool:
    if not inspect(connection).has_table(VERSION_TABLE):
        return False
    found = connection.scalars(select(column("version_num", Text)).select_from(table(VERSION_TABLE)))
    return found.all() == [NEWEST]


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.util import CommandError

    try:
        command.upgrade(config(connection), "head")
    except CommandError as error:
        raise AuditUnavailable(
            f"The audit database was written by a newer version of hibernator ({error}). Run that version."
        ) from error
