"""From the journal of an object to the audit trail: every entry, again on each change.

What names an entry was given to it in the write that made it, so that every pass builds the same id, and the
trail keeps it once. Numbers alone would not do: after a restore of etcd from a backup they are given a second
time, to what happens then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, get_args

from whenever import Instant

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.kind import Kind
from hibernator.api.meta import Object, Transition
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.audit.asked import deleter
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import OPERATOR, AuditEvent, Channel, Resource, event, person, transition_id
from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.audit.types import EVENT_TYPES
from hibernator.decisions import (
    aianalysis_journal,
    remediationapprovalrequest,
    remediationrequest,
    scheduleexception_status,
)
from hibernator.decisions.journal import CHANNEL, USER

T = TypeVar("T", bound=Object)

# What only people do: where no name is with it, it is not known who.
_BY_PEOPLE: Final = frozenset({"created", "changed", "paused", "resumed", "suspended", "retried"})
_CHANNELS: Final[dict[str, Channel]] = {channel: channel for channel in get_args(Channel)}
# Kinds that had no journal at first. All that happens to one of their objects belongs together.
_LATER: Final[Mapping[str, Callable[[Any], Sequence[Transition]]]] = {
    EXCEPTIONS.kind: scheduleexception_status.journal_of,
    ANALYSES.kind: aianalysis_journal.journal_of,
    APPROVAL_REQUESTS.kind: remediationapprovalrequest.journal_of,
    REMEDIATIONS.kind: remediationrequest.journal_of,
}


class Records(Generic[T]):
    """What the audit trail has of the objects of one kind."""

    def __init__(self, trail: Trail, kind: Kind[T]) -> None:
        self._trail = trail
        self._kind = kind
        self._versions: dict[tuple[str, str], str] = {}  # that were recorded

    def recorded(self, found: T) -> frozenset[int]:
        """The numbers of those entries of its journal that are durable."""
        uid = found.metadata.uid
        return frozenset(
            one.number
            for one in journal_of(self._kind, found)
            if self._trail.has(transition_id(uid, _type(self._kind, one), *_identity(one)))
        )

    def record(self, found: T) -> None:
        """Record its journal. What does not fit in is recorded on a later pass, which the trail asks for."""
        metadata = found.metadata
        key = metadata.namespace, metadata.name
        if self._versions.get(key) == metadata.resource_version:
            return
        recorded = [self._trail.has(one.id) or self._trail.record(one) for one in events(self._kind, found)]
        if all(recorded):
            self._versions[key] = metadata.resource_version

    async def record_now(self, found: T) -> bool:
        """Record its journal, and wait until it is durable; False while the database is away."""
        try:
            await self._trail.record_now(*events(self._kind, found))
        except AuditUnavailable:
            return False
        return True

    def forget(self, namespace: str, name: str) -> None:
        self._versions.pop((namespace, name), None)


async def record_deletion(spool: AuditSpool, kind: Kind[Any], found: Object) -> None:
    """Record the deletion of an object, and all that its journal still has, before both are gone.

    This is waited for, because nothing else could record it later; but not for the database, because nothing
    could be deleted while that is away.
    """
    deleted = found.metadata.deletion_timestamp
    if deleted is None:
        return
    about, at = Resource.of(kind, found), Instant(deleted)
    by = person(deleter(await spool.asked(about.uid), at, at))
    type_, identity = f"{kind.kind.lower()}.deleted", of_deletion(found)
    together = correlation(kind, found)
    end = event(type_, about, at=at, identity=identity, actor=by, channel="api", correlation_id=together)
    await spool.keep(*events(kind, found), end)


def of_deletion(found: Object) -> tuple[str, ...]:
    """What sets this deletion apart from another one of the same object.

    A restore of etcd from a backup brings objects back with their uid, and they can be deleted once more.
    What goes at once, without a finalizer, has no time of deletion that everything that records it knows.
    """
    deleted = found.metadata.deletion_timestamp
    return (Instant(deleted).format_iso(),) if deleted else ()


def correlation(kind: Kind[Any], found: Object) -> str:
    """What all events of one remediation have in common, and all of one exception."""
    if kind.kind not in _LATER:
        return ""
    owner = remediationrequest.controller_of(found)
    return owner.uid if owner else found.metadata.uid


def journal_of(kind: Kind[Any], found: Any) -> Sequence[Transition]:
    read = _LATER.get(kind.kind)
    journal: Sequence[Transition] = read(found) if read else found.status.journal
    return journal


def events(kind: Kind[Any], found: Object) -> Iterator[AuditEvent]:
    about, together = Resource.of(kind, found), correlation(kind, found)
    for one in journal_of(kind, found):
        type_ = EVENT_TYPES[_type(kind, one)]
        by_person = USER in one.data or (one.type in _BY_PEOPLE and "by" not in one.data)
        went_well = type_.outcome == "success"
        said = {"message": one.message} if one.message and went_well else {}
        cycle, seconds = one.data.get("cycle"), one.data.get("seconds")
        yield event(
            type_.name,
            about,
            at=Instant(one.at),
            identity=_identity(one),
            actor=person(str(one.data.get(USER, ""))) if by_person else OPERATOR,
            channel=_CHANNELS.get(str(one.data.get(CHANNEL)), "api") if by_person else "operator",
            correlation_id=f"{about.uid}/{cycle}" if cycle is not None else together,
            data={key: value for key, value in one.data.items() if key not in {USER, CHANNEL}} | said,
            duration_ms=int(seconds) * 1000 if seconds is not None else None,
            error="" if went_well else one.message,
        )


def _identity(one: Transition) -> tuple[str | int, ...]:
    return (one.number, Instant(one.at).format_iso()) if one.identity is None else one.identity


def _type(kind: Kind[Any], one: Transition) -> str:
    return f"{kind.kind.lower()}.{one.type}"
