"""What the audit trail is told about an object with a journal: every entry, again on each pass.

The number of an entry and its time were given to it in the write that made it, so that whoever tells it
builds the same id, and the trail keeps it once. Numbers alone would not do: after a restore of etcd from a
backup they are given a second time, to what happens then.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.api.kind import Kind
from hibernator.api.meta import Object, Transition
from hibernator.audit.asked import deleter
from hibernator.audit.event import OPERATOR, AuditEvent, Resource, event, person, transition_id
from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.audit.types import EVENT_TYPES
from hibernator.decisions.approval import fingerprint
from hibernator.decisions.author import author
from hibernator.decisions.journal import USER

_BY_SOMEBODY: Final = frozenset({"created", "changed", "paused", "resumed", "suspended", "retried"})


def record(trail: Trail, kind: Kind[Any], found: Object, journal: Sequence[Transition]) -> bool:
    """Tell everything; False when something did not fit in and must be told again."""
    known = recorded(trail, kind, found, journal)
    untold = [one for one in journal if one.number not in known]
    told = [trail.record(one) for one in events(kind, found, untold)]
    return all(told)


async def farewell(spool: AuditSpool, kind: Kind[Any], found: Object, told: Iterable[AuditEvent]) -> None:
    """Tell of the end of an object, and of all that its status still knows, before both are gone.

    This is waited for, because nobody can tell it again; but not for the database, because nobody could
    delete anything while that is away.
    """
    deleted = found.metadata.deletion_timestamp
    if deleted is None:
        return
    about, at = Resource.of(kind, found), Instant(deleted)
    by = person(deleter(await spool.asked(about.uid), at, at))
    type_, identity = f"{kind.kind.lower()}.deleted", of_deletion(found)
    await spool.keep(*told, event(type_, about, at=at, identity=identity, actor=by, channel="api"))


def of_deletion(found: Object) -> tuple[str, ...]:
    """What sets this deletion apart from another one of the same object.

    A restore of etcd from a backup brings objects back with their uid, and they can be deleted once more.
    What goes at once, without a finalizer, has no time of its deletion that all who tell of it know.
    """
    deleted = found.metadata.deletion_timestamp
    return (Instant(deleted).format_iso(),) if deleted else ()


def changed(
    kind: Kind[Any], found: Object, spec: msgspec.Struct, at: Instant, correlation_id: str = ""
) -> Iterator[AuditEvent]:
    """That the spec was changed, for a kind without a journal: the number of its generation says so.

    After a restore of etcd the same number is given to another change. So the spec is a part of it.
    """
    generation = found.metadata.generation
    if generation > 1:
        yield event(
            f"{kind.kind.lower()}.changed",
            Resource.of(kind, found),
            at=at,
            identity=(generation, fingerprint(spec)),
            actor=person(author(found.metadata, generation)),
            channel="api",
            correlation_id=correlation_id,
            data={"generation": generation},
        )


def recorded(trail: Trail, kind: Kind[Any], found: Object, journal: Iterable[Transition]) -> frozenset[int]:
    """The numbers of those that the trail has."""
    uid = found.metadata.uid
    return frozenset(
        one.number for one in journal if trail.has(transition_id(uid, _type(kind, one), *_identity(one)))
    )


def events(kind: Kind[Any], found: Object, journal: Iterable[Transition]) -> Iterator[AuditEvent]:
    about = Resource.of(kind, found)
    for one in journal:
        type_ = EVENT_TYPES[_type(kind, one)]
        somebody = one.type in _BY_SOMEBODY and "by" not in one.data
        failed = type_.outcome == "failure"
        said = {"message": one.message} if one.message and not failed else {}
        cycle, seconds = one.data.get("cycle"), one.data.get("seconds")
        yield event(
            type_.name,
            about,
            at=Instant(one.at),
            identity=_identity(one),
            actor=person(str(one.data.get(USER, ""))) if somebody else OPERATOR,
            channel="api" if somebody else "operator",
            correlation_id=f"{about.uid}/{cycle}" if cycle is not None else "",
            data={**{key: value for key, value in one.data.items() if key != USER}, **said},
            duration_ms=int(seconds) * 1000 if seconds is not None else None,
            error=one.message if failed else "",
        )


def _identity(one: Transition) -> tuple[int, str]:
    return one.number, Instant(one.at).format_iso()


def _type(kind: Kind[Any], one: Transition) -> str:
    return f"{kind.kind.lower()}.{one.type}"
