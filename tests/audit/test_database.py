"""The way to the database."""

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.migrate import migrate


async def test_sqlite_keeps_a_write_ahead_log_and_closes_the_file_to_others(tmp_path: Path) -> None:
    file = tmp_path / "new" / "audit.db"
    async with Database(f"sqlite:///{file}") as database:
        await migrate(database)
        async with database.begin() as connection:
            assert await connection.scalar(text("PRAGMA journal_mode")) == "wal"
            assert await connection.scalar(text("PRAGMA synchronous")) == 2  # FULL
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_second_way_to_the_same_file_does_not_drop_the_locks_of_the_first(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes the file once, however it was opened.

    A stranger would then believe to be the last one out, and take the write-ahead log away from under us.
    """
    url = f"sqlite:///{tmp_path}/audit.db"
    async with Database(url) as first:
        await migrate(first)
        Database(url)._prepare_file()
        stranger = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM audit_chain')"
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", stranger, tmp_path / "audit.db")
        assert await process.wait() == 0
        assert (tmp_path / "audit.db-wal").exists()


async def test_a_read_only_way_makes_no_file(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path}/audit.db", read_only=True) as database:
        with pytest.raises(AuditUnavailable, match="There is no audit database"):
            async with database.begin():
                pass
    assert not (tmp_path / "audit.db").exists()


async def test_a_file_with_odd_letters_in_its_name_is_opened_as_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "50% of #1?" / "audit trail.db"
    url = "sqlite:///" + str(file).replace("?", "%3F")
    async with Database(url) as database:
        await migrate(database)
    connection = sqlite3.connect(file)
    assert ("audit_events",) in connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()


@pytest.mark.parametrize("url", ["postgres://u@h/db", "postgresql://u@h/db", "postgresql+asyncpg://u@h/db"])
def test_every_spelling_of_postgresql_is_understood(url: str) -> None:
    assert Database(url).is_postgres


def test_a_password_is_never_shown() -> None:
    assert "secret" not in Database("postgresql://user:secret@host/db").name


def test_sqlite_is_new_enough_here_for_what_the_tables_need() -> None:
    assert sqlite3.sqlite_version_info >= (3, 37)
