"""JSON patches (RFC 6902) on plain documents: what comes out, or the sentence that says why nothing does.

The operator applies a patch itself, so that it knows before the write which fields it changes, what they were
and how to bring them back. The API server would only say that it was done.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hibernator.api.patching import Operation, pointer
from hibernator.api.structural import show

_END: Final = "-"
_MOST_COPIED: Final = 50_000  # values that all copies of a patch may add: few of them double a document each
_TEXT: Final = 16  # characters that count as much as a value
_DEEPEST: Final = 100


class PatchError(ValueError):
    """The patch does not fit the document. The message names the operation, the field and what is there."""


def applied(document: Any, operations: Iterable[Operation]) -> Any:
    """A new document; the old one stays as it is."""
    document, room = copy.deepcopy(document), _MOST_COPIED
    for one in operations:
        match one.op:
            case "test":
                there = _at(document, one.path, one)
                if not equal(there, one.value):
                    raise PatchError(f"{_said(one)} found {show(there)}, not {show(one.value)}")
            case "remove":
                _take(document, one.path, one)
            case "replace":
                _take(document, one.path, one)
                _put(document, one.path, copy.deepcopy(one.value), one)
            case "add":
                _put(document, one.path, copy.deepcopy(one.value), one)
            case "copy":
                found = _at(document, one.source, one)
                room -= _size(found, one, len(one.path), room)
                _put(document, one.path, copy.deepcopy(found), one)
            case "move":
                if one.path[: len(one.source)] == one.source and one.path != one.source:
                    raise PatchError(f"{_said(one)} would move {pointer(one.source)} into itself")
                _put(document, one.path, _take(document, one.source, one), one)
    return document


def equal(one: Any, other: Any) -> bool:
    """Equal as JSON has it, where true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _size(value: Any, one: Operation, depth: int, room: int) -> int:
    """How much there is in a value: each part of it counts, and long texts count more.

    PatchError where a copy has no room for it.
    """
    size, level = 0, [value]
    while level:
        texts = (len(found) // _TEXT for found in level if isinstance(found, str))
        size, depth = size + len(level) + sum(texts), depth + 1
        if size > room:
            raise PatchError(f"{_said(one)} makes the object too large: all copies may add {_MOST_COPIED}")
        if depth > _DEEPEST:
            raise PatchError(f"{_said(one)} nests the object deeper than {_DEEPEST} levels")
        level = [child for found in level for child in _children(found)]
    return size


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _said(one: Operation) -> str:
    return f"{one.op} {pointer(one.path)}"


def _at(document: Any, path: Sequence[str], one: Operation) -> Any:
    found = document
    for number, step in enumerate(path):
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and (index := _index(step, len(found))) is not None:
            found = found[index]
        else:
            raise PatchError(f"{_said(one)} found no {pointer(tuple(path[: number + 1]))}")
    return found


def _index(step: str, size: int) -> int | None:
    """The place in a list, as RFC 6901 writes it: digits without a leading zero."""
    if not step.isascii() or not step.isdecimal() or (step != "0" and step.startswith("0")):
        return None
    return int(step) if len(step) < 10 and int(step) < size else None  # noqa: PLR2004 - no list is longer


def _take(document: Any, path: Sequence[str], one: Operation) -> Any:
    taken = _at(document, path, one)
    parent = _at(document, path[:-1], one)
    if isinstance(parent, list):
        return parent.pop(int(path[-1]))
    del parent[path[-1]]
    return taken


def _put(document: Any, path: Sequence[str], value: Any, one: Operation) -> None:
    parent, last = _at(document, path[:-1], one), path[-1]
    if isinstance(parent, dict):
        parent[last] = value
        return
    index = None
    if isinstance(parent, list):
        index = len(parent) if last == _END else _index(last, len(parent) + 1)
    if index is None:
        raise PatchError(f"{_said(one)} found nothing at {pointer(tuple(path[:-1]))} that could have it")
    parent.insert(index, value)
