"""A cache that runs, somebody who listens to it, and somebody who changes the world behind its back."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.reflector import ReflectorTuning

SELECTOR = "app=x"  # leaves out the ConfigMap that every namespace has


@dataclass
class Listener:
    """Hears of every change, and can be asked to wait for one."""

    cache: Cache[ConfigMap]
    transitions: Counter[str] = field(default_factory=Counter)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.cache.on_change(self._hear)

    def _hear(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is None and old is not None:
            self.transitions[f"- {old.metadata.name} {old.metadata.uid}"] += 1
        elif old is None and new is not None:
            self.transitions[f"+ {new.metadata.name} {new.metadata.uid}"] += 1
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when the condition holds, looking again after each change."""
        async with asyncio.timeout(30):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def until_like(self, *objects: ConfigMap) -> None:
        """Return when the cache holds exactly these."""
        wanted = {_version(obj) for obj in objects}
        await self.until(lambda: {_version(obj) for obj in self.cache.values()} == wanted)


def _version(obj: ConfigMap) -> tuple[str, str, str]:
    return obj.metadata.name, obj.metadata.uid, obj.metadata.resource_version


@dataclass(frozen=True)
class World:
    """Somebody else who works in the same namespace, past the proxy."""

    client: Client
    namespace: str

    async def make(self, name: str, value: str = "") -> ConfigMap:
        body = {"metadata": {"name": name, "labels": {"app": "x"}}, "data": {"v": value}}
        return await self.client.create(CONFIG_MAPS, body, self.namespace)

    async def change(self, name: str, value: str) -> ConfigMap:
        patch = {"data": {"v": value}}
        return await self.client.patch(CONFIG_MAPS, name, self.namespace, patch, resource_version=None)

    async def delete(self, name: str) -> None:
        await self.client.delete(CONFIG_MAPS, name, self.namespace)

    async def truth(self) -> list[ConfigMap]:
        return await self.client.list(CONFIG_MAPS, self.namespace, label_selector=SELECTOR)


@asynccontextmanager
async def following(
    client: Client, namespace: str, habits: ReflectorTuning | None = None, *, selector: str = SELECTOR
) -> AsyncIterator[Listener]:
    """A cache that runs."""
    cache = Cache(client, CONFIG_MAPS, namespace, label_selector=selector, habits=habits)
    cache.index("value", lambda obj: [obj.data.get("v", "")])
    listener = Listener(cache)
    async with running(cache):
        yield listener


@asynccontextmanager
async def running(cache: Cache[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(cache.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
