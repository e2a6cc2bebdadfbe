"""Walks the chain from the first event that is kept to the last, and stops at the first that does not fit."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, literal, select, tuple_

from hibernator.audit.chain import Entry, Link, misfit, missing
from hibernator.audit.database import Database
from hibernator.audit.reading import PAGE
from hibernator.audit.schema import CHAIN, EVENTS, AnyRow, from_row


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the walk found. `problem` is empty when everything fits."""

    start: Link  # what is kept begins after this
    end: Link  # the last event that fits
    problem: str = ""
    misfit: Entry | None = None  # the first event that does not


async def verify(
    database: Database, *, known: Link | None = None, progress: Callable[[Link], object] = lambda _link: None
) -> Verdict:
    """Check every hash, every link, the beginning against the last removal, and the end against the head.

    `known` is an end that somebody wrote down earlier, outside of the database: with it, a chain that was
    recomputed as a whole is found out as well.
    """
    while True:
        walk = _Walk(database, known, progress)
        verdict = await walk.run()
        # A month may have been removed under our feet. Then it was not a misfit, and the walk begins again.
        if not verdict.problem or await walk.still_starts_at(verdict.start):
            return verdict


class _Walk:
    def __init__(self, database: Database, known: Link | None, progress: Callable[[Link], object]) -> None:
        self._database = database
        self._known = known
        self._progress = progress
        self._removal: Link | None = None

    async def run(self) -> Verdict:
        chain = await self._chain()
        start = end = Link(chain.anchor_sequence, chain.anchor_hash)
        after: tuple[Any, ...] | None = None
        while True:
            while page := await self._page(after):
                for entry in page:
                    if problem := self._problem(start, end, entry):
                        return Verdict(start, end, problem, entry)
                    end = entry.link
                after = page[-1].sequence, page[-1].recorded_at
                self._progress(end)
            chain = await self._chain()
            if (chain.last or 0) <= end.sequence:  # otherwise more has been written since
                head = Link(chain.head_sequence, chain.head_hash)
                return Verdict(start, end, self._problem_at_end(start, end, head))

    def _problem(self, start: Link, end: Link, entry: Entry) -> str:
        if entry.sequence <= start.sequence:
            return f"it lies before the start of what is kept, which is event {start.sequence + 1}"
        if problem := misfit(end, entry):
            return problem
        if self._known and entry.sequence == self._known.sequence and entry.hash != self._known.hash:
            return "its hash is not the one that was written down earlier"
        if entry.type == "audit.pruned":
            told = json.loads(bytes(entry.data))
            self._removal = Link(told["through"], told["hash"])
        return ""

    def _problem_at_end(self, start: Link, end: Link, head: Link) -> str:
        if end.sequence < head.sequence:
            return f"{missing(end.sequence + 1, head.sequence)} at the end"
        if end != head:
            return f"the last event is {end}, but the chain's own note of its end says {head}"
        if start.sequence and start != self._removal:
            return f"the events up to {start.sequence} are gone, and no retention removed them"
        if self._known and self._known.sequence == start.sequence and self._known != start:
            return f"what is kept does not go on from event {start.sequence} as it was written down earlier"
        if self._known and self._known.sequence > end.sequence:
            return f"the end that was written down earlier, event {self._known.sequence}, is missing"
        return ""

    async def still_starts_at(self, start: Link) -> bool:
        chain = await self._chain()
        return Link(chain.anchor_sequence, chain.anchor_hash) == start

    async def _page(self, after: tuple[Any, ...] | None) -> list[Entry]:
        # By the whole key: two events with one number are one too many, also on either side of a page's end.
        key = EVENTS.c.sequence, EVENTS.c.recorded_at
        query = select(EVENTS).order_by(*key).limit(PAGE)
        if after:
            query = query.where(tuple_(*key) > tuple_(*map(literal, after, (column.type for column in key))))
        async with self._database.begin() as connection:
            return [from_row(row) for row in await connection.execute(query)]

    async def _chain(self) -> AnyRow:
        """Where the chain should begin and end, and the last event that is there, all at one moment."""
        last = select(func.max(EVENTS.c.sequence)).scalar_subquery().label("last")
        query = select(
            CHAIN.c.anchor_sequence, CHAIN.c.anchor_hash, CHAIN.c.head_sequence, CHAIN.c.head_hash, last
        )
        async with self._database.begin() as connection:
            return (await connection.execute(query)).one()
