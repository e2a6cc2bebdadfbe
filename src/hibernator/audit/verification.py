"""Walks the chain from the first event that is kept to the last, and stops at the first that does not fit."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import func, literal, select, tuple_
from whenever import Instant

from hibernator.audit import checkpoints
from hibernator.audit.chain import Entry, Link, misfit, missing
from hibernator.audit.checkpoints import Checkpoint, Keys, is_signed
from hibernator.audit.database import Database
from hibernator.audit.reading import PAGE, Filter, Reader
from hibernator.audit.schema import CHAIN, EVENTS, AnyRow, from_row

_NOTHING: Final[Keys] = {}


class Promise(NamedTuple):
    """What someone outside of the chain says about a place in it."""

    link: Link
    by: str
    signed: bool = False
    opens: bool = False  # what came before may be gone


@dataclass(frozen=True, slots=True)
class Verification:
    """What the walk found. `problem` is empty when everything fits."""

    start: Link  # what is kept begins after this
    end: Link  # the last event that fits
    problem: str = ""
    misfit: Entry | None = None  # the first event that does not
    uncompared: tuple[Promise, ...] = ()  # these lie before the start, so that nothing could be compared
    signed: Link | None = None  # the last place that a checkpoint vouches for
    is_start_signed: bool = False
    unsigned_since: Instant | None = None  # when the first event behind that place was recorded


async def verify(
    database: Database,
    *,
    known: Iterable[Promise] = (),
    keys: Keys = _NOTHING,
    after: Link | None = None,
    progress: Callable[[Link], object] = lambda _link: None,
) -> Verification:
    """Check every hash, every link, the beginning against the last removal, and the end against the head.

    `known` is what was written down earlier, outside of the database: with it, a chain that was recomputed as
    a whole is found out as well. With `keys`, so do the checkpoints in the trail that one of them has signed.
    With `after`, only what lies behind that place is walked, if it is still kept; the place itself must be
    there.
    """
    while True:
        walk = _Walk(database, progress, after)
        verdict = await walk.run([*known, *await _signed(database, keys)])
        # A month may have been removed under our feet. Then it was not a misfit, and the walk begins again.
        if not verdict.problem or await walk.still_starts_where_it_did():
            return verdict


def promised(checkpoint: Checkpoint) -> Promise:
    by = f"the checkpoint of {checkpoint.time}"
    return Promise(checkpoint.link, by, signed=True, opens=checkpoint.opens)


async def _signed(database: Database, keys: Keys) -> list[Promise]:
    """What the checkpoints in the trail say that one of these keys has signed; others say nothing."""
    if not keys:
        return []
    found: list[Promise] = []
    async for page in Reader(database).pages(Filter(type=checkpoints.TYPE)):
        for entry in page:
            checkpoint = checkpoints.read(bytes(entry.data))
            if checkpoint and is_signed(checkpoint, keys):
                found.append(promised(checkpoint))
    return found


class _Walk:
    def __init__(self, database: Database, progress: Callable[[Link], object], after: Link | None) -> None:
        self._database = database
        self._progress = progress
        self._after = after
        self._promises: Mapping[int, list[Promise]] = {}
        self._removal: Link | None = None
        self._anchor: Link | None = None
        self._signed: Link | None = None
        self._unsigned_since: Instant | None = None

    async def run(self, promises: Iterable[Promise]) -> Verification:
        self._promises = _by_sequence(promises)
        chain = await self._chain()
        start = self._anchor = Link(chain.anchor_sequence, chain.anchor_hash)
        after: tuple[Any, ...] | None = None
        if self._after and self._after.sequence > start.sequence:
            start = self._after
            if (found := await self._at(start)) is None:
                return Verification(
                    start, start, f"event {start.sequence} is not the one that was there before"
                )
            after = found.sequence, found.recorded_at
        end = start
        if problem := self._broken(start):
            return Verification(start, end, problem)
        is_start_signed = any(one.opens for one in self._promises.get(start.sequence, ()))
        while True:
            while page := await self._page(after):
                for entry in page:
                    if problem := self._problem(start, end, entry):
                        return Verification(start, end, problem, entry)
                    end = entry.link
                after = page[-1].sequence, page[-1].recorded_at
                self._progress(end)
            chain = await self._chain()
            if (chain.last or 0) <= end.sequence:  # otherwise more has been written since
                head = Link(chain.head_sequence, chain.head_hash)
                return Verification(
                    start,
                    end,
                    self._problem_at_end(start, end, head),
                    uncompared=tuple(self._before(start)),
                    signed=self._signed,
                    is_start_signed=is_start_signed,
                    unsigned_since=self._unsigned_since,
                )

    def _problem(self, start: Link, end: Link, entry: Entry) -> str:
        if entry.sequence <= start.sequence:
            return f"it lies before the start of what is kept, which is event {start.sequence + 1}"
        if problem := misfit(end, entry) or self._broken(entry.link):
            return problem
        if self._signed == entry.link:
            self._unsigned_since = None
        elif self._unsigned_since is None and entry.type != checkpoints.TYPE:
            self._unsigned_since = entry.recorded_at
        if entry.type == "audit.pruned":
            self._removal = _removed(entry)
        return ""

    def _broken(self, link: Link) -> str:
        """Which promise about this place does not hold; empty when all do."""
        for promise in self._promises.get(link.sequence, ()):
            if promise.link != link:
                return f"its hash is not that of {promise.by}"
            if promise.signed:
                self._signed = link
        return ""

    def _problem_at_end(self, start: Link, end: Link, head: Link) -> str:
        if end.sequence < head.sequence:
            return f"{missing(end.sequence + 1, head.sequence)} at the end"
        if end != head:
            return f"the last event is {end}, but the chain's own note of its end says {head}"
        if start == self._anchor and start.sequence and start != self._removal:
            return f"the events up to {start.sequence} are gone, and no retention removed them"
        behind = [number for number in self._promises if number > end.sequence]
        if behind:
            (promise, *_) = self._promises[max(behind)]
            return f"event {promise.link.sequence}, which {promise.by} has seen, is missing at the end"
        return ""

    def _before(self, start: Link) -> Iterable[Promise]:
        return (
            promise for number, said in self._promises.items() if number < start.sequence for promise in said
        )

    async def still_starts_where_it_did(self) -> bool:
        chain = await self._chain()
        return Link(chain.anchor_sequence, chain.anchor_hash) == self._anchor

    async def _at(self, link: Link) -> Entry | None:
        wanted = (EVENTS.c.sequence == link.sequence) & (EVENTS.c.hash == link.hash)
        async with self._database.begin() as connection:
            rows = await connection.execute(select(EVENTS).where(wanted))
            return next((from_row(row) for row in rows), None)

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


def _by_sequence(promises: Iterable[Promise]) -> Mapping[int, list[Promise]]:
    found: dict[int, list[Promise]] = {}
    for promise in promises:
        found.setdefault(promise.link.sequence, []).append(promise)
    return found


def _removed(entry: Entry) -> Link | None:
    """What a removal says that it removed; None when someone else has written it."""
    try:
        named = json.loads(bytes(entry.data))
        return Link(named["through"], named["hash"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
