"""What takes long to work out from what users wrote: off the event loop, and kept until something changes.

One of each namespace is worked out at a time. So other namespaces do not wait for them, however many there
are, and threads are left for everything else.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Worked(Generic[T]):
    def __init__(self, most: int = 200) -> None:
        """`most` is how many are remembered at once."""
        self._most = most
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._kept: OrderedDict[str, tuple[tuple[object, ...], T]] = OrderedDict()

    async def of(self, namespace: str, key: str, made_of: tuple[object, ...], work: Callable[[], T]) -> T:
        """What `work` makes of these objects, or of these very same ones when it was asked last."""
        async with self._turns.setdefault(namespace, asyncio.Lock()):
            kept = self._kept.get(key)
            if kept is None or not _are_same(kept[0], made_of):
                kept = self._kept[key] = made_of, await asyncio.to_thread(work)
            self._kept.move_to_end(key)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return kept[1]


def _are_same(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    """A cache replaces an object that changes; texts are compared."""
    return len(before) == len(now) and all(
        one is other or (isinstance(one, str) and one == other)
        for one, other in zip(before, now, strict=True)
    )
