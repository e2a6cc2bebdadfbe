"""Both databases, real ones: every test that asks for `url` runs on each."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hibernator.audit.database import Database
from hibernator.audit.migrate import migrate
from support.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/audit.db"
    server: Postgres = request.getfixturevalue("postgres")
    return server.create_database()


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    """A database with its tables."""
    found = Database(url)
    await migrate(found)
    yield found
    await found.close()
