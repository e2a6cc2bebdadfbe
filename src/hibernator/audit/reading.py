"""Asking the trail: by kind, name, actor, type and time, page by page, without holding anything up.

Pages follow the chain's own numbers, so that reading goes on exactly where it stopped, however much has been
written meanwhile. Each page is a transaction of its own: a long export must not keep a month from being
removed.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlalchemy import ColumnElement, Select, func, inspect, or_, select
from whenever import Instant

from hibernator.audit.chain import Entry, Link
from hibernator.audit.database import AuditUnavailable, Database
from hibernator.audit.schema import CHAIN, EVENTS, from_row

PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Filter:
    """What to look for. Everything that is given must hold; empty means any."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    actor: str = ""  # id or e-mail
    type: str = ""  # whole, or its beginning with a star: `scheduleexception.*`
    types: tuple[str, ...] = ()  # any of these
    since: Instant | None = None  # inclusive
    until: Instant | None = None  # exclusive

    def conditions(self) -> list[ColumnElement[bool]]:
        found: list[ColumnElement[bool]] = []
        if self.kind:
            found.append(func.lower(EVENTS.c.resource_kind) == self.kind.lower())
        if self.namespace:
            found.append(EVENTS.c.resource_namespace == self.namespace)
        if self.name:
            found.append(EVENTS.c.resource_name == self.name)
        if self.actor:
            found.append(
                or_(EVENTS.c.actor_id == self.actor, func.lower(EVENTS.c.actor_email) == self.actor.lower())
            )
        if self.type.endswith("*"):
            found.append(EVENTS.c.type.startswith(self.type[:-1], autoescape=True))
        elif self.type:
            found.append(EVENTS.c.type == self.type)
        if self.types:
            found.append(EVENTS.c.type.in_(self.types))
        if self.since:
            found.append(EVENTS.c.time >= self.since)
        if self.until:
            found.append(EVENTS.c.time < self.until)
        return found


class TrailReader(Protocol):
    """The trail for anyone who only looks: in the database itself, or through the operator (`audit.remote`).

    All of it raises `AuditUnavailable`. No page has more than `PAGE` events, however many are asked for.
    """

    async def page(self, wanted: Filter, *, after: int = 0, limit: int = PAGE) -> list[Entry]: ...

    async def latest(self, wanted: Filter, limit: int) -> list[Entry]: ...

    async def head(self) -> Link: ...

    async def check(self) -> None: ...


class Reader:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, wanted: Filter, *, after: int = 0, limit: int = PAGE) -> list[Entry]:
        """The next events after a number, oldest first."""
        query = select(EVENTS).where(*wanted.conditions(), EVENTS.c.sequence > after)
        return await self._entries(query.order_by(EVENTS.c.sequence, EVENTS.c.recorded_at).limit(limit))

    async def latest(self, wanted: Filter, limit: int) -> list[Entry]:
        """The last events, oldest first."""
        query = select(EVENTS).where(*wanted.conditions()).order_by(EVENTS.c.sequence.desc()).limit(limit)
        return (await self._entries(query))[::-1]

    async def pages(self, wanted: Filter, *, after: int = 0) -> AsyncIterator[list[Entry]]:
        """Everything, a page at a time."""
        while found := await self.page(wanted, after=after):
            yield found
            after = found[-1].sequence

    async def head(self) -> Link:
        """Where the chain ends."""
        async with self._database.begin() as connection:
            row = (await connection.execute(select(CHAIN.c.head_sequence, CHAIN.c.head_hash))).one()
            return Link(*row)

    async def check(self) -> None:
        """Say so when this is a database without a trail."""
        async with self._database.begin() as connection:
            if not await connection.run_sync(lambda sync: inspect(sync).has_table(CHAIN.name)):
                raise AuditUnavailable(
                    f"The database {self._database.name} holds no audit trail. Has the operator run with it?"
                )

    async def _entries(self, query: Select[Any]) -> list[Entry]:
        async with self._database.begin() as connection:
            return [from_row(row) for row in await connection.execute(query)]
