"""What controllers read: the objects of a kind, kept up to date by a watch.

plans = Cache(client, PLANS)
plans.index("by-target", lambda plan: …)
plans.on_change(lambda old, new: queue.add(…))
tasks.create_task(plans.run())
await plans.wait_synced()
"""

import asyncio
from typing import TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.client import Client
from hibernator.kube.clock import steady
from hibernator.kube.metrics import CACHE_OBJECTS, CACHE_SILENT_SECONDS, CACHE_UNDECODABLE, Metrics
from hibernator.kube.reflector import Habits, Reflector, Selection
from hibernator.kube.store import Store

T = TypeVar("T", bound=Object)


class Cache(Store[T]):
    """A store that follows the API server for as long as `run` runs."""

    def __init__(
        self,
        client: Client,
        kind: Kind[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        habits: Habits | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(kind, namespace=namespace, everything=not (label_selector or field_selector))
        metrics = metrics or Metrics()
        selection = Selection(namespace, label_selector, field_selector)
        self._reflector = Reflector(client, self, selection, habits or Habits(), metrics)
        metrics.follow(CACHE_OBJECTS, lambda: len(self), kind.resource)
        metrics.follow(CACHE_UNDECODABLE, lambda: len(self.undecodable), kind.resource)
        metrics.follow(CACHE_SILENT_SECONDS, self.silent_for, kind.resource)

    @property
    def synced(self) -> asyncio.Event:
        """Set once everything that was there at the start has been seen."""
        return self._reflector.synced

    @property
    def trouble(self) -> str:
        """Why the API server does not tell what there is, in its own words; empty when it does."""
        return self._reflector.trouble

    async def wait_synced(self) -> None:
        """Return once everything has been seen, and nothing of it is in doubt."""
        await self.synced.wait()
        await self._reflector.trusted.wait()

    def relist(self) -> None:
        """Read everything anew: the API server was set back to an older state."""
        self._reflector.relist()

    def silent_for(self) -> float:
        """Seconds since the API server was last heard of; in a healthy cluster little more than a minute."""
        return steady() - self._reflector.contact

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        await self._reflector.run()
