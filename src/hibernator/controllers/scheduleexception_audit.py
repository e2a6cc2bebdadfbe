"""What the audit trail is told about an exception: its history, again on each change.

The history in the status is the source, so that nothing is lost with a process: whoever looks next tells the
same transitions under the same ids.
"""

from collections.abc import Iterator
from typing import Final, get_args

from whenever import Instant

from hibernator.api.scheduleexception import EXCEPTIONS, HistoryEntry, ScheduleException
from hibernator.audit.event import OPERATOR, AuditEvent, Channel, Resource, event, person
from hibernator.audit.trail import Trail
from hibernator.controllers.journal_audit import changed
from hibernator.decisions.approval import APPROVAL_TIMEOUT, OPERATOR as NOBODY

_SUBJECT: Final = "scheduleexception"
_CHANNELS: Final[dict[str, Channel]] = {channel: channel for channel in get_args(Channel)}
_OURS: Final = frozenset({"waiting", "activated", "expired"})  # what no person does, whatever their name
_TYPES: Final = {
    "submitted": "requested",
    "approved": "approval.given",
    "refused": "approval.refused",
    "waiting": "waiting",
    "activated": "activated",
    "cancelled": "cancelled",
    "expired": "expired",
}


def record(trail: Trail, exception: ScheduleException, now: Instant) -> bool:
    """Tell everything; False when something did not fit in and must be told again."""
    edits = changed(EXCEPTIONS, exception, exception.spec, now, exception.metadata.uid)
    told = [trail.has(one.id) or trail.record(one) for one in (*events(exception), *edits)]
    return all(told)


def events(exception: ScheduleException) -> Iterator[AuditEvent]:
    about, status = Resource.of(EXCEPTIONS, exception), exception.status
    for entry in status.history:
        yield _told(about, _type(exception, entry), entry)
    agreed = [entry for entry in status.history if entry.action == "approved"]
    if status.approval_state == "Approved" and agreed:
        at = Instant(agreed[-1].timestamp)  # whoever comes later is refused
        yield event(
            f"{_SUBJECT}.approved", about, at=at, identity=(at.format_iso(),), correlation_id=about.uid
        )


def _type(exception: ScheduleException, entry: HistoryEntry) -> str:
    if entry.action == "requested":
        status = exception.status
        was_draft = status.requested_at is None or any(one.action == "submitted" for one in status.history)
        return "drafted" if was_draft else "requested"
    if entry.action == "rejected":
        return "timedout" if _is_timeout(entry) else "rejected"
    return _TYPES[entry.action]


def _told(about: Resource, type_: str, entry: HistoryEntry) -> AuditEvent:
    at = Instant(entry.timestamp)
    is_ours = entry.action in _OURS or _is_timeout(entry)
    return event(
        f"{_SUBJECT}.{type_}",
        about,
        at=at,
        identity=(entry.actor, at.format_iso()),
        actor=OPERATOR if is_ours else person(entry.actor),
        channel="operator" if is_ours else _CHANNELS.get(entry.channel, "api"),
        correlation_id=about.uid,
        data={key: word for key, word in (("role", entry.role), ("reason", entry.reason)) if word},
        error=entry.reason if entry.action == "refused" else "",
    )


def _is_timeout(entry: HistoryEntry) -> bool:
    return (entry.action, entry.actor, entry.reason) == ("rejected", NOBODY, APPROVAL_TIMEOUT)
