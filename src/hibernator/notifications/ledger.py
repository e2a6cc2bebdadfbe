"""The status of one HibernateNotification, which all its sinks write: each write on top of the last.

A send that is not recorded is a second message. So a record that meets another writer is laid over what that
one wrote, and what was sent is remembered until it is recorded.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hibernator.api.hibernatenotification import (
    NOTIFICATIONS,
    HibernateNotification,
    HibernateNotificationStatus,
    SinkStatus,
)
from hibernator.approvals.decision import Matter, write
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.patch import encode, merge_patch
from hibernator.notifications.records import sink_status, with_sink

Change = Callable[[HibernateNotification], HibernateNotificationStatus]


class Ledger:
    def __init__(
        self, client: Client, cache: Cache[HibernateNotification], found: HibernateNotification
    ) -> None:
        self._last = found
        self._client = client
        self._cache = cache
        self._turn = asyncio.Lock()

    @property
    def found(self) -> HibernateNotification:
        """As it is now; as it was last where it is gone, or another one has its name."""
        metadata = self._last.metadata
        newest = self._cache.get(metadata.namespace, metadata.name)
        if newest and newest.metadata.uid == metadata.uid:
            self._last = newest
        return self._last

    def sink(self, name: str) -> SinkStatus:
        return sink_status(self.found.status, name)

    async def record(self, sink: SinkStatus) -> None:
        await self.write(lambda found: with_sink(found.status, sink))

    async def write(self, change: Change) -> None:
        def difference(found: HibernateNotification) -> dict[str, Any]:
            return merge_patch(encode(found.status), encode(change(found)))

        async with self._turn:
            metadata = self._last.metadata
            mine = Matter(metadata.name, metadata.namespace, metadata.uid)
            self._last = await write(self._client, NOTIFICATIONS, mine, difference, seen=self.found)
            self._cache.wrote(self._last)
