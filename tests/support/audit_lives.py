"""What the short-lived writers of the audit tests do with their lives, each time from the start."""

import asyncio
import json
from pathlib import Path

from whenever import Instant

from hibernator.audit.database import Database
from hibernator.audit.event import AuditEvent
from hibernator.audit.store import ChainStore
from hibernator.audit.trail import Trail
from support.mortal import Fate
from support.trail import slept

JANUARY = Instant.from_utc(2026, 1, 15)
JUNE = Instant.from_utc(2026, 6, 15)

OLD = [slept(cycle, at=JANUARY) for cycle in range(3)]
OWN = [slept(cycle, at=JUNE) for cycle in range(10, 13)]
LEFT_BY_OTHERS = [slept(cycle, at=JUNE) for cycle in range(20, 23)]


async def write(fate: Fate, arguments: list[str]) -> None:
    """Everything that a leader does to a database that has its tables, once."""
    async with fate.watch(Database(arguments[0])) as database:
        january, june = ChainStore(database, now=lambda: JANUARY), ChainStore(database, now=lambda: JUNE)
        epoch = await june.claim("mortal")
        await january.append(epoch, OLD)
        await june.append(epoch, OWN)
        await june.deliver(LEFT_BY_OTHERS)
        await june.drain(epoch, 10)
        await june.prune(epoch, keep_months=2)


async def start(fate: Fate, arguments: list[str]) -> None:
    """The first start with an empty database."""
    async with fate.watch(Database(arguments[0])) as database:
        store = ChainStore(database, now=lambda: JUNE)
        await store.prepare()
        await store.append(await store.claim("mortal"), OWN)


async def operate(fate: Fate, arguments: list[str]) -> None:
    """A controller with one object: each pass moves it on, writes its status, and tells what that knows.

    The file stands for the API server: `cycle` and `unaudited` are the object's status, `truth` is for the
    test. As the guide to the trail asks, the trace of a transition stays in the status until it is durable.
    """
    url, path, cycles = arguments
    async with fate.watch(Database(url)) as database:
        trail = Trail(ChainStore(database, now=lambda: JUNE), identity="mortal")
        trail.lead()
        writer = asyncio.create_task(trail.run())
        for _ in iter(lambda: _pass(fate, trail, Path(path), int(cycles)), False):
            await asyncio.sleep(0.001)  # between passes, the writer has its turn
        writer.cancel()
        await asyncio.wait([writer])


def _pass(fate: Fate, trail: Trail, file: Path, cycles: int) -> bool:
    """Gather, decide, perform; False when there is nothing left to do."""
    seen = json.loads(file.read_text())
    status = seen | {"unaudited": [cycle for cycle in seen["unaudited"] if not trail.has(_of(cycle).id)]}
    if seen["cycle"] < cycles:
        cycle = seen["cycle"] + 1
        status |= {"cycle": cycle, "truth": [*seen["truth"], cycle]}
        status["unaudited"].append(cycle)
    if status != seen:
        fate.step()
        _replace(file, status)
        fate.step()
    for cycle in status["unaudited"]:
        trail.record(_of(cycle))
    return status["cycle"] < cycles or bool(status["unaudited"])


def _of(cycle: int) -> AuditEvent:
    return slept(cycle, at=JUNE)


def _replace(file: Path, status: dict[str, object]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(status))
    new.replace(file)
