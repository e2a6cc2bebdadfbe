"""The way back of an object that a patch put to sleep: each field that was touched, as it was and as it is.

A field is brought back while it still is what was written. What others have changed since stays theirs, and
is said. A value may look different although no one touched it: the API server fills in defaults, and writes
`1000m` as `1`. So where it differs, the list of field managers decides, which the API server keeps itself.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hibernator.api.meta import Model
from hibernator.api.patching import pointer, untouchable
from hibernator.decisions.jsonpatch import PatchError, equal

PATCHED: Final = "patched"  # in a restore document: the fields
LARGEST: Final = 64 * 1024  # characters of a restore document: all annotations together have 256 KiB
MANAGER: Final = "hibernator"  # as the API server takes it from the name that our requests carry

Document = Mapping[str, Any]


class Named(Model):
    """An entry of a list, by its name."""

    name: str


Step = str | Named  # a key of an object, or an entry of a list


class Field(Model):
    """One field that a patch touches. What is left out is not there."""

    at: tuple[Step, ...]
    was: Any = UNSET
    is_: Any = msgspec.field(default=UNSET, name="is")


class Managed(Model):
    """What one field manager owns of an object."""

    manager: str = ""
    time: str = ""
    fields: dict[str, Any] = msgspec.field(default_factory=dict, name="fieldsV1")


def changes(before: Document, after: Document) -> tuple[Field, ...]:
    """The fields in which two documents differ, as small as they can be named for good.

    Entries of a list are named where each has a name of its own, as containers have; other lists are one
    field, because a place in a list is soon that of another entry.
    """
    return tuple(_changes(before, after, ()))


def _changes(before: Any, after: Any, at: tuple[Step, ...]) -> Iterator[Field]:
    if equal(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted(before.keys() | after.keys()):
            yield from _changes(before.get(key, UNSET), after.get(key, UNSET), (*at, key))
    elif (names := _names(before)) and names == _names(after):
        for name, one, other in zip(names, before, after, strict=True):
            yield from _changes(one, other, (*at, Named(name=name)))
    else:
        yield Field(at=at, was=before, is_=after)


def _names(entries: Any) -> list[str]:
    """The names of the entries of a list, if each has one of its own; otherwise nothing."""
    if not isinstance(entries, list):
        return []
    names = [one.get("name") if isinstance(one, Mapping) else None for one in entries]
    own = [name for name in names if isinstance(name, str)]
    return own if len(set(own)) == len(entries) else []


def is_patched(was: Mapping[str, Any] | None) -> bool:
    """Whether a restore document is that of a patch."""
    return was is not None and PATCHED in was


def fields_of(was: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a restore document. Raises ValueError on what no patch can have touched.

    People can edit marks and restore data.
    """
    fields = msgspec.convert(was.get(PATCHED), tuple[Field, ...])
    for field in fields:
        if not field.at or untouchable(_names_of(field)):
            raise ValueError(f"{words(field)} is not for a patch to change")
    return fields


def words(field: Field) -> str:
    """The field as people name it: `/spec/template/spec/containers/web/image`."""
    return pointer(_names_of(field))


def _names_of(field: Field) -> tuple[str, ...]:
    return tuple(step if isinstance(step, str) else step.name for step in field.at)


def asleep(document: Document, fields: Iterable[Field], managed: Sequence[Managed]) -> bool:
    """Whether any field still is what was written to put it to sleep."""
    return any(_is_ours(document, field, managed) for field in fields)


def to_sleep(document: Document, fields: Iterable[Field]) -> dict[str, Any]:
    """The document with the fields as they are asleep. Raises PatchError where one has no place any more."""
    changed = copy.deepcopy(dict(document))
    for field in fields:
        _set(changed, field, field.is_)
    return changed


def to_wake(
    document: Document, fields: Iterable[Field], managed: Sequence[Managed]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document with the fields as they were, and the names of those that others have changed.

    So is one that others have removed with all around it: it has no place to come back to.
    """
    changed = copy.deepcopy(dict(document))
    theirs: list[str] = []
    for field in fields:
        if _is_ours(document, field, managed):
            try:
                _set(changed, field, field.was)
            except PatchError:
                theirs.append(words(field))
        elif not equal(_found(document, field.at), field.was):
            theirs.append(words(field))
    return changed, tuple(theirs)


def _is_ours(document: Document, field: Field, managed: Sequence[Managed]) -> bool:
    now = _found(document, field.at)
    if equal(now, field.was):
        return False
    if _alike(field.is_, now):
        return True
    mine = max((_owned(one.fields, field.at) for one in managed if one.manager == MANAGER), default=0)
    return mine > max((_owned(one.fields, field.at) for one in managed if one.manager != MANAGER), default=0)


def _alike(wrote: Any, now: Any) -> bool:
    """Whether it is what was written, perhaps with defaults that the API server has filled in."""
    if isinstance(wrote, Mapping) and isinstance(now, Mapping):
        return all(key in now and _alike(value, now[key]) for key, value in wrote.items())
    if isinstance(wrote, list) and isinstance(now, list):
        return len(wrote) == len(now) and all(map(_alike, wrote, now))
    return equal(wrote, now)


def _owned(fields: Mapping[str, Any], at: Sequence[Step]) -> int:
    """How near to the field a set of fields comes, as the API server writes it; 0: it has no part in it.

    A set may have the field itself, or something around it as a whole: who is nearer has written it last.
    """
    node: Any = fields
    for depth, step in enumerate(at, 1):
        if isinstance(step, str):
            node = node.get(f"f:{step}")
        else:
            keys = [key for key in node if key.startswith("k:") and _key_is(key[2:], step.name)]
            node = node[keys[0]] if keys else None
        if not isinstance(node, Mapping):
            return 0
        if not node:
            return depth
    return len(at)


def _key_is(text: str, name: str) -> bool:
    try:
        return bool(json.loads(text).get("name") == name)
    except (ValueError, AttributeError):
        return False


def _found(document: Any, at: Sequence[Step]) -> Any:
    for step in at:
        document = _step(document, step)
    return document


def _step(document: Any, step: Step) -> Any:
    if isinstance(step, str):
        return document.get(step, UNSET) if isinstance(document, Mapping) else UNSET
    entries = document if isinstance(document, list) else ()
    return next((one for one in entries if isinstance(one, Mapping) and one.get("name") == step.name), UNSET)


def _set(document: Any, field: Field, value: Any) -> None:
    *parents, last = field.at
    parent = _found(document, parents)
    if isinstance(last, str) and isinstance(parent, dict):
        if value is UNSET:
            parent.pop(last, None)
        else:
            parent[last] = value
    elif value is not UNSET or _found(document, field.at) is not UNSET:
        raise PatchError(f"{words(field)} has no place in it any more")
