"""The page about the audit trail: its commands on a trail, and its Python on events and in a controller."""

import ast
import asyncio
import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.audit.checkpoints import signer
from hibernator.audit.database import Database
from hibernator.audit.event import Actor, Resource, event
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from support.cluster import ClusterInTest
from support.pages import Shell, blocks
from support.postgres import Postgres

PAGE = "docs/guides/audit.md"
PARTY = Resource(
    group="hibernator.ardikabs.com", kind="ScheduleException", namespace="shop", name="party", uid="uid"
)


SPEC = {"spec": {"schedule": {"timezone": "UTC", "offHours": []}, "targets": []}}


async def test_the_trail_is_read_followed_exported_and_checked(
    cluster: ClusterInTest, tmp_path: Path
) -> None:
    read, _in_the_pod, _by_a_reader, check, make_key, check_signed = blocks(PAGE, "sh")
    check_one, _for_controllers = blocks(PAGE, "python")
    (tmp_path / "your-log-shipper").write_text("#!/bin/sh\nexec cat\n", "utf-8")
    (tmp_path / "your-log-shipper").chmod(0o755)
    url = f"sqlite:///{tmp_path}/audit.db"
    async with Database(url) as database:
        store = ChainStore(database, now=Instant.now)
        await store.prepare()
        bob = Actor(type="user", id="bob@example.com")
        made = event("scheduleexception.approved", PARTY, at=Instant.now(), identity=(1,), actor=bob)
        epoch = await store.claim("test")
        end = await store.append(epoch, [made])
    shell = Shell(cluster, tmp_path, more={"HIBERNATOR_DATABASE": url})
    lines = read.text.replace("1234", "0").splitlines()
    said = [shell.follow(line) if "--follow" in line else shell.type(line) for line in lines]
    assert "party" in said[0]
    assert all(said[index] for index in (1, 4))  # bob's event, and that of the shipper

    *_, exported = (tmp_path / "march.ndjson").read_text("utf-8").splitlines()
    exec(check_one.text, {"json": json, "hashlib": hashlib, "line": exported})  # noqa: S102  a page of ours
    last = json.loads(exported)
    known = f"{last['sequence']}:{last['hash']}"
    assert "whole" in shell.type(check.text.replace("1234:5f0e…", known))

    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hibernator-system"}}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(home))
    keygen, secret, remove = make_key.text.splitlines()
    shell.type(keygen)
    shell.type(secret)
    signs = signer((tmp_path / "audit.key").read_bytes())
    shell.type(remove)
    async with Database(url) as database:
        store = ChainStore(database, now=Instant.now)
        await store.append(epoch, [signs.sign(end, Instant.now()).event()])
    assert shell.type(check_signed.text).count("It is signed up to event 1.") == 2


async def test_savings_are_counted_by_plan_month_and_namespace(
    cluster: ClusterInTest, tmp_path: Path
) -> None:
    [commands] = blocks("docs/guides/savings.md", "sh")
    [prices] = blocks("docs/guides/savings.md", "yaml")
    (tmp_path / prices.name).write_text(prices.text, "utf-8")
    url = f"sqlite:///{tmp_path}/audit.db"
    nights = Resource(kind="HibernatePlan", namespace="shop", name="nights", uid="uid")
    data = {"cycle": 1, "target": "db", "type": "rds", "items": 3, "cpuMillicores": 4000}
    async with Database(url) as database:
        store = ChainStore(database, now=Instant.now)
        await store.prepare()
        slept = event("hibernateplan.target.slept", nights, at=Instant.now() - TimeDelta(hours=10), data=data)
        await store.append(await store.claim("test"), [slept])
    shell = Shell(cluster, tmp_path, more={"HIBERNATOR_DATABASE": url})
    assert "nights" in shell.type(commands.text)
    with (tmp_path / "savings.csv").open(encoding="utf-8") as file:
        counted = list(csv.DictReader(file))
    assert {line["currency"] for line in counted} == {"EUR"}
    assert sum(float(line["worth"]) for line in counted) == pytest.approx(10 * 3 * 0.35, rel=0.05)


async def test_a_controller_records_as_the_page_says(tmp_path: Path) -> None:
    _check_one, for_controllers = blocks(PAGE, "python")
    async with Database(f"sqlite:///{tmp_path}/audit.db") as database:
        store = ChainStore(database, now=Instant.now)
        await store.prepare()
        trail = Trail(store, identity="test")
        trail.lead()
        written = {"metadata": {"name": "nights", "namespace": "shop"}, "status": {"cycle": 1}} | SPEC
        names: dict[str, Any] = {"event": event, "Resource": Resource, "PLANS": PLANS, "trail": trail}
        names |= {"plan": msgspec.convert(written, HibernatePlan)}
        names |= {"started_at": Instant("2026-03-02T20:00:00Z")}
        code = compile(for_controllers.text, PAGE, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        writing = asyncio.create_task(trail.run())
        try:
            await eval(code, names)  # noqa: S307  a page of ours
            assert trail.has(names["started"].id)
        finally:
            writing.cancel()
            await asyncio.wait([writing])


EXEC = """#!/bin/sh
# What `kubectl exec` does, where there is no kubelet: the command behind `--`, in the environment of the pod.
[ "$1 $2 $3 $4 $5" = "exec deployment/hibernator -n hibernator-system --" ] || exit 64
shift 5
export HIBERNATOR_DATABASE="$OF_THE_POD"
exec "$@"
"""


async def test_an_administrator_asks_in_the_pod(cluster: ClusterInTest, tmp_path: Path) -> None:
    _read, in_the_pod, *_ = blocks(PAGE, "sh")
    (tmp_path / "kubectl").write_text(EXEC, "utf-8")
    (tmp_path / "kubectl").chmod(0o755)
    url = f"sqlite:///{tmp_path}/audit.db"
    await _a_trail(url)
    shell = Shell(cluster, tmp_path, more={"OF_THE_POD": url})
    said = await asyncio.to_thread(shell.type, in_the_pod.text)
    assert "party" in said
    assert "The trail is whole: 1 events" in said
    assert "party" in (tmp_path / "trail.ndjson").read_text("utf-8")


async def test_an_auditor_reads_postgresql_with_a_role_that_can_do_nothing_else(
    cluster: ClusterInTest, tmp_path: Path
) -> None:
    _read, _in_the_pod, by_a_reader, *_ = blocks(PAGE, "sh")
    [grant] = blocks(PAGE, "sql")
    with Postgres() as server:
        url = await server.create_database()
        await _a_trail(url)
        connection = await asyncpg.connect(url)
        await connection.execute(grant.text)
        await connection.close()
        auditor = url.replace("test@", "auditor:choose-one@")
        (tmp_path / "audit-url").write_text(auditor, "utf-8")
        said = await asyncio.to_thread(Shell(cluster, tmp_path).type, by_a_reader.text)
        assert "party" in said
        assert "The trail is whole: 1 events" in said
        connection = await asyncpg.connect(auditor)
        for change in ("DELETE FROM audit_events", "UPDATE audit_chain SET epoch = 9", "TABLE audit_inbox"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(change)
        await connection.close()


async def _a_trail(url: str) -> None:
    async with Database(url) as database:
        store = ChainStore(database, now=Instant.now)
        await store.prepare()
        made = event("scheduleexception.approved", PARTY, at=Instant.now(), identity=(1,))
        await store.append(await store.claim("test"), [made])
