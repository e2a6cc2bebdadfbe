"""The tables are made by migrations, the same on both databases, by whoever starts first."""

import asyncio
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.migrate import migrate
from hibernator.audit.reading import Reader
from hibernator.audit.schema import metadata
from hibernator.audit.store import Store
from support.trail import NOON, ids, sleeps, slept


def differences(connection: Connection) -> object:
    context = MigrationContext.configure(connection, opts={"version_table": "audit_version"})
    return compare_metadata(context, metadata)


async def test_an_empty_database_gets_the_tables_that_the_code_expects(empty_url: str) -> None:
    database = Database(empty_url)
    await migrate(database)
    async with database.begin() as connection:
        assert await connection.run_sync(lambda sync: set(inspect(sync).get_table_names())) >= set(
            metadata.tables
        )
        assert await connection.run_sync(differences) == []
    await database.close()


async def test_a_second_start_changes_nothing(database: Database) -> None:
    store = Store(database, now=lambda: NOON)
    await store.append(await store.claim("a"), sleeps(1))
    await migrate(database)
    assert await ids(database) == [slept(1).id]


async def test_replicas_that_start_together_make_the_tables_once(empty_url: str) -> None:
    databases = [Database(empty_url) for _ in range(5)]
    await asyncio.gather(*(migrate(database) for database in databases))
    assert (await Reader(databases[0]).head()).sequence == 0
    for database in databases:
        await database.close()


async def test_a_database_of_a_newer_version_is_left_alone_and_told(database: Database) -> None:
    async with database.begin() as connection:
        await connection.execute(text("UPDATE audit_version SET version_num = '9999'"))
    with pytest.raises(AuditUnavailable, match="written by a newer version of hibernator"):
        await migrate(database)


async def test_sqlite_keeps_a_write_ahead_log_and_closes_the_file_to_others(tmp_path: Path) -> None:
    file = tmp_path / "new" / "audit.db"
    database = Database(f"sqlite:///{file}")
    await migrate(database)
    async with database.begin() as connection:
        assert await connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert await connection.scalar(text("PRAGMA synchronous")) == 2  # FULL
    await database.close()
    assert file.stat().st_mode & 0o777 == 0o600
