"""The tables are made by migrations, the same on both databases, by whoever starts first."""

from sqlalchemy import inspect

from hibernator.audit.database import Database
from hibernator.audit.migrate import migrate


async def test_an_empty_database_gets_its_tables(url: str) -> None:
    database = Database(url)
    await migrate(database)
    async with database.begin() as connection:
        tables = await connection.run_sync(lambda sync: set(inspect(sync).get_table_names()))
    await database.close()
    assert tables == {"audit_events", "audit_chain", "audit_inbox", "audit_version"}
