"""What the trail says about sleeping and waking plans from a moment on, and which were asleep then."""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

import msgspec
from sqlalchemy import func, select
from whenever import Instant

from hibernator.audit.chain import Entry
from hibernator.audit.database import Database
from hibernator.audit.reading import Filter, Reader
from hibernator.audit.schema import EVENTS, from_row
from hibernator.decisions.savings import Plan, Rate, Slept, Woke

# Each says what a target saves from then on.
SLEPT: Final = (
    "hibernateplan.target.slept",
    "hibernateplan.target.wokenbyothers",
    "hibernateplan.target.sleptagain",
)
ENDS: Final = ("hibernateplan.wake.started", "hibernateplan.deleted")
_AT_ONCE: Final = 500  # values in one question


class _Data(msgspec.Struct, rename="camel"):
    """What the event of a target that fell asleep carries."""

    target: str = ""
    type: str = ""
    items: int = 0
    cpu_millicores: int | None = None
    memory_mib: int = msgspec.field(default=0, name="memoryMiB")
    nodes: int = 0
    machines: str = ""  # as `eu-central-1/m5.large=3 eu-central-1/m5.xlarge=1`
    timezone: str = "UTC"


async def sleeps(database: Database, since: Instant, namespace: str) -> AsyncIterator[Entry]:
    """Oldest first; before `since` only what is about sleep that went on then, however long ago it began."""
    for entry in await _asleep_at(database, since, namespace):
        yield entry
    wanted = Filter(namespace=namespace, since=since, types=(*SLEPT, *ENDS))
    async for page in Reader(database).pages(wanted):
        for entry in page:
            yield entry


async def _asleep_at(database: Database, moment: Instant, namespace: str) -> list[Entry]:
    before = Filter(namespace=namespace, until=moment, types=(*SLEPT, *ENDS)).conditions()
    last = select(func.max(EVENTS.c.sequence)).where(*before).group_by(EVENTS.c.resource_uid)
    async with database.begin() as connection:
        found = await connection.execute(
            select(EVENTS.c.correlation_id).where(EVENTS.c.sequence.in_(last), EVENTS.c.type.in_(SLEPT))
        )
        cycles: Sequence[str] = found.scalars().all()
        entries: list[Entry] = []
        for some in _portions(cycles):
            query = select(EVENTS).where(
                *before, EVENTS.c.type.in_(SLEPT), EVENTS.c.correlation_id.in_(list(some))
            )
            rows = await connection.execute(query.order_by(EVENTS.c.sequence))
            entries += [from_row(row) for row in rows]
    return entries


def _portions(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _AT_ONCE] for start in range(0, len(values), _AT_ONCE))


def read_sleep(entry: Entry) -> tuple[Slept | Woke, bool]:
    """What an event says about the sleep of a plan, and whether it says what that saves."""
    about = entry.resource
    plan, at = Plan(about.namespace, about.name, about.uid), entry.time.timestamp()
    if entry.type not in SLEPT:
        return Woke(plan, at), True
    try:
        data = msgspec.json.decode(entry.data, type=_Data)
    except msgspec.DecodeError:
        data = _Data()  # `audit verify` finds the change
    rate = Rate(
        type=data.type,
        items=data.items,
        millicores=data.cpu_millicores or 0,
        mebibytes=data.memory_mib,
        nodes=data.nodes,
        machines=_machines(data.machines),
        zone=data.timezone,
    )
    return Slept(plan, at, data.target, rate), data.cpu_millicores is not None


def _machines(text: str) -> dict[str, int]:
    pairs = (one.rpartition("=") for one in text.split())
    return {name: int(number) for name, _, number in pairs if name and number.isdecimal()}
