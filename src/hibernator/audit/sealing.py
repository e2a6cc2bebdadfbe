"""Signs what the chain has become, now and then, and never what it has not looked at itself.

A key that signs whatever the database holds would sign a rewritten chain, too. So each checkpoint goes on
from the one before, which is remembered outside of the database: that place must still be there, everything
behind it must fit, and the last event that this process wrote itself must be among it. Otherwise nothing is
signed any more, and that is said in the log and in a metric.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import structlog
from whenever import Instant

from hibernator.audit.chain import START, Link
from hibernator.audit.checkpoints import Checkpoint, Signer, is_signed
from hibernator.audit.database import Database
from hibernator.audit.trail import Trail
from hibernator.audit.verification import Promise, Verification, verify

EVERY: Final = 600.0  # seconds

_log: Final = structlog.get_logger(__name__)


class Memory(Protocol):
    """Where the last checkpoint is kept, out of reach of the database's owner."""

    async def recall(self) -> Checkpoint | None: ...

    async def remember(self, checkpoint: Checkpoint) -> None: ...


class Sealer:
    def __init__(
        self,
        database: Database,
        trail: Trail,
        signer: Signer,
        memory: Memory,
        *,
        now: Callable[[], Instant],
        broken: Callable[[str], object] = lambda _why: None,
    ) -> None:
        """`database` is only read; `broken` hears why the chain is not what it was, or an empty text."""
        self._database = database
        self._trail = trail
        self._signer = signer
        self._memory = memory
        self._now = now
        self._broken = broken
        self._one_at_a_time = asyncio.Lock()

    async def seal(self) -> Checkpoint | None:
        """Sign what the chain is now; None when there is nothing new, or when it is not what it was.

        Raises AuditUnavailable when the database, and whatever the memory raises when that, cannot be used.
        """
        async with self._one_at_a_time:
            return await self._seal()

    async def _seal(self) -> Checkpoint | None:
        last = await self._recalled()
        verdict = await verify(
            self._database,
            known=list(self._written()),
            keys={} if last else self._signer.keys,
            after=last.link if last else None,
        )
        if verdict.problem:
            self._refuse(verdict)
            return None
        self._broken("")
        if not _is_news(verdict, last):
            return None
        checkpoint = self._signer.sign(verdict.end, self._now())
        await self._trail.record_now(checkpoint.event())
        await self._memory.remember(checkpoint)
        # With the log, the signature leaves the database's reach as soon as it is made.
        _log.info(
            "audit checkpoint", at=str(checkpoint.link), key=checkpoint.key_id, sign=checkpoint.signature
        )
        return checkpoint

    async def _recalled(self) -> Checkpoint | None:
        found = await self._memory.recall()
        if found and not is_signed(found, self._signer.keys):
            _log.warning(
                "last audit checkpoint is of another key; checking the whole trail", key=found.key_id
            )
            return None
        return found

    def _written(self) -> Iterator[Promise]:
        if self._trail.head != START:
            yield Promise(self._trail.head, "the operator's last write")

    def _refuse(self, verdict: Verification) -> None:
        self._broken(verdict.problem)
        at = verdict.misfit.sequence if verdict.misfit else verdict.end.sequence
        _log.error("audit trail does not fit; no checkpoint signed", event_number=at, why=verdict.problem)


def _is_news(verdict: Verification, last: Checkpoint | None) -> bool:
    """Whether there is more than the last checkpoint's own event."""
    since: Link = last.link if last else START
    return verdict.end.sequence > since.sequence + (1 if last else 0)
