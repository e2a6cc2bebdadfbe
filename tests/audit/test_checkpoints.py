"""Whoever owns the database can write the trail anew, but not so that it verifies. On both databases."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import delete, insert, update
from structlog.testing import capture_logs
from whenever import Instant, TimeDelta

from hibernator.audit.chain import START, Entry, Link, append
from hibernator.audit.checkpoints import (
    TYPE,
    Checkpoint,
    Signer,
    is_signed,
    new_key,
    read,
    signer,
)
from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.memory import CheckpointMemory
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import CHAIN, EVENTS
from hibernator.audit.sealing import Sealer
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from hibernator.audit.verification import verify
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.operators import running
from support.trail import NOON, slept, to_row

PRIVATE, PUBLIC = new_key()


@dataclass
class Notebook:
    """A memory out of the database's reach."""

    last: Checkpoint | None = None

    async def recall(self) -> Checkpoint | None:
        return self.last

    async def remember(self, checkpoint: Checkpoint) -> None:
        self.last = checkpoint


@dataclass
class Scene:
    database: Database
    url: str
    trail: Trail
    sealer: Sealer
    memory: Notebook
    signer: Signer
    broken: list[str]
    now: Instant = NOON

    async def happen(self, *cycles: int) -> None:
        await self.trail.record_now(*(slept(cycle, at=self.now) for cycle in cycles), patience=60)

    async def entries(self) -> list[Entry]:
        return await Reader(self.database).page(Filter())

    async def rewrite(self, change: Callable[[Entry], AuditEvent | None]) -> None:
        """What the owner of the database can do: any other history, with every hash as it should be."""
        old = await self.entries()
        link, new = START, []
        for entry in old:
            fields = {name: getattr(entry, name) for name in AuditEvent.__struct_fields__}
            if told := change(msgspec.structs.replace(entry, **fields)):
                bare = AuditEvent(**{name: getattr(told, name) for name in AuditEvent.__struct_fields__})
                new.append(append(link, bare, entry.recorded_at))
                link = new[-1].link
        await self.store(new)

    async def store(self, entries: Iterable[Entry], anchor: Link = START) -> None:
        rows = [to_row(entry) for entry in entries]
        async with self.database.begin() as connection:
            await connection.execute(delete(EVENTS))
            await connection.execute(insert(EVENTS), rows)
            await connection.execute(
                update(CHAIN).values(
                    head_sequence=rows[-1]["sequence"],
                    head_hash=rows[-1]["hash"],
                    anchor_sequence=anchor.sequence,
                    anchor_hash=anchor.hash,
                )
            )

    async def check(self, *arguments: object, now: Instant | None = None) -> Ran:
        return await asyncio.to_thread(
            hibernator, "audit", "verify", *arguments, "--database", self.url, now=now or self.now
        )


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "audit.pub"
    file.write_bytes(PUBLIC)
    return file


@pytest.fixture
async def scene(database: Database, url: str) -> AsyncIterator[Scene]:
    signs = signer(PRIVATE)
    trail = Trail(ChainStore(database, now=lambda: made.now, signer=signs), identity="test")
    memory = Notebook()
    broken: list[str] = []
    sealer = Sealer(database, trail, signs, memory, now=lambda: made.now, broken=broken.append)
    made = Scene(database, url, trail, sealer, memory, signs, broken)
    trail.lead()
    running = asyncio.create_task(trail.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


def erased(entry: Entry) -> AuditEvent | None:
    """Without event 2, and without a checkpoint that would tell."""
    return None if entry.id == slept(2).id else entry


def rewritten(entry: Entry) -> AuditEvent | None:
    return msgspec.structs.replace(entry, error="nothing happened") if entry.id == slept(2).id else entry


def unsigned(entry: Entry) -> AuditEvent | None:
    return None if entry.type == TYPE else rewritten(entry)


async def test_a_checkpoint_is_an_event_that_names_and_signs_the_end_of_the_chain(scene: Scene) -> None:
    await scene.happen(1, 2, 3)
    made = await scene.sealer.seal()
    *before, told = await scene.entries()
    assert made
    assert made.link == before[-1].link
    assert (told.type, told.actor.type, read(bytes(told.data))) == (TYPE, "operator", made)
    assert is_signed(made, scene.signer.keys)


async def test_nothing_is_signed_twice(scene: Scene) -> None:
    assert await scene.sealer.seal() is None, "there is nothing yet"
    await scene.happen(1)
    assert await scene.sealer.seal()
    assert await scene.sealer.seal() is None
    await scene.happen(2)
    assert await scene.sealer.seal()
    assert len(await scene.entries()) == 4


async def test_a_signed_trail_verifies_with_its_key(scene: Scene, key: Path) -> None:
    await scene.happen(1, 2, 3)
    await scene.sealer.seal()
    await scene.happen(4)
    done = await scene.check("--key", key)
    assert done.code == 0, done.err
    assert "It is signed up to event 3." in done.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (rewritten, "does not fit: its hash is not that of the checkpoint of 2026-03-02T12:00:00"),
        (erased, "does not fit: its hash is not that of the checkpoint of 2026-03-02T12:00:00"),
        (unsigned, "The trail is not whole: no checkpoint in it is signed by"),
    ],
)
async def test_a_trail_that_was_written_anew_does_not_verify(
    scene: Scene, key: Path, change: Callable[[Entry], AuditEvent | None], said: str
) -> None:
    await scene.happen(1, 2, 3)
    await scene.sealer.seal()
    await scene.happen(4)
    await scene.rewrite(change)
    assert (await scene.check()).code == 0, "without the key, nothing can tell"
    done = await scene.check("--key", key)
    assert done.code == 1
    assert said in done.err


