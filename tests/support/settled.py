"""When everything has come to rest, also where a real API server takes its time to answer."""

import asyncio
from typing import Any

from hibernator.kube.cache import Cache
from hibernator.kube.manager import Manager

_DEADLINE = 120.0  # real seconds; reached only by a test that fails
_LOOK_EVERY = 0.005


async def settled(manager: Manager) -> None:
    """Return when every cache shows what the API server has, and no controller has work to do about it.

    That includes what the test itself has just written, and what the reconciles wrote because of it. Looks
    that are wanted later do not count: they are for the clock.
    """
    async with asyncio.timeout(_DEADLINE):
        await manager.leading.wait()
        while True:
            if await _at_rest(manager):
                return
            await asyncio.sleep(_LOOK_EVERY)  # nobody tells when an API server's watch has caught up


async def _at_rest(manager: Manager) -> bool:
    for controller in manager.controllers:
        await controller.queue.wait_idle()
    for cache in manager.caches:
        if cache.trouble and not cache.synced.is_set():
            continue  # of a kind that may not be read
        if not await up_to_date(cache):
            return False
    return all(controller.queue.idle for controller in manager.controllers)


async def up_to_date(cache: Cache[Any]) -> bool:
    """Whether a cache shows what the API server has."""
    reflector = cache._reflector
    selection = reflector._selection
    there = await reflector._client.list(
        cache.kind,
        selection.namespace,
        label_selector=selection.label_selector,
        field_selector=selection.field_selector,
    )
    return {obj.metadata.uid: obj.metadata.resource_version for obj in there} == {
        obj.metadata.uid: obj.metadata.resource_version for obj in cache.values()
    }
