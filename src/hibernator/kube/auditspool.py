"""Where audit events wait that nothing else remembers, while the database is away: a ConfigMap.

Most transitions stand in the status of their object and are told from there. What a webhook refused, and the
end of an object, stand nowhere; and a file in a Pod ends with the Pod. Whoever has such an event writes it
here when the database does not answer, under its own id, so that replicas need not know of each other and a
repeat changes nothing. The leader takes it to the trail when the database is back.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import structlog

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.audit.asked import Asked, among
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, from_json, to_json
from hibernator.audit.trail import Trail
from hibernator.kube.client import Client
from hibernator.kube.errors import AlreadyExists, Invalid, NotFound

NAME: Final = "hibernator-audit-spool"
MOST: Final = 500  # events; some 400 kB of the megabyte that a ConfigMap may have

_PATIENCE: Final = 5.0
_log: Final = structlog.get_logger(__name__)


class AuditSpool:
    """One for each replica, all of them over the same ConfigMap in the operator's own namespace."""

    def __init__(self, client: Client, trail: Trail, namespace: str) -> None:
        self._client = client
        self._trail = trail
        self._namespace = namespace
        self._waiting: frozenset[str] = frozenset()  # as far as this replica has seen

    async def keep(self, *events: AuditEvent, patience: float = _PATIENCE) -> None:
        """Return when these are durable, in the database or here; raises what the API server says to that."""
        missing = [one for one in events if not self._trail.has(one.id)]
        if not missing:
            return
        try:
            await self._trail.record_now(*missing, patience=patience)
        except AuditUnavailable:
            await self._put([one for one in missing if one.id not in self._waiting])

    async def asked(self, *uids: str) -> list[Asked]:
        """Who asked to delete these objects, as far as it can be known now."""
        try:
            found = await self._trail.asked(uids)
        except AuditUnavailable:
            found = []
        if {one.uid for one in found} >= set(uids):
            return found
        return [*found, *among(await self._spooled(), uids)]

    async def _spooled(self) -> list[AuditEvent]:
        try:
            spool = await self._client.get(CONFIG_MAPS, NAME, self._namespace)
        except NotFound:
            return []
        return [one for text in spool.data.values() if (one := read(text))]

    async def _put(self, events: Sequence[AuditEvent]) -> None:
        if not events:
            return
        if len(self._waiting) + len(events) > MOST:
            _full(events)
            return
        try:
            found = await self._write({one.id: to_json(one) for one in events})
        except Invalid:
            _full(events)
            return
        self._waiting = frozenset(found.data)

    async def _write(self, data: dict[str, str]) -> ConfigMap:
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
    """What somebody has put there, unless it is no event."""
    try:
        return from_json(text)
    except msgspec.DecodeError as error:
        # No replica writes this. It must not keep the rest out of the trail.
        _log.error("what is no event does not count in the audit spool", reason=str(error))
        return None


def _full(events: Sequence[AuditEvent]) -> None:
    for one in events:
        _log.error("no room for an audit event but in memory", spool=NAME, event=to_json(one))
