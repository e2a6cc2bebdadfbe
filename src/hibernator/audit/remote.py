"""The trail for a process that has no way to the database: through the read API of the operator."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from hibernator.audit.api import EVENTS, HEAD, LATEST, decode_entries, decode_position, question
from hibernator.audit.chain import Entry, Link
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.reading import PAGE, Filter
from hibernator.kube.reading import ReadApiError
from hibernator.kube.remote import Remote

T = TypeVar("T")


class RemoteReader:
    """A `TrailReader` over HTTPS."""

    def __init__(self, operator: Remote) -> None:
        self._operator = operator

    async def page(self, wanted: Filter, *, after: int = 0, limit: int = PAGE) -> list[Entry]:
        return await self._read(EVENTS, question(wanted, after=after, limit=limit), decode_entries)

    async def latest(self, wanted: Filter, limit: int) -> list[Entry]:
        return await self._read(LATEST, question(wanted, after=0, limit=limit), decode_entries)

    async def head(self) -> Link:
        found = await self._read(HEAD, {}, decode_position)
        return Link(found.sequence, found.hash)

    async def check(self) -> None:
        """Say so when the trail cannot be read."""
        await self.head()

    async def _read(self, path: str, parameters: dict[str, str], decode: Callable[[bytes], T]) -> T:
        try:
            body = await self._operator.get(path, parameters)
        except ReadApiError as error:
            raise AuditUnavailable(str(error)) from error
        try:
            return decode(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise AuditUnavailable(
                f"The answer of {self._operator.url} is no part of a trail: {error}."
            ) from error
