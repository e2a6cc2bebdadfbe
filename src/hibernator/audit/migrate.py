"""Brings the database to the shape that this version knows, whoever starts first."""

import asyncio
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text

from hibernator.audit.database import AuditUnavailable, Database

VERSION_TABLE: Final = "audit_version"

# Any number that nobody else uses: "hibernat" in ASCII.
_LOCK: Final = 0x68696265726E6174

# Alembic keeps the migration that runs in a global; the lock above only keeps other processes out.
_one_at_a_time: Final = asyncio.Lock()


async def migrate(database: Database) -> None:
    """Run the migrations that are missing, all or none. Of several callers one works and the others wait."""
    async with _one_at_a_time, database.begin() as connection:
        if database.is_postgres:
            await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        await connection.run_sync(_upgrade)


def config(connection: Connection) -> Config:
    found = Config()
    found.set_main_option("script_location", "hibernator.audit:migrations")
    found.attributes["connection"] = connection
    return found


def _upgrade(connection: Connection) -> None:
    try:
        command.upgrade(config(connection), "head")
    except CommandError as error:
        raise AuditUnavailable(
            f"The audit database was written by a newer version of hibernator ({error}). Run that version."
        ) from error
