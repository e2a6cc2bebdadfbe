"""The objects of one kind, for the controller that writes them.

Every write has the version that was read as its precondition, and what it answers is in the cache before the
next reconcile: no reconcile acts on an object that is older than its own last write to it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from hibernator.api.meta import Model, Object
from hibernator.decisions.notice import Notice
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.errors import Conflict
from hibernator.kube.events import Recorder
from hibernator.kube.patch import encode, merge_patch

T = TypeVar("T", bound=Object)


class Objects(Generic[T]):
    def __init__(self, client: Client, cache: Cache[T], recorder: Recorder) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder

    async def write_status(self, found: T, status: Model) -> T:
        """Make this its status, by a patch of what differs; nothing is sent where nothing does."""
        before: Model = found.status  # type: ignore[attr-defined] # every kind that a controller writes has one
        if status == before:
            return found
        patch = merge_patch(encode(before), encode(status))
        return await self._write(found, {"status": patch}, subresource="status")

    async def write_metadata(self, found: T, change: Mapping[str, Any]) -> T:
        return await self._write(found, {"metadata": change})

    async def read_again(self, found: T) -> None:
        """Raise a conflict unless the API server has it as the cache does, where the cache may be behind.

        For before what cannot be undone: the watch of a replica that has just begun to lead, for example, may
        be minutes behind.
        """
        metadata = found.metadata
        fresh = await self._client.get(self._cache.kind, metadata.name, metadata.namespace)
        if fresh.metadata.resource_version != metadata.resource_version:
            self._cache.wrote(fresh)
            raise Conflict(f"the {self._cache.kind.kind} has changed since it was read")

    def notify(self, found: T, notices: Iterable[Notice[Any]], *, quiet: float = 0.0) -> None:
        """Have Kubernetes Events written about it; none that was written less than `quiet` seconds ago."""
        for one in notices:
            self._recorder.note(self._cache.kind, found, one.type, one.reason, one.message, quiet=quiet)

    async def _write(self, found: T, body: Mapping[str, Any], subresource: str = "") -> T:
        metadata = found.metadata
        try:
            written = await self._client.patch(
                self._cache.kind,
                metadata.name,
                metadata.namespace,
                body,
                resource_version=metadata.resource_version,
                subresource=subresource,
            )
        except Conflict:
            await self.read_again(found)  # the watch may stand still: then every further try would conflict
            raise
        self._cache.wrote(written)
        return written
