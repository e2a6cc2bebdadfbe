"""The way to PostgreSQL. Its driver is imported here only, and this module only where the URL names one."""

from typing import Any, Final

import asyncpg
from sqlalchemy import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

FAILURES: Final[tuple[type[Exception], ...]] = (asyncpg.PostgresError, asyncpg.InterfaceError)


def engine(url: URL, connect_seconds: int, seconds: int, *, read_only: bool) -> AsyncEngine:
    """A pool of connections, each of which gives up a command after so many seconds."""
    dsn = url.render_as_string(hide_password=False)

    async def connect() -> Any:
        # asyncpg reads the URL itself, so that sslmode, passfile and several hosts work as in libpq.
        return await asyncpg.connect(
            dsn,
            timeout=connect_seconds,
            command_timeout=seconds,
            server_settings={
                "application_name": "hibernator",
                "default_transaction_read_only": "on" if read_only else "off",
            },
        )

    return create_async_engine(
        "postgresql+asyncpg://", async_creator=connect, pool_size=4, max_overflow=0, pool_pre_ping=True
    )
