"""Which event of the audit trail is which event of a notification. Pure.

One audit event can be several: a sleep that began is a `Start` and a `PhaseChange`. A HibernateNotification
that asks for both gets one message, named after the first of them here.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import msgspec
from whenever import Instant

from hibernator.api.hibernatenotification import NotificationEvent, NotifiedKind
from hibernator.audit.chain import Entry
from hibernator.audit.formats import acting
from hibernator.notifications.occasions import MOST_DATA, Occasion, Placed

Events = tuple[NotificationEvent, ...]

_PLAN: Final[Mapping[str, Events]] = {
    "sleep.started": ("Start", "PhaseChange"),
    "sleep.completed": ("Success", "PhaseChange"),
    "sleep.interrupted": ("SleepSkipped", "PhaseChange"),
    "sleep.failed": ("Failure", "PhaseChange"),
    "wake.started": ("Start", "PhaseChange"),
    "wake.completed": ("Success", "PhaseChange", "Savings"),
    "wake.interrupted": ("PhaseChange",),
    "wake.failed": ("Failure", "PhaseChange"),
    "target.slept": ("ExecutionProgress",),
    "target.woken": ("ExecutionProgress",),
    "target.wokenbyothers": ("ExecutionProgress",),
    "target.sleptagain": ("ExecutionProgress",),
    "target.failed": ("ExecutionProgress",),
    "target.aborted": ("ExecutionProgress",),
    "retried": ("Recovery",),
    "recovered": ("Recovery",),
    "degraded": ("Failure",),
    "suspended": ("SleepSkipped", "PhaseChange"),
    "resumed": ("PhaseChange",),
    "exception.applied": ("PhaseChange",),
    "exception.ended": ("PhaseChange",),
}
_EXCEPTION: Final[Mapping[str, Events]] = {
    "requested": ("ExceptionRequested", "ApprovalWaiting"),
    "approved": ("ExceptionDecided",),
    "rejected": ("ExceptionDecided",),
    "timedout": ("ExceptionDecided",),
    "cancelled": ("ExceptionDecided",),
}
_SCALER: Final[Mapping[str, Events]] = {
    "scaled": ("Success", "PhaseChange"),
    "drift.corrected": ("PhaseChange",),
    "scaling.skipped": ("SleepSkipped",),
    "degraded": ("Failure",),
    "recovered": ("Recovery",),
    "paused": ("PhaseChange",),
    "resumed": ("PhaseChange",),
}
_REMEDIATION: Final[Mapping[str, Events]] = {
    "created": ("ApprovalWaiting",),
    "recreated": ("ApprovalWaiting",),
    "escalated": ("ApprovalWaiting",),
    "approved": ("ExceptionDecided",),
    "rejected": ("ExceptionDecided",),
    "expired": ("ExceptionDecided",),
}
EVENTS: Final[Mapping[str, Events]] = {
    f"{subject}.{action}": events
    for subject, table in (
        ("hibernateplan", _PLAN),
        ("scheduleexception", _EXCEPTION),
        ("timewindowscaler", _SCALER),
        ("remediationapprovalrequest", _REMEDIATION),
    )
    for action, events in table.items()
}
TYPES: Final = tuple(EVENTS)  # what a notifier reads of the trail

# To whose selection an event belongs: those of exceptions to their plan.
KINDS: Final[Mapping[str, NotifiedKind]] = {
    "HibernatePlan": "HibernatePlan",
    "ScheduleException": "HibernatePlan",
    "TimeWindowScaler": "TimeWindowScaler",
    "RemediationApprovalRequest": "RemediationApprovalRequest",
}


def events_of(type_: str, data: Mapping[str, Any]) -> Events:
    """What an audit event is to notifications; nothing where it is none."""
    found = EVENTS.get(type_, ())
    if type_ == "hibernateplan.exception.applied" and data.get("type") == "suspend":
        return ("SleepSkipped", *found)
    return found


def placed(entry: Entry, wanted: Collection[NotificationEvent], plan: str) -> Placed | None:
    """The entry as what was asked for; None where nothing of it was."""
    data = _data(entry)
    named = next((event for event in events_of(entry.type, data) if event in wanted), None)
    if named is None:
        return None
    found = entry.resource
    occasion = Occasion(
        id=entry.id,
        event=named,
        type=entry.type,
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        time=entry.time.format_iso(),
        severity=entry.severity,
        message=entry.error or _text(data, "message") or _text(data, "reason"),
        plan=plan,
        cycle=_number(data, "cycle"),
        seconds=_number(data, "seconds"),
        user=acting(entry) if entry.actor.type == "user" else "",
        data=data,
    )
    return Placed(entry.sequence, seconds(entry.recorded_at), occasion)


def seconds(moment: Instant) -> float:
    return moment.timestamp(unit="millisecond") / 1000


def _data(entry: Entry) -> dict[str, Any]:
    """What it says besides, where that is no more than a message can carry."""
    raw = bytes(entry.data)
    if len(raw) > MOST_DATA:
        return {}
    try:
        found = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    found = data.get(key, "")
    return found if isinstance(found, str) else ""


def _number(data: Mapping[str, Any], key: str) -> int | None:
    found = data.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