async def test_signatures_of_another_key_count_for_nothing(scene: Scene, key: Path) -> None:
    await scene.happen(1, 2, 3)
    await scene.sealer.seal()
    other = signer(new_key()[0])

    def signed_by_another(entry: Entry) -> AuditEvent | None:
        return other.sign(Link(3, entry.previous_hash), NOON).event() if entry.type == TYPE else entry

    await scene.rewrite(signed_by_another)
    done = await scene.check("--key", key)
    assert (done.code, "no checkpoint in it is signed by" in done.err) == (1, True)


async def test_a_cut_tail_is_found_by_checkpoints_that_were_exported(
    scene: Scene, key: Path, tmp_path: Path
) -> None:
    for cycle in (1, 2):
        await scene.happen(cycle)
        await scene.sealer.seal()
    export = await asyncio.to_thread(hibernator, "audit", "export", "--type", TYPE, "--database", scene.url)
    file = tmp_path / "checkpoints.ndjson"
    file.write_text(export.out)
    assert (await scene.check("--key", key, "--checkpoints", file)).code == 0
    await scene.store((await scene.entries())[:2])
    assert (await scene.check("--key", key)).code == 0, "the trail itself cannot tell"
    done = await scene.check("--key", key, "--checkpoints", file)
    assert done.code == 1
    assert "event 3, which the checkpoint of 2026-03-02T12:00:00.000000Z has seen, is missing" in done.err


async def test_old_events_without_a_signature_are_not_proven(scene: Scene, key: Path) -> None:
    await scene.happen(1)
    await scene.sealer.seal()
    scene.now += TimeDelta(minutes=1)
    await scene.happen(2, 3)
    assert (await scene.check("--key", key, now=NOON + TimeDelta(minutes=50))).code == 0
    done = await scene.check("--key", key, now=NOON + TimeDelta(hours=5))
    assert done.code == 5
    assert (
        "the events behind 1 are not signed, though the first of them is of 2026-03-02T12:01:00Z." in done.err
    )


async def test_a_removal_by_the_retention_is_signed(scene: Scene, key: Path) -> None:
    await scene.happen(1, 2)
    await scene.sealer.seal()
    scene.now = NOON.to_tz("UTC").add(months=5).to_instant()
    await scene.happen(3)
    store = ChainStore(scene.database, now=lambda: scene.now, signer=scene.signer)
    assert await store.prune(await store.claim("test"), keep_months=1) == 3
    done = await scene.check("--key", key, "--checkpoints", _exported(key.parent, scene.memory.last))
    assert done.code == 0, done.err


async def test_a_removal_that_someone_else_made_is_not_proven_not_even_at_a_signed_place(
    scene: Scene, key: Path
) -> None:
    await scene.happen(1, 2)
    await scene.sealer.seal()
    await scene.happen(3)
    removed, *kept = (await scene.entries())[1:]
    told = slept(9)
    pruned = msgspec.structs.replace(
        told,
        id="forged",
        type="audit.pruned",
        data=msgspec.Raw(msgspec.json.encode({"through": removed.sequence, "hash": removed.hash})),
    )
    await scene.store([*kept, append(kept[-1].link, pruned, kept[-1].recorded_at)], removed.link)
    assert (await scene.check()).code == 0, "without the key, nothing can tell"
    done = await scene.check("--key", key)
    assert done.code == 5
    assert "the removal of the events before 3 is not signed." in done.err


async def test_what_was_known_and_lies_before_the_retention_is_not_called_whole(scene: Scene) -> None:
    await scene.happen(1, 2)
    known = (await scene.entries())[0].link
    scene.now = NOON.to_tz("UTC").add(months=5).to_instant()
    await scene.happen(3)
    store = ChainStore(scene.database, now=lambda: scene.now)
    await store.prune(await store.claim("test"), keep_months=1)
    done = await scene.check("--known", known)
    assert done.code == 5
    assert "whole" not in done.out + done.err
    assert "event 1 was not compared with an earlier check, because what is kept begins with" in done.err


