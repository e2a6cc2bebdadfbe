"""The events of a watch, one by one."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TypeVar

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.client import Client
from hibernator.kube.wire import WatchEvent

T = TypeVar("T", bound=Object)


async def watched(
    client: Client, kind: Kind[T], version: str, namespace: str, seconds: float = 300.0
) -> AsyncIterator[WatchEvent[T]]:
    async with aclosing(client.watch(kind, version, namespace, seconds=seconds)) as batches:
        async for batch in batches:
            for event in batch:
                yield event
