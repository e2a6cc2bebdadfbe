"""Where audit events wait that nothing else remembers, while the database is away: a ConfigMap.

Most transitions stand in the status of their object and are recorded from there. What a webhook refused,
and the end of an object, stand nowhere; and a file in a Pod ends with the Pod. Anyone who has such an event
writes it here when the database does not answer, under its own id, so that replicas need not know of each
other and a repeat changes nothing. The leader takes it to the trail when the database is back. Callers that
come together share one write, because many writes to one object wait for each other.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
import structlog

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.audit.asked import DeletionRequest, among
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, from_json, to_json
from hibernator.audit.trail import Trail
from hibernator.kube.client import Client
from hibernator.kube.clock import steady as real_time
from hibernator.kube.errors import AlreadyExists, Invalid, NotFound

NAME: Final = "hibernator-audit-spool"
LARGEST: Final = 900_000  # bytes, of the 1,048,576 that a ConfigMap may have: some thousand events

_PATIENCE: Final = 5.0
_LOOK_AGAIN: Final = 1.0  # seconds between two looks at whether a full spool was drained
_log: Final = structlog.get_logger(__name__)


class AuditSpool:
    """One for each replica, all of them over the same ConfigMap in the operator's own namespace."""

    def __init__(
        self,
        client: Client,
        trail: Trail,
        namespace: str,
        *,
        largest: int = LARGEST,
        steady: Callable[[], float] = real_time,
    ) -> None:
        self._client = client
        self._trail = trail
        self._namespace = namespace
        self._largest = largest
        self._steady = steady
        # What is in the ConfigMap as far as this replica has seen, and when it looked.
        self._waiting: frozenset[str] = frozenset()
        self._size = 0
        self._looked_at = -_LOOK_AGAIN
        # What those who call now want to have written, and whose turn it is to write.
        self._unwritten: dict[str, str] = {}
        self._turn = asyncio.Lock()

    async def keep(self, *events: AuditEvent, patience: float = _PATIENCE) -> None:
        """Return when these are durable, in the database or here; raises what the API server says to that.

        What finds no room here either is written to the log, and stays in the trail's memory.
        """
        missing = [one for one in events if not self._trail.has(one.id)]
        if not missing:
            return
        try:
            await self._trail.record_now(*missing, patience=patience)
        except AuditUnavailable:
            await self._put({one.id: to_json(one) for one in missing if one.id not in self._waiting})

    async def asked(self, *uids: str) -> list[DeletionRequest]:
        """Who asked to delete these objects, as far as it can be known now."""
        try:
            found = await self._trail.asked(uids)
        except AuditUnavailable:
            found = []
        if {one.uid for one in found} >= set(uids):
            return found
        spool = await self._read()
        spooled = [one for text in spool.data.values() if (one := read(text))] if spool else []
        return [*found, *among(spooled, uids)]

    async def waits(self) -> bool:
        """Whether anything is here that the trail does not have yet."""
        spool = await self._read()
        return bool(spool and spool.data)

    async def _put(self, texts: Mapping[str, str]) -> None:
        self._unwritten.update(texts)
        try:
            async with self._turn:
                if texts.keys() - self._waiting:  # otherwise the one before has written it along
                    await self._write({**texts, **self._unwritten})
        finally:
            for name in texts:
                self._unwritten.pop(name, None)
        for name in texts.keys() - self._waiting:
            _log.error("audit spool full", spool=NAME, record=texts[name])

    async def _write(self, texts: Mapping[str, str]) -> None:
        """Write as many of these as there is room for."""
        fitting = self._fitting(texts)
        if len(fitting) < len(texts) and self._steady() - self._looked_at >= _LOOK_AGAIN:
            self._see(await self._read())
            fitting = self._fitting(texts)
        if not fitting:
            return
        try:
            self._see(await self._merge(fitting))
        except Invalid:  # other replicas have filled it meanwhile
            self._see(await self._read())

    def _fitting(self, texts: Mapping[str, str]) -> dict[str, str]:
        size, fitting = self._size, {}
        for name, text in texts.items():
            more = 0 if name in self._waiting else _size(name, text)
            if size + more <= self._largest:
                size += more
                fitting[name] = text
        return fitting

    def _see(self, spool: ConfigMap | None) -> None:
        data = spool.data if spool else {}
        self._waiting = frozenset(data)
        self._size = sum(_size(*item) for item in data.items())
        self._looked_at = self._steady()

    async def _read(self) -> ConfigMap | None:
        try:
            return await self._client.get(CONFIG_MAPS, NAME, self._namespace)
        except NotFound:
            return None

    async def _merge(self, data: Mapping[str, str]) -> ConfigMap:
        """Merged, so that it does not matter what others have written meanwhile."""
        body = {"data": data}
        try:
            return await self._client.patch(CONFIG_MAPS, NAME, self._namespace, body, resource_version=None)
        except NotFound:
            pass
        try:
            new = {"metadata": {"name": NAME}, **body}
            return await self._client.create(CONFIG_MAPS, new, self._namespace)
        except AlreadyExists:
            return await self._client.patch(CONFIG_MAPS, NAME, self._namespace, body, resource_version=None)


def read(text: str) -> AuditEvent | None:
    """What someone has put there, unless it is no event."""
    try:
        return from_json(text)
    except msgspec.DecodeError as error:
        # No replica writes this. It must not keep the rest out of the trail.
        _log.error("what is no event does not count in the audit spool", reason=str(error))
        return None


def _size(name: str, text: str) -> int:
    return len(name) + len(text.encode())
