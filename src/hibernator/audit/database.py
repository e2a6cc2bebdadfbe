"""The way to the database: SQLite in a file, or PostgreSQL by URL, and one kind of error for both.

Everything that a database or the way to it can do wrong becomes `AuditUnavailable`, because the same follows
from all of it: wait and try again, and approve nothing meanwhile.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from hibernator.audit.address import shown

DEFAULT_URL: Final = "sqlite:////var/lib/hibernator/audit.db"

_CONNECT_SECONDS: Final = 5
_WRITE_SECONDS: Final = 15
_READ_SECONDS: Final = 120  # a person who looks for something rare in years of events is patient

_FAILURES: Final[tuple[type[Exception], ...]] = (
    SQLAlchemyError,
    sqlite3.Error,
    OSError,  # includes TimeoutError
)


class AuditUnavailable(Exception):  # noqa: N818 — it names a state of the world, not a mistake
    """The audit database cannot be used now."""


class Database:
    """A pool of connections. A read-only one never creates, changes or locks anything."""

    def __init__(self, url: str = DEFAULT_URL, *, read_only: bool = False) -> None:
        parsed = _parse(url)
        self.name = shown(url)
        self.is_postgres = parsed.get_backend_name() == "postgresql"
        if self.is_postgres:
            from hibernator.audit.postgres import FAILURES, engine  # the driver, only where it is needed

            seconds = _READ_SECONDS if read_only else _WRITE_SECONDS
            self.engine = engine(parsed, _CONNECT_SECONDS, seconds, read_only=read_only)
            self._failures = _FAILURES + FAILURES
            self._file = None
        else:
            self._failures = _FAILURES
            self._file = Path(parsed.database or "")
            self._known: tuple[int, int] | None = (
                None  # the file that is open, which a name alone does not tell
            )
            self.engine = _sqlite(self._file, read_only=read_only)
        self._read_only = read_only
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """One transaction: committed at the end, rolled back on any error."""
        self._users += 1
        self._unused.clear()
        try:
            await self._find_file()
            async with self.engine.begin() as connection:
                yield connection
        except self._failures as error:
            raise AuditUnavailable(
                f"The audit database {self.name} cannot be used: {_why(error)}."
            ) from error
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def close(self) -> None:
        """Let go of the database, after all that are still busy with it.

        Someone who was cancelled waits for SQLite to give up, and must not be cancelled once more by the end
        of the event loop: aiosqlite would then wait for ever, and the process with it.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_WRITE_SECONDS):
                await self._unused.wait()
        await self.engine.dispose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def _find_file(self) -> None:
        """An open file can be written to when it has lost its name, and no one would find that again."""
        if self._file is None:
            return
        found = _identity(self._file)
        if self._known and found != self._known:
            await self.engine.dispose()
        if self._known and found is None:
            raise AuditUnavailable(
                f"The audit database {self._file} was taken away while it was in use. Put it back, or "
                "restart the operator to begin another."
            )
        self._prepare_file()
        self._known = _identity(self._file)

    def _prepare_file(self) -> None:
        if self._file is None or self._file.exists():
            return
        if self._read_only:
            raise AuditUnavailable(f"There is no audit database at {self._file}.")
        # Made before SQLite makes it, because names and addresses are no one else's business. Only ever when
        # it is new: closing a file drops every lock that this process has on it, SQLite's included.
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(self._file, os.O_CREAT | os.O_EXCL, 0o600))


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ValueError(
            "The database is not given as a URL; write sqlite:////var/lib/hibernator/audit.db or "
            "postgresql://user:password@host/database."
        ) from None
    backend = parsed.drivername.partition("+")[0]
    if backend == "sqlite" and parsed.database in {None, "", ":memory:"}:
        raise ValueError("The database URL names no file; write sqlite:////path/to/audit.db.")
    if backend not in {"sqlite", "postgresql", "postgres"}:
        raise ValueError(f"The database URL begins with {backend!r}; only sqlite and postgresql are known.")
    return parsed.set(drivername="sqlite" if backend == "sqlite" else "postgresql")


def _sqlite(file: Path, *, read_only: bool) -> AsyncEngine:
    url = URL.create(
        "sqlite+aiosqlite",
        database=file.absolute().as_uri(),
        query={"uri": "true", "mode": "ro" if read_only else "rwc"},
    )
    # Transactions begin where we say so: the driver's own rules would leave DDL outside of them.
    engine = create_async_engine(
        url, connect_args={"timeout": _CONNECT_SECONDS, "isolation_level": None}, pool_size=4, max_overflow=0
    )

    @event.listens_for(engine.sync_engine, "connect")
    def _settings(connection: Any, _record: object) -> None:
        if read_only:
            return
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA journal_mode = WAL")
            cursor.execute("PRAGMA synchronous = FULL")  # what was confirmed survives a power cut
            cursor.close()
        except BaseException:
            connection.close()  # no one else would: its thread would outlive the process's end
            raise

    @event.listens_for(engine.sync_engine, "begin")
    def _begin(connection: Any) -> None:
        # A writer waits for its turn here, not half-way, where SQLite would refuse to wait.
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    return engine


def _why(error: BaseException) -> str:
    cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
    if isinstance(cause, OSError) and cause.filename:
        return f"{cause.filename}: {cause.strerror}"
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else "no answer in time"
