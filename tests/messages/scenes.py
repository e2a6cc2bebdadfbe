"""Requests and deliveries for tests of messages, made by small builders."""

from typing import Any

import msgspec
from whenever import Instant

from decisions.exception_seen import after, exception
from hibernator.api.approvaldelivery import ApprovalDelivery, SentMessage, Topic
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import Directory, everybody, read_naming, read_roles

ALICE, BOB, CAROL, DORA = (f"{name}@company.com" for name in ("alice", "bob", "carol", "dora"))
DIRECTORY = Directory(
    read_naming("domain:company.com"), roles=read_roles({"manager": f"{CAROL}, {DORA}, leads, erin"})
)
ASKED: dict[str, Any] = {
    "approvalRequired": True,
    "approverEmails": ["Bob@Company.com"],
    "approvalRequiredRoles": ["manager"],
}
AT = Instant.from_utc(2026, 1, 29, 10)


def stored(found: ScheduleException, now: Instant = AT, **more: Any) -> ScheduleException:
    """The exception as the operator leaves it."""
    return after(found, people=everybody(found, DIRECTORY), now=now, **more)


def pending(**spec: Any) -> ScheduleException:
    return stored(exception(**ASKED | spec))


def sent(recipient: str, *topics: tuple[Topic, Instant | None]) -> ApprovalDelivery:
    """What somebody has got already."""
    document = {
        "metadata": {"name": recipient, "namespace": "shop", "resourceVersion": "1"},
        "spec": {
            "request": {"kind": "ScheduleException", "name": "on-site-event", "uid": "uid-on-site-event"},
            "recipient": recipient,
        },
    }
    messages = tuple(
        SentMessage(
            channel="mail",
            topic=topic,
            id=f"<{topic}@x>",
            hash=f"sha256:{'0' * 64}",
            sent_at=at.to_stdlib() if at else None,
        )
        for topic, at in topics
    )
    found = msgspec.convert(document, ApprovalDelivery)
    return msgspec.structs.replace(found, status=msgspec.structs.replace(found.status, messages=messages))


def remediation(status: dict[str, Any] | None = None, **spec: Any) -> RemediationApprovalRequest:
    levels = [
        {"level": "L1", "emails": [BOB]},
        {"level": "L2", "roles": ["manager"]},
    ]
    document = {
        "metadata": {
            "name": "oom",
            "namespace": "shop",
            "uid": "uid-oom",
            "creationTimestamp": "2026-01-29T10:00:00Z",
        },
        "spec": {
            "aiAnalysisRef": {"name": "oom"},
            "approvalContext": {"confidence": 0.7, "recommendedPlaybook": "restart", "reason": "oom"},
            "requiredBy": "2026-01-29T22:00:00Z",
            "approvers": levels,
        }
        | spec,
        "status": {"message": "Waits.", **(status or {})},
    }
    return msgspec.convert(document, RemediationApprovalRequest)
