"""What becomes of a trail whose file is lost, replaced, damaged or cannot grow: it is said, and healed."""

import asyncio
import os
import resource
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hibernator.approvals.decision import Matter, decide
from hibernator.approvals.people import Directory
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.audit.verification import verify
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.account import operator_kubeconfig
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.exception_scenes import ExceptionScene, exception
from support.operators import running
from support.plan_scenes import noop, plan
from support.scaler_scenes import scaler, workload
from support.trail import NOON, ids, sleeps, slept


@asynccontextmanager
async def writing(file: Path) -> AsyncIterator[Trail]:
    async with Database(f"sqlite:///{file}") as database:
        trail = Trail(ChainStore(database, now=lambda: NOON), identity="test")
        trail.lead()
        task = asyncio.create_task(trail.run())
        await trail.flush(60)
        try:
            yield trail
        finally:
            task.cancel()
            await asyncio.wait([task])


async def refused(trail: Trail, cycle: int) -> str:
    """Why an event cannot be recorded."""
    with pytest.raises(AuditUnavailable, match="Nothing goes ahead without its record") as caught:
        await trail.record_now(slept(cycle), patience=60)
    return str(caught.value)


async def recorded(file: Path) -> list[str]:
    async with Database(f"sqlite:///{file}", read_only=True) as database:
        assert (await verify(database)).problem == ""
        return await ids(database)


async def recovered(trail: Trail) -> None:
    """Return when everything that waited is durable; each try may come while it is not back yet."""
    async with asyncio.timeout(120):
        while trail.waiting:
            try:
                await trail.flush(60)
            except AuditUnavailable:
                continue


async def test_a_file_that_is_taken_away_is_missed_and_a_new_one_is_not_begun(tmp_path: Path) -> None:
    """An open file can be written to although it has no name any more; nobody would find that again."""
    file, kept = tmp_path / "audit.db", tmp_path / "kept.db"
    async with writing(file) as trail:
        await trail.record_now(*sleeps(1, 2))
        for end in ("", "-wal", "-shm"):
            shutil.move(f"{file}{end}", f"{kept}{end}")
        assert "was taken away" in await refused(trail, 3)
        assert not file.exists()
        for end in ("", "-wal", "-shm"):
            shutil.move(f"{kept}{end}", f"{file}{end}")
        await recovered(trail)
    assert await recorded(file) == [one.id for one in sleeps(1, 2, 3)]


async def test_a_file_that_is_put_back_from_a_copy_is_used(tmp_path: Path) -> None:
    file, copy = tmp_path / "audit.db", tmp_path / "copy.db"
    async with writing(file) as trail:
        await trail.record_now(*sleeps(1, 2))
        with sqlite3.connect(file) as source, sqlite3.connect(copy) as target:
            source.backup(target)
        source.close()
        target.close()
        for end in ("", "-wal", "-shm"):
            os.unlink(f"{file}{end}")  # noqa: PTH108 — pathlib is not for coroutines, says another rule
        assert "was taken away" in await refused(trail, 3)
        shutil.move(copy, file)
        await recovered(trail)
    assert await recorded(file) == [one.id for one in sleeps(1, 2, 3)]


async def test_a_full_disk_is_named_and_what_waited_is_written_when_there_is_room(tmp_path: Path) -> None:
    file = tmp_path / "audit.db"
    async with writing(file) as trail:
        await trail.record_now(*sleeps(1))
        with no_file_grows_beyond(file.with_name("audit.db-wal").stat().st_size):
            said = await refused(trail, 2)
        assert str(file) in said
        assert "disk" in said
        await recovered(trail)
    assert await recorded(file) == [one.id for one in sleeps(1, 2)]


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def garbage(file: Path) -> None:
    file.write_bytes(b"this was a database once, before the disk forgot it" * 100)


def a_directory(file: Path) -> None:
    file.mkdir()


@pytest.mark.parametrize(
    ("damage", "words"), [(garbage, "not a database"), (a_directory, "unable to open database file")]
)
async def test_with_a_damaged_file_approvals_wait_and_say_why_and_scaling_goes_on(
    crds: ClusterInTest, namespace: str, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    file, scene = tmp_path / "audit.db", ExceptionScene(crds, namespace)
    damage(file)
    asked = exception("party", approvalRequired=True, approverEmails=["bob@company.com"], **_tonight())
    scene.apply(plan(noop("nothing"), name="dev-plan"), asked)
    scene.apply(workload(), scaler())
    clock = ManualClock("2026-03-02T08:59:30Z")
    bob = Directory().person("bob@company.com")
    async with (
        running(crds.kubeconfig, namespace, clock, database=f"sqlite:///{file}") as run,
        Client(credentials.find(str(operator_kubeconfig(crds.kubeconfig)))) as client,
    ):
        await run.until(lambda: words in run.operator.trail.away)
        await decide(client, Matter("party", namespace), bob, "approve", "cli", now=run.clock.now())
        await run.until(lambda: scene.state("party") == "Approved")
        await run.settle()
        assert scene.exception_status("party")["conditions"][0]["reason"] == "AwaitingRecord"
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas() == 4)
        assert scene.state("party") == "Approved"
        assert words in run.operator.trail.away


def _tonight() -> dict[str, Any]:
    return {
        "type": "suspend",
        "validFrom": "2026-03-02T00:00:00Z",
        "validUntil": "2026-03-03T00:00:00Z",
        "windows": [{"start": "18:00", "end": "22:00", "daysOfWeek": ["Monday"]}],
    }
