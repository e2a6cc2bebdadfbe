"""Takes to the audit trail what had to wait in a ConfigMap, when the database is back."""

from typing import Final

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.spool import NAME, read
from hibernator.audit.trail import Trail
from hibernator.controllers.means import Means
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.controller import Controller, For, Key, Result

_AGAIN: Final = 30.0  # seconds


class SpoolReconciler:
    def __init__(self, client: Client, spools: Cache[ConfigMap], trail: Trail) -> None:
        self._client = client
        self._spools = spools
        self._trail = trail

    async def reconcile(self, key: Key) -> Result:
        found = self._spools.get(*key)
        if found is None or not found.data:
            return Result()
        try:
            await self._trail.record_now(*(one for text in found.data.values() if (one := read(text))))
        except AuditUnavailable:
            return Result(_AGAIN)
        # Others may have added something since. Each goes by its own name, so that this takes nothing of it.
        written = await self._client.patch(
            CONFIG_MAPS, key.name, key.namespace, {"data": dict.fromkeys(found.data)}, resource_version=None
        )
        self._spools.wrote(written)
        return Result()


def spool_controller(means: Means, home: str) -> Controller:
    spools = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={NAME}")
    return Controller(
        "auditspool",
        SpoolReconciler(means.client, spools, means.trail).reconcile,
        sources=[For(spools)],
        clock=means.clock,
        metrics=means.metrics,
        workers=1,
    )
