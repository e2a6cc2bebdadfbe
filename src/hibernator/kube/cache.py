"""What controllers read: the objects of a kind, kept up to date by a watch.

plans = Cache(client, PLANS)
plans.index("by-target", lambda plan: …)
plans.on_change(lambda old, new: queue.add(…))
tasks.create_task(plans.run())
await plans.wait_synced()
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.client import Client
from hibernator.kube.clock import steady
from hibernator.kube.metrics import CACHE_OBJECTS, CACHE_SILENT_SECONDS, CACHE_UNDECODABLE, Metrics
from hibernator.kube.reflector import Reflector, ReflectorTuning, Selection
from hibernator.kube.store import Store, lean

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
        keep: Callable[[T], T] = lean,
        habits: ReflectorTuning | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(
            kind, namespace=namespace, everything=not (label_selector or field_selector), keep=keep
        )
        metrics = metrics or Metrics()
        selection = Selection(namespace, label_selector, field_selector)
        self._reflector = Reflector(client, self, selection, habits or ReflectorTuning(), metrics)
        metrics.follow(CACHE_OBJECTS, lambda: len(self), kind.resource)
        metrics.follow(CACHE_UNDECODABLE, lambda: len(self.undecodable), kind.resource)
        metrics.follow(CACHE_SILENT_SECONDS, self.silent_for, kind.resource)

    @property
    def synced(self) -> asyncio.Event:
        """Set once everything that was there at the start has been seen."""
        return self._reflector.synced

    @property
    def trouble(self) -> str:
        """Why the API server refuses to list, in its own words; empty when it does not."""
        return self._reflector.trouble

    async def wait_synced(self) -> None:
        """Return once everything has been seen, and nothing of it is in doubt."""
        await self.synced.wait()
        await self._reflector.trusted.wait()

    def relist(self) -> None:
        """Read everything again: the API server was set back to an older state."""
        self._reflector.relist()

    def silent_for(self) -> float:
        """Seconds since the API server last answered; in a healthy cluster little more than a minute."""
        return steady() - self._reflector.contact

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        await self._reflector.run()


_Which = tuple[type[Object], str, str, str, str]


class Caches:
    """Gives the same cache to all who ask for the same objects; `namespace` is the only one looked at."""

    def __init__(self, client: Client, metrics: Metrics, namespace: str = "") -> None:
        self._client = client
        self._metrics = metrics
        self.namespace = namespace
        self._caches: dict[_Which, Cache[Any]] = {}

    def of(
        self,
        kind: Kind[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> Cache[T]:
        """The objects of a kind: all, those of another namespace, or those that a selector chooses."""
        where = "" if not kind.namespaced else self.namespace if namespace is None else namespace
        which = (kind.type, kind.resource, where, label_selector, field_selector)
        if which not in self._caches:
            # Those of a selection would tell their sizes under the name of the kind.
            metrics = None if label_selector or field_selector else self._metrics
            self._caches[which] = Cache(
                self._client,
                kind,
                where,
                label_selector=label_selector,
                field_selector=field_selector,
                metrics=metrics,
            )
        return self._caches[which]
