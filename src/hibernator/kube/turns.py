"""Those who wait for a worker, in lanes that take turns: a long lane makes nobody wait in the others."""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Turns(Generic[K, V]):
    """Keys with what is known of them. Within a lane the first to come is the first to go."""

    def __init__(self, lane: Callable[[K], str]) -> None:
        self._lane = lane
        self._lanes: OrderedDict[str, OrderedDict[K, V]] = OrderedDict()  # whose turn it is comes first
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        """In the order in which they would go if nobody else came, but for the turns."""
        for keys in self._lanes.values():
            yield from keys

    def waiting(self, lane: str) -> int:
        """How many wait in a lane."""
        return len(self._lanes.get(lane, ()))

    def get(self, key: K) -> V | None:
        """What is known of a key that waits."""
        keys = self._lanes.get(self._lane(key))
        return keys.get(key) if keys else None

    def add(self, key: K, known: V) -> None:
        """Let a key wait that does not yet; a lane that was empty has its turn after all the others."""
        self._lanes.setdefault(self._lane(key), OrderedDict())[key] = known
        self._count += 1

    def remove(self, key: K) -> None:
        """Let a key that waits wait no longer."""
        name = self._lane(key)
        keys = self._lanes[name]
        del keys[key]
        if not keys:
            del self._lanes[name]
        self._count -= 1

    def take(self, full: Container[str] = ()) -> tuple[K, V] | None:
        """The first of the lane whose turn it is. A full lane is passed over and keeps its place."""
        name = next((name for name in self._lanes if name not in full), None)
        if name is None:
            return None
        keys = self._lanes[name]
        first = keys.popitem(last=False)
        if keys:
            self._lanes.move_to_end(name)
        else:
            del self._lanes[name]
        self._count -= 1
        return first

    def clear(self) -> None:
        self._lanes.clear()
        self._count = 0
