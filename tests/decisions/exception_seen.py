"""An exception, and what becomes of it from one pass to the next."""

from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.person import Person
from hibernator.decisions.scheduleexception import FINALIZER, PLAN_LABEL, Decision, Seen, decide
from hibernator.decisions.scheduleexception_request import REQUESTED_BY, spec_hash
from hibernator.schedule.problems import check_exception

NOW = Instant.from_utc(2026, 1, 29, 10)
PEOPLE = {
    "bob": Person("bob", "bob@company.com"),
    "carol": Person("carol", "carol@company.com", frozenset({"manager"})),
    "alice": Person("alice", "alice@company.com"),
}
BOTH: dict[str, Any] = {"approvalRequired": True, "approverEmails": ["bob@company.com", "carol@company.com"]}
PLAN = msgspec.convert(
    {
        "metadata": {"name": "event-support"},
        "spec": {
            "schedule": {
                "timezone": "UTC",
                "offHours": [
                    {"start": "20:00", "end": "06:00", "daysOfWeek": ["MON", "TUE", "WED", "THU", "FRI"]}
                ],
            },
            "targets": [],
        },
    },
    HibernatePlan,
)


def exception(name: str = "on-site-event", *, created: str = "2026-01-29T09:00:00Z", **spec: Any) -> Any:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "generation": 1,
                "creationTimestamp": created,
                "annotations": {REQUESTED_BY: "alice"},
                "labels": {PLAN_LABEL: "event-support"},
                "finalizers": [FINALIZER],
            },
            "spec": {
                "planRef": {"name": "event-support"},
                "type": "extend",
                "validFrom": "2026-01-29T00:00:00Z",
                "validUntil": "2026-02-28T23:59:59Z",
                "windows": [{"start": "06:00", "end": "11:00", "daysOfWeek": ["SAT", "SUN"]}],
            }
            | spec,
        },
        ScheduleException,
    )


def look(found: ScheduleException, *others: ScheduleException, now: Instant = NOW, **more: Any) -> Decision:
    seen: dict[str, Any] = {
        "exception": found,
        "plan": PLAN,
        "others": others,
        "people": PEOPLE,
        "problems": tuple(check_exception(found.spec)),
    }
    return decide(Seen(**(seen | more)), now)


def after(found: ScheduleException, *others: ScheduleException, **more: Any) -> ScheduleException:
    """The exception as it is stored after a pass, which a second pass leaves alone."""
    decision = look(found, *others, **more)
    stored = msgspec.structs.replace(found, status=decision.status)
    again = look(stored, *others, **more)
    assert again.status == stored.status
    assert not again.notices
    return stored


def said(found: ScheduleException, verdict: str, user: str, **entry: Any) -> ScheduleException:
    """Somebody adds an entry to the status, as a channel does."""
    status = msgspec.to_builtins(found.status)
    if verdict == "approve":
        bound = {"uid": found.metadata.uid, "specHash": spec_hash(found.spec)}
        one = {"approvedBy": user, "approvedAt": "2026-01-29T10:15:00Z", **bound, **entry}
        status.setdefault("approvals", [])
        status["approvals"] = [*status["approvals"], one]
    else:
        one = {"rejectedBy": user, "rejectedAt": "2026-01-29T10:20:00Z", **entry}
        status["rejections"] = [*status.get("rejections", []), one]
    return msgspec.convert(msgspec.to_builtins(found) | {"status": status}, ScheduleException)


def changed(found: ScheduleException, **spec: Any) -> ScheduleException:
    document = msgspec.to_builtins(found)
    return msgspec.convert(document | {"spec": document["spec"] | spec}, ScheduleException)


def actions(found: ScheduleException) -> list[tuple[str, str]]:
    return [(entry.action, entry.actor) for entry in found.status.history]
