"""Who deletes something is named also when nobody could write about it at that moment."""

import asyncio
import json
from pathlib import Path

from whenever import Instant

from admission.acting import actors, admin, delete, made, named
from admission.operating import answers, free_address, operating
from hibernator.operator.app import LEASE
from support.account import HOME
from support.cluster import ClusterInTest
from support.plan_scenes import noop, plan
from support.policed import BOB, Room
from support.scaler_scenes import scaler


async def test_who_deletes_while_the_database_is_away_is_named_when_it_is_back(
    room: Room, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.write_text("no directory, and so no place for a database")
    bob = admin(room, BOB)
    async with operating(room, database=f"sqlite:///{disk}/audit.db") as run:
        await made(run, room, scaler("outage"))
        await made(run, room, plan(noop("nothing"), name="outage"))  # which has a finalizer
        for of in ("tws", "hplan"):
            await delete(bob, of, "outage")
        await run.settle()
        disk.unlink()
        disk.mkdir()
        for kind in ("timewindowscaler", "hibernateplan"):
            assert await actors(run, f"{kind}.deleted", "outage") == [named(bob)]


async def test_who_deletes_while_no_one_leads_is_named_by_the_next_leader(room: Room, tmp_path: Path) -> None:
    """As when the leader is killed between the end of an object and its record."""
    audit, address = {"database": f"sqlite:///{tmp_path}/audit.db", "leader_elect": True}, free_address()
    bob = admin(room, BOB)
    async with operating(room, address, **audit) as run:
        await made(run, room, scaler("unseen"))
        await run.operator.trail.flush()
    await asyncio.to_thread(leads, room, "somebody-who-dies")
    standby = asyncio.create_task(first_act(room, address, audit))
    async with asyncio.timeout(120):
        while not await asyncio.to_thread(answers, room):  # noqa: ASYNC110  nobody tells when it is asked
            await asyncio.sleep(0.05)
    await delete(bob, "tws", "unseen")
    await asyncio.to_thread(leads, room, "")
    assert await standby == [named(bob)]


async def test_what_goes_with_its_namespace_is_deleted_by_kubernetes(installed: ClusterInTest) -> None:
    room = Room(installed, installed.create_namespace())
    async with operating(room) as run:
        await made(run, room, scaler("along"))
        await asyncio.to_thread(room.cluster.kubectl, "delete", "namespace", room.namespace, "--timeout=60s")
        [(sort, who, _)] = await actors(run, "timewindowscaler.deleted", "along")
    assert (sort, who) == ("serviceaccount", "system:serviceaccount:kube-system:namespace-controller")


async def first_act(room: Room, address: str, audit: dict[str, object]) -> list[tuple[str, str, str]]:
    """What an operator tells of the end when its turn has come."""
    async with operating(room, address, **audit) as run:
        return await actors(run, "timewindowscaler.deleted", "unseen")


def leads(room: Room, holder: str) -> None:
    """Let somebody have the lease, or nobody."""
    now = Instant.now().format_iso(unit="microsecond")
    held = {"leaseDurationSeconds": 3600} if holder else {"leaseDurationSeconds": None}
    body = {"spec": {"holderIdentity": holder, "renewTime": now, **held}}
    where = ("-n", HOME.namespace, "--type=merge", "--patch", json.dumps(body))
    room.cluster.kubectl("patch", "lease", LEASE, *where)
