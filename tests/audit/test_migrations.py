"""The tables are made by migrations, the same on both databases, by whoever starts first."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from hibernator.audit import migrations
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.migrate import NEWEST, migrate
from hibernator.audit.reading import Reader
from hibernator.audit.schema import metadata
from hibernator.audit.store import ChainStore
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
    store = ChainStore(database, now=lambda: NOON)
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


def test_the_newest_version_is_that_of_the_last_migration() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    assert scripts.get_current_head() == NEWEST


def test_a_database_of_the_newest_shape_is_opened_without_alembic(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from hibernator.audit.database import Database
from hibernator.audit.migrate import migrate

async def main():
    async with Database("sqlite:///{tmp_path}/audit.db") as database:
        await migrate(database)

asyncio.run(main())
print("alembic" in sys.modules)
"""
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in "ab"
    ]
    assert [run.stdout.strip() for run in runs] == ["True", "False"]
