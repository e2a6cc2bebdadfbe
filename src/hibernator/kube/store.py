"""Objects of one kind as last seen, with indexes and change handlers.

Objects come from three sources: lists, watch events, and the answers to our own writes. They overtake each
other. What decides is the version, which the API server counts up with every write: nothing here goes back to
an older one. So no controller ever sees an object older than its own last write to it.

A list is the truth of its version: only what is newer than the list itself is kept over it. A list that is
newer than an object here and shows an older version of it cannot be, unless the API server was set back to an
older state, as by a restore of etcd from a backup. Then the list is taken over, and `on_rewind` is called.
"""

from collections.abc import Callable, Iterable, KeysView, Sequence, ValuesView
from typing import Final, Generic, TypeVar

import structlog
from msgspec.structs import replace

from hibernator.api.annotations import READ
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.wire import Broken, Page

T = TypeVar("T", bound=Object)
Key = tuple[str, str]  # namespace and name; "" is no namespace
Handler = Callable[[T | None, T | None], None]
IndexFunction = Callable[[T], Iterable[str]]

_log: Final = structlog.get_logger(__name__)


def order(version: str) -> int:
    """Versions are texts of growing numbers. What is none comes before all of them."""
    return int(version) if version.isdecimal() else 0


def key_of(obj: Object) -> Key:
    return obj.metadata.namespace, obj.metadata.name


def lean(obj: T) -> T:
    """The object without annotations that no controller reads: people can write as many as they like."""
    annotations = obj.metadata.annotations
    if annotations.keys() <= READ:
        return obj
    read = {name: text for name, text in annotations.items() if name in READ}
    return replace(obj, metadata=replace(obj.metadata, annotations=read))


