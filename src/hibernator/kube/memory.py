"""Keeps a process that holds caches small and quick."""

import asyncio.sslproto
import gc
from typing import Final

_CONTAINERS: Final = 50_000  # Python's own limit is 700; cycles here are rare, and small
_ROUNDS: Final = (20, 100)
_TLS_BUFFER: Final = 32 * 1024


def spare_the_caches() -> None:
    """Keep the collector of reference cycles from walking through the caches over and over.

    Cached objects are trees: they go when they are replaced, by counting references alone. But the collector
    does not know that, and starts whenever some hundreds more containers were made than freed, which a busy
    watch does many times a second. With tens of thousands of objects that costs as much as decoding them.
    """
    gc.set_threshold(_CONTAINERS, *_ROUNDS)


def spare_the_buffers() -> None:
    """Read from TLS connections through small buffers. Once, before the first one is made.

    asyncio keeps a quarter of a megabyte for each, forty times, where a TLS record has at most 16 KiB.
    It has no setting for that, only this attribute.
    """
    asyncio.sslproto.SSLProtocol.max_size = _TLS_BUFFER
