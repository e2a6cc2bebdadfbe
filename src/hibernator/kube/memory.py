"""Keeps Python's collector of reference cycles from walking through the caches over and over.

Cached objects are trees: they go when they are replaced, by counting references alone. But the collector
does not know that, and starts whenever some hundreds more containers were made than freed, which a busy watch
does many times a second. With tens of thousands of objects that costs as much as decoding them.
"""

import gc
from typing import Final

_CONTAINERS: Final = 50_000  # Python's own limit is 700; cycles here are rare, and small
_ROUNDS: Final = (20, 100)


def spare_the_caches() -> None:
    """Collect cycles seldom. Once, when a process begins that holds caches."""
    gc.set_threshold(_CONTAINERS, *_ROUNDS)
