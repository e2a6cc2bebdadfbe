"""Bytes of the API server to typed objects, and one broken object apart from its thousand neighbours.

A page of a list is decoded in one go, which is several times faster than object by object. Only if that
fails is each object tried by itself; those that do not decode are handed out as `Broken`, with their name
and the reason, and the others go on as if nothing had happened.

JSON that is nested too deeply to be decoded, cut down to what can be.

API servers store ten thousand levels, where a kind lets people write anything. Decoders give up after a
thousand, also where they only skip. So one such object would hide every other of its page, and end the watch
of its kind. What is cut away is never taken for the object: the decoder looks for `TOO_DEEP` first.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.kube.errors import Status

TOO_DEEP: Final = b'"hibernator: nested too deeply"'
_LEVELS: Final = 200  # far more than any object has that means something
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def shallow(body: bytes) -> bytes:
    """The same with `TOO_DEEP` in place of each value below the deepest level; without recursion."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in _OPENING:
            depth += 1
            if depth == _LEVELS + 1:
                kept += (body[start : token.start()], TOO_DEEP)
        elif first in _CLOSING:
            if depth == _LEVELS + 1:
                start = token.end()
            depth -= 1
    kept.append(body[start:])
    return b"".join(kept)


T = TypeVar("T", bound=Object)
S = TypeVar("S")


class Broken(NamedTuple):
    """An object that is not of the shape that its type says."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    why: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list. All pages of a list have its one version."""

    items: list[T]
    resource_version: str
    next: str  # what to ask for to go on; empty on the last page
    broken: tuple[Broken, ...] = ()


class Added(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="ADDED", gc=False):
    object: T


class Modified(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="MODIFIED", gc=False):
    object: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, tag_field="type", tag="DELETED", gc=False):
    """The object as it was last, at the version of its deletion."""

    object: T


class _Versioned(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Marker(msgspec.Struct, frozen=True):
    metadata: _Versioned = _Versioned()


class Bookmark(msgspec.Struct, frozen=True, tag_field="type", tag="BOOKMARK", gc=False):
    """Nothing happened up to this version."""

    object: _Marker

    @property
    def resource_version(self) -> str:
        return self.object.metadata.resource_version


class Failure(msgspec.Struct, frozen=True, tag_field="type", tag="ERROR", gc=False):
    """The end of a watch, with the reason. Readers of `Client.watch` get it raised as an error."""

    object: Status


class BrokenEvent(NamedTuple):
    """A change of an object that does not decode."""

    object: Broken
    deleted: bool


_OF_OBJECTS = (Added, Modified, Deleted)
WatchEvent = Added[T] | Modified[T] | Deleted[T] | Bookmark | BrokenEvent


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, Generic[T], frozen=True):
    metadata: _ListMeta
    items: list[T] | None = None


class _RawList(msgspec.Struct, frozen=True):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _RawEvent(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Name(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()


_TOO_DEEP = RecursionError("it is nested too deeply")
_UNREADABLE = (ValueError, RecursionError)  # msgspec's errors and invalid UTF-8 are ValueErrors


class Wire(Generic[T]):
    """The decoders of one kind. Get it with `wire(kind)`, because making one is expensive."""

    def __init__(self, kind: Kind[T]) -> None:
        # Only at run time is `kind.type` known, so that the types below are made here, unseen by mypy.
        shape: Any = kind.type
        events: Any = Added[shape] | Modified[shape] | Deleted[shape] | Bookmark | Failure
        self._kind = kind.kind
        self._api_version = kind.api_version
        self._object: msgspec.json.Decoder[T] = msgspec.json.Decoder(shape)
        self._page: msgspec.json.Decoder[_List[T]] = msgspec.json.Decoder(cast("Any", _List)[shape])
        self._event: msgspec.json.Decoder[WatchEvent[T] | Failure] = msgspec.json.Decoder(events)

    def object(self, body: bytes) -> T | Broken:
        try:
            return self._labelled(self._object.decode(body))
        except _UNREADABLE as error:
            return _broken(body, error)

    def page(self, body: bytes) -> Page[T]:
        """A page of a list; raises ValueError when it is none at all."""
        try:
            page = self._page.decode(body)
        except _UNREADABLE:
            return self._page_piecemeal(body)
        items = page.items or []
        for item in items:
            self._labelled(item)
        return Page(items, page.metadata.resource_version, page.metadata.continue_)

    def event(self, line: bytes) -> WatchEvent[T] | Failure:
        """A line of a watch; raises ValueError when it is none at all."""
        try:
            event = self._event.decode(line)
        except _UNREADABLE as error:
            raw = _decoded(line, _RawEvent)
            return BrokenEvent(_broken(bytes(raw.object), error), deleted=raw.type == "DELETED")
        if isinstance(event, _OF_OBJECTS):
            self._labelled(event.object)
        return event

    def _labelled(self, obj: T) -> T:
        """Say what it is: lists of built-in kinds leave that out, and one text for all saves memory."""
        force_setattr(obj, "kind", self._kind)
        force_setattr(obj, "api_version", self._api_version)
        return obj

    def _page_piecemeal(self, body: bytes) -> Page[T]:
        raw = _decoded(body, _RawList)
        items, broken = [], []
        for piece in map(bytes, raw.items or ()):
            found = _broken(piece, _TOO_DEEP) if TOO_DEEP in piece else self.object(piece)
            if isinstance(found, Broken):
                broken.append(found)
            else:
                items.append(found)
        return Page(items, raw.metadata.resource_version, raw.metadata.continue_, tuple(broken))


_WIRES: dict[Kind[Any], Wire[Any]] = {}


def wire(kind: Kind[T]) -> Wire[T]:
    """The decoders of a kind, made once."""
    made = _WIRES.get(kind)
    if made is None:
        made = _WIRES[kind] = Wire(kind)
    return made


def _decoded(body: bytes, shape: type[S]) -> S:
    """Parts of which only the outside counts, however deep they are inside."""
    try:
        return msgspec.json.decode(body, type=shape)
    except RecursionError:
        return msgspec.json.decode(shallow(body), type=shape)


def _broken(body: bytes, error: Exception) -> Broken:
    why = str(error) or type(error).__name__
    try:
        name = _decoded(body, _Named).metadata
    except _UNREADABLE:
        return Broken("", "", "", "", why)
    return Broken(name.namespace, name.name, name.uid, name.resource_version, why)
