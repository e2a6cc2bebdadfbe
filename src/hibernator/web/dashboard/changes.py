"""How new what a replica knows is, for pages that wait for something newer."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from hibernator.api.meta import Object
from hibernator.kube.cache import Cache
from hibernator.web.cases import Cases

_LONGEST: Final = 20  # digits of a version

Version = tuple[int, ...]  # one number for each topic


class Changes:
    """By topic. A version is the newest resourceVersion of a kind: all replicas mean the same by it."""

    def __init__(self, cases: Cases) -> None:
        caches: dict[str, Cache[Any]] = {
            "plans": cases.plans,
            "scalers": cases.scalers,
            "exceptions": cases.exceptions,
            "remediations": cases.approvals,
            "requests": cases.plan_requests,
        }
        self._versions = dict.fromkeys(caches, 0)
        self._waiting: dict[str, set[asyncio.Event]] = {topic: set() for topic in caches}
        for topic, cache in caches.items():
            cache.on_change(self._handler(topic, cache))

    def topics(self, words: str) -> tuple[str, ...]:
        """The topics that are named; all of them where none is."""
        return tuple(word for word in words.split() if word in self._versions) or tuple(self._versions)

    def version(self, topics: Iterable[str]) -> Version:
        return tuple(self._versions[topic] for topic in topics)

    async def after(self, version: Version, topics: Iterable[str], seconds: float) -> bool:
        """Whether there is something newer, as soon as there is; False after so many seconds."""
        topics = tuple(topics)
        if self._is_newer(version, topics):
            return True
        changed = asyncio.Event()
        for topic in topics:
            self._waiting[topic].add(changed)
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return False
        finally:
            for topic in topics:
                self._waiting[topic].discard(changed)
        return True

    def _is_newer(self, version: Version, topics: tuple[str, ...]) -> bool:
        return any(now > then for now, then in zip(self.version(topics), version, strict=True))

    def _handler(self, topic: str, cache: Cache[Any]) -> Callable[[Object | None, Object | None], None]:
        def changed(_old: Object | None, _new: Object | None) -> None:
            # What the watch has seen counts: a deletion is newer than the object that is gone.
            self._versions[topic] = max(self._versions[topic], cache.newest)
            for changed in self._waiting[topic]:
                changed.set()

        return changed


def written(version: Version) -> str:
    return ".".join(map(str, version))


def read(text: str, topics: tuple[str, ...]) -> Version:
    """A version as a page wrote it; what is none is older than anything."""
    words = text.split(".")
    if len(words) != len(topics) or not all(word.isdecimal() and len(word) < _LONGEST for word in words):
        return (0,) * len(topics)
    return tuple(map(int, words))
