"""What an operator that is asked to stop does about the events that wait."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import AsyncAdaptedQueuePool

from hibernator.audit.database import Database
from hibernator.audit.migrate import migrate
from hibernator.kube import credentials
from hibernator.operator.app import Operator, operator
from hibernator.operator.settings import Settings
from support.cluster import ClusterInTest
from support.trail import ids, slept

_DEADLINE = 60  # real seconds; reached only by a test that fails


@asynccontextmanager
async def operating(
    cluster: ClusterInTest, namespace: str, database: str
) -> AsyncIterator[tuple[Operator, asyncio.Task[None]]]:
    """An operator that leads, and the task in which it runs."""
    settings = Settings(
        database=database,
        namespace=namespace,
        watch_namespace=namespace,
        listen="127.0.0.1:0",
        leader_elect=False,
    )
    async with operator(settings, credentials.find(str(cluster.kubeconfig))) as made:
        task = asyncio.create_task(made.manager.run())
        async with asyncio.timeout(_DEADLINE):
            await made.manager.leading.wait()
            made.trail.record(slept(1))
            await made.trail.flush(_DEADLINE)
        yield made, task


async def locked(file: Path) -> sqlite3.Connection:
    """A lock on the database, waited for while the operator gets on with what it has begun."""
    lock = sqlite3.connect(file, _DEADLINE, isolation_level=None, check_same_thread=False)
    await asyncio.to_thread(lock.execute, "BEGIN IMMEDIATE")
    return lock


async def test_events_that_wait_are_written_before_it_goes(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/audit.db"
    async with operating(crds, namespace, url) as (made, task), asyncio.timeout(_DEADLINE):
        lock = await locked(tmp_path / "audit.db")
        made.trail.record(slept(2))
        made.manager.stop()
        await asyncio.sleep(0)  # it has heard of it, and cannot write yet
        lock.close()
        await task
    async with Database(url, read_only=True) as database:
        assert await ids(database) == [slept(1).id, slept(2).id]


async def test_a_database_that_is_away_keeps_no_one_from_going(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/audit.db"
    async with operating(crds, namespace, url) as (made, task), asyncio.timeout(_DEADLINE):
        lock = await locked(tmp_path / "audit.db")
        made.trail.record(slept(2))
        made.manager.stop()
        await task
        assert made.trail.waiting == 1, "the next process tells it"
        lock.close()


async def test_whoever_waits_for_the_database_has_ended_when_it_is_closed(tmp_path: Path) -> None:
    """Were it cancelled once more by the end of the event loop, the process would never end."""
    database = Database(f"sqlite:///{tmp_path}/audit.db")
    await migrate(database)
    lock = await locked(tmp_path / "audit.db")

    async def use() -> None:
        async with database.begin():
            pass

    task = asyncio.create_task(use())
    pool = database.engine.pool
    assert isinstance(pool, AsyncAdaptedQueuePool)
    async with asyncio.timeout(_DEADLINE):
        while not pool.checkedout():  # noqa: ASYNC110  then it waits for the lock
            await asyncio.sleep(0)
        task.cancel()
        await database.close()
    assert task.cancelled()
    lock.close()
