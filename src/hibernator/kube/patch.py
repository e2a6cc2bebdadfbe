"""The difference of two documents as a merge patch (RFC 7386), so that a write says only what it means."""

from collections.abc import Mapping
from typing import Any

import msgspec


def encode(model: msgspec.Struct) -> dict[str, Any]:
    """A model as the plain document that goes over the wire."""
    document = msgspec.to_builtins(model)
    if not isinstance(document, dict):
        raise TypeError(f"{type(model).__name__} does not encode to a document")
    return document


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What to send so that `old` becomes `new`; empty when they are equal.

    A key that is gone becomes None. Lists are replaced whole, because a merge patch knows no parts of them.
    For the same reason a None inside a document means that the key is absent.
    """
    patch: dict[str, Any] = {}
    for key in old.keys() | new.keys():
        before, after = old.get(key), new.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            if inner := merge_patch(before, after):
                patch[key] = inner
        elif isinstance(after, Mapping):
            patch[key] = merge_patch({}, after)
        elif not _same(before, after):
            patch[key] = after
    return patch


def _same(one: Any, other: Any) -> bool:
    """Equal, where True is not 1 and no list is a tuple's enemy."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
