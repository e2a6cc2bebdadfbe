"""Both databases, real ones: every test that asks for `url` or `database` runs on each."""

import shutil
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


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def migrated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tables, made once; tests get copies."""
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path_factory.mktemp('migrated')}/audit.db"
    else:
        server: Postgres = request.getfixturevalue("postgres")
        found = await server.create_database()
    database = Database(found)
    await migrate(database)
    await database.close()
    return found


@pytest.fixture
async def empty_url(migrated: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables."""
    if migrated.startswith("sqlite"):
        return f"sqlite:///{tmp_path}/audit.db"
    server: Postgres = request.getfixturevalue("postgres")
    return await server.create_database()


@pytest.fixture
async def url(migrated: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database with its tables."""
    if migrated.startswith("sqlite"):
        shutil.copy(migrated.removeprefix("sqlite:///"), tmp_path / "audit.db")
        return f"sqlite:///{tmp_path}/audit.db"
    server: Postgres = request.getfixturevalue("postgres")
    return await server.create_database(template=migrated)


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    found = Database(url)
    yield found
    await found.close()