@pytest.mark.parametrize("change", [rewritten, erased, unsigned])
async def test_the_operator_signs_nothing_more_once_the_trail_is_not_what_it_was(
    scene: Scene, change: Callable[[Entry], AuditEvent | None]
) -> None:
    """Also if it was rewritten so that nothing inside the database can tell."""
    await scene.happen(1, 2, 3)
    await scene.sealer.seal()
    await scene.rewrite(change)
    await scene.happen(4)
    with capture_logs() as lines:
        assert await scene.sealer.seal() is None
    assert scene.broken[-1]
    assert [line["event"] for line in lines] == ["audit trail does not fit; no checkpoint signed"]


async def test_what_was_rewritten_since_the_last_checkpoint_is_noticed_by_who_wrote_it(scene: Scene) -> None:
    await scene.happen(1)
    await scene.sealer.seal()
    await scene.happen(2)
    await scene.rewrite(rewritten)
    with capture_logs():
        assert await scene.sealer.seal() is None
    assert scene.broken[-1] == "its hash is not that of the operator's last write"


async def test_an_operator_that_remembers_nothing_checks_the_whole_trail_before_it_signs(
    scene: Scene,
) -> None:
    await scene.happen(1, 2)
    await scene.sealer.seal()
    await scene.happen(3)
    scene.memory.last = None
    assert await scene.sealer.seal()
    await scene.happen(4)
    await scene.rewrite(rewritten)
    scene.memory.last = None
    with capture_logs():
        assert await scene.sealer.seal() is None


async def test_a_memory_that_someone_forged_is_not_believed(scene: Scene) -> None:
    await scene.happen(1, 2)
    scene.memory.last = Checkpoint(sequence=2, hash="0" * 64, time="2026-03-02T12:00:00Z", key_id="x")
    with capture_logs():
        assert await scene.sealer.seal()


async def test_only_what_is_new_is_walked(scene: Scene) -> None:
    await scene.happen(*range(20))
    made = await scene.sealer.seal()
    await scene.happen(30)
    walked: list[int] = []
    assert made
    await verify(scene.database, after=made.link, progress=lambda link: walked.append(link.sequence))
    async with scene.database.begin() as connection:
        await connection.execute(update(EVENTS).where(EVENTS.c.sequence == 5).values(error="x"))
    assert (await verify(scene.database, after=made.link)).problem == ""
    assert (await verify(scene.database)).problem != ""
    assert walked == [22]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--checkpoints", "{folder}/none"], 2, "without a key, nothing proves who signed them"),
        (["--key", "{folder}/none"], 2, "cannot be read: No such file"),
        (["--key", "{folder}/nonsense"], 2, "it holds no public key of the type Ed25519"),
        (
            ["--key", "{folder}/audit.pub", "--checkpoints", "{folder}/nonsense"],
            2,
            "line 1 is not an exported",
        ),
        (["--key", "{folder}/audit.pub", "--checkpoints", "{folder}/forged"], 1, "line 1 is not signed by"),
    ],
)
async def test_options_that_cannot_be_used_are_told(
    scene: Scene, key: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "nonsense").write_text("nonsense\n")
    forged = signer(new_key()[0]).sign(Link(3, "0" * 64), NOON)
    _exported(tmp_path, forged).rename(tmp_path / "forged")
    done = await scene.check(*(one.format(folder=tmp_path) for one in arguments))
    assert (done.code, said in done.err) == (code, True), done.err


def _exported(folder: Path, checkpoint: Checkpoint | None) -> Path:
    assert checkpoint
    line = {"type": TYPE, "data": msgspec.json.decode(bytes(checkpoint.event().data))}
    file = folder / "exported.ndjson"
    file.write_bytes(msgspec.json.encode(line) + b"\n")
    return file


async def test_a_leader_signs_when_it_begins_and_when_it_ends_and_remembers_it_in_the_cluster(
    crds: ClusterInTest, namespace: str, tmp_path: Path
) -> None:
    (tmp_path / "audit.key").write_bytes(PRIVATE)
    (tmp_path / "audit.pub").write_bytes(PUBLIC)
    url = f"sqlite:///{tmp_path}/audit.db"

    async def checkpoints() -> list[int]:
        async with Database(url, read_only=True) as database:
            found = await Reader(database).page(Filter(type=TYPE))
        return [one.sequence for entry in found if (one := read(bytes(entry.data)))]

    for life in (1, 2):
        async with running(
            crds.kubeconfig, namespace, database=url, audit_key=str(tmp_path / "audit.key")
        ) as run:
            await run.operator.trail.record_now(slept(life), patience=60)
        async with Client(find(str(crds.kubeconfig))) as client:
            memory = await CheckpointMemory(client, namespace).recall()
        assert memory
        assert (await checkpoints())[-1] == memory.sequence
    assert len(await checkpoints()) == 2
    done = await asyncio.to_thread(
        hibernator, "audit", "verify", "--key", tmp_path / "audit.pub", "--database", url, now=NOON
    )
    assert done.code == 0, done.err