class Store(Generic[T]):
    """The objects, and the rules by which they change.

    `everything` says that all objects of the kind belong here, and not only those that a selector chooses.
    `keep` makes of an object what is held of it.
    """

    def __init__(
        self,
        kind: Kind[T],
        *,
        namespace: str = "",
        everything: bool = True,
        keep: Callable[[T], T] = lean,
    ) -> None:
        self.kind = kind
        self._keep = keep
        self.undecodable: dict[Key, Broken] = {}
        self._namespace = namespace
        self._everything = everything
        self._objects: dict[Key, T] = {}
        self._indexes: dict[str, _Index[T]] = {}
        self._handlers: list[Handler[T]] = []
        self._rewind_handlers: list[Callable[[], object]] = []
        self._seen = 0  # lists and watch have brought everything up to this version
        self._written = 0  # the newest of our own writes

    @property
    def seen(self) -> int:
        return self._seen

    @property
    def newest(self) -> int:
        """The greatest version that was seen; a list that begins now cannot be older."""
        return max(self._seen, self._written)

    def get(self, namespace: str, name: str) -> T | None:
        return self._objects.get((namespace, name))

    def values(self) -> ValuesView[T]:
        return self._objects.values()

    def keys(self) -> KeysView[Key]:
        return self._objects.keys()

    def __len__(self) -> int:
        return len(self._objects)

    def index(self, name: str, by: IndexFunction[T]) -> None:
        """Keep the objects by what a pure function says of them. Before the first object comes."""
        if self._objects:
            raise RuntimeError(f"index {name!r} comes too late: there are objects already")
        self._indexes[name] = _Index(name, by)

    def find(self, index: str, value: str) -> tuple[T, ...]:
        """The objects of which the index function said this."""
        return self._indexes[index].find(value)

    def on_change(self, handler: Handler[T]) -> None:
        """Call back with the old and the new object; None is one that does not exist (yet, or any more)."""
        self._handlers.append(handler)

    def on_rewind(self, handler: Callable[[], object]) -> None:
        """Call back when a list proves that the API server was set back to an older state."""
        self._rewind_handlers.append(handler)

    def wrote(self, obj: T) -> None:
        """One of our own writes was answered with this; the next reader must see at least that."""
        key = key_of(obj)
        if self._namespace and self._namespace != key[0]:
            return
        # Whether a selector would choose a new object we cannot know: the watch will tell.
        if not self._everything and key not in self._objects:
            return
        # What the watch has passed it knows better: the object may be gone again.
        if _version(obj) > self._seen:
            self._written = max(self._written, _version(obj))
            self._offer(key, self._keep(obj))

    def saw(self, obj: T) -> None:
        """The watch has an event: the object is like this."""
        version = order(obj.metadata.resource_version)
        if version < self._seen:
            return
        self._seen = version
        key = key_of(obj)
        if self.undecodable:
            self.undecodable.pop(key, None)
        self._offer(key, self._keep(obj))

    def saw_deletion(self, key: Key, version: int) -> None:
        """The watch has an event: the object is gone."""
        if version < self._seen:
            return
        self._seen = version
        self.undecodable.pop(key, None)
        old = self._objects.get(key)
        # Newer than its deletion is only what we made ourselves under the same name since then.
        if old is not None and version >= order(old.metadata.resource_version):
            self._put(key, old, None)
            self._notify(old, None)

    def saw_broken(self, broken: Broken) -> None:
        """The watch has an event: the object has changed and cannot be decoded.

        What it was before is dropped: after a restart it would not be here either.
        """
        key = broken.namespace, broken.name
        self.saw_deletion(key, order(broken.resource_version))
        self._report(key, broken)

    def saw_nothing_until(self, version: int) -> bool:
        """The watch has a bookmark: nothing else happened. False if it is not even that far."""
        if version < self._seen:
            return False
        self._seen = version
        return True

    def replace(self, pages: Sequence[Page[T]], version: int, *, rewound: bool = False) -> bool:
        """A list has everything that there is at a version. False if that is older than what was seen.

        With `rewound` it counts all the same: the API server was set back to an older state. All objects
        change before any handler is called, so that no one looks into a half-made store.
        """
        if version < self._seen and not rewound:
            return False
        self._seen = version
        self._written = 0 if rewound else self._written
        listed = {key_of(item): self._keep(item) for page in pages for item in page.items}
        # Newer than the list are only our own writes, if the API server was not set back.
        replaced = {key: old for key, old in self._objects.items() if rewound or _version(old) <= version}
        changes: list[tuple[T | None, T | None]] = []
        for key, old in replaced.items():
            if key not in listed:
                self._put(key, old, None)
                changes.append((old, None))
        went_back = False
        for key, item in listed.items():
            known = self._objects.get(key)
            # Compared whole: of two pasts with the same count of versions, one may have been restored.
            if known is None or (key in replaced and item != known):
                self._put(key, known, item)
                changes.append((known, item))
                went_back |= known is not None and _newer(known, item)
        self._report_listed([broken for page in pages for broken in page.broken])
        if went_back and not rewound:
            self.went_back()
        for change in changes:
            self._notify(*change)
        return True

    def went_back(self) -> None:
        """The API server was set back to an older state, and no one knows yet."""
        for handler in self._rewind_handlers:
            handler()

    def _offer(self, key: Key, obj: T) -> None:
        old = self._objects.get(key)
        if old is None or _newer(obj, old):
            self._put(key, old, obj)
            self._notify(old, obj)

    def _put(self, key: Key, old: T | None, new: T | None) -> None:
        if new is None:
            del self._objects[key]
        else:
            self._objects[key] = new
        for index in self._indexes.values():
            index.change(key, old, new)

    def _notify(self, old: T | None, new: T | None) -> None:
        if old is not None and new is not None and old.metadata.uid != new.metadata.uid:
            self._notify(old, None)
            self._notify(None, new)
            return
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:  # noqa: BLE001 — one handler's bug must not end the watch for all others
                _log.exception(
                    "unexpected error in a cache handler",
                    resource=self.kind.resource,
                    handler=repr(handler),
                )

    def _report(self, key: Key, broken: Broken) -> None:
        self.undecodable[key] = broken
        _log.error(
            "an object does not decode and is left out",
            resource=self.kind.resource,
            namespace=broken.namespace,
            name=broken.name,
            why=broken.why,
        )

    def _report_listed(self, listed: Sequence[Broken]) -> None:
        before, self.undecodable = self.undecodable, {}
        for broken in listed:
            key = broken.namespace, broken.name
            if before.get(key) == broken:
                self.undecodable[key] = broken
            else:
                self._report(key, broken)


def _version(obj: Object) -> int:
    return order(obj.metadata.resource_version)


def _newer(one: Object, other: Object) -> bool:
    return _version(one) > _version(other)


class _Index(Generic[T]):
    """Which objects belong to which value."""

    def __init__(self, name: str, by: IndexFunction[T]) -> None:
        self._name = name
        self._by = by
        self._found: dict[str, dict[Key, T]] = {}

    def find(self, value: str) -> tuple[T, ...]:
        found = self._found.get(value)
        return tuple(found.values()) if found else ()

    def change(self, key: Key, old: T | None, new: T | None) -> None:
        before = () if old is None else self._values(old)
        after = () if new is None else self._values(new)
        if before != after:
            for value in before:
                self._drop(value, key)
        if new is not None:
            for value in after:
                found = self._found.get(value)
                if found is None:
                    self._found[value] = {key: new}
                else:
                    found[key] = new

    def _drop(self, value: str, key: Key) -> None:
        found = self._found.get(value)
        if found and found.pop(key, None) and not found:
            del self._found[value]

    def _values(self, obj: T) -> tuple[str, ...]:
        try:
            return tuple(self._by(obj))
        except Exception:  # noqa: BLE001 — likewise
            _log.exception("unexpected error in a cache index", index=self._name, key=key_of(obj))
            return ()
