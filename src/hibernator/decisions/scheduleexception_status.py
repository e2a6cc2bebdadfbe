"""The status that follows from where an exception is: what people see, and a history that only grows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.exceptionstatus import (
    Action,
    ApprovalState,
    ExceptionState,
    HistoryEntry,
    Impact,
    RequiredApproval,
    ScheduleExceptionStatus,
)
from hibernator.api.scheduleexception import ScheduleException
from hibernator.decisions.approval import APPROVAL_TIMEOUT, OPERATOR, Outcome, Place, Request, Standing, Vote
from hibernator.decisions.conditions import Verdict, lay_over, whole_second
from hibernator.decisions.scheduleexception_request import requester

Reason = Literal[
    "Draft",
    "AwaitingApproval",
    "RequesterUnknown",
    "InvalidSpec",
    "AwaitingRecord",
    "PlanMissing",
    "AnotherActive",
    "Active",
    "Expired",
    "Rejected",
    "ApprovalTimeout",
    "Cancelled",
]
READY: Final = "Ready"
MOST_HISTORY: Final = 200


@dataclass(frozen=True, slots=True)
class Course:
    """What one policy answered."""

    state: ExceptionState
    reason: Reason
    message: str
    next_look: Instant | None
    request: Request | None
    standing: Standing | None  # None where the approval is not needed, or settled
    outcome: Outcome | None


def next_status(
    exception: ScheduleException, course: Course, impact: Impact | None, now: Instant
) -> ScheduleExceptionStatus:
    before = exception.status
    stamp, until = whole_second(now), whole_second(Instant(exception.spec.valid_until))
    required, progress = _required(before, course)
    submitted = course.state != "Draft"
    return msgspec.structs.replace(
        before,
        state=course.state,
        approval_state=_approval_state(course),
        approval_progress=progress,
        applied_at=before.applied_at or (stamp if course.state == "Active" else None),
        expired_at=before.expired_at or (until if course.state == "Expired" else None),
        message=course.message,
        requested_by=requester(exception),
        requested_at=before.requested_at or (stamp if submitted else None),
        required_approvals=required,
        history=(*before.history, *_news(exception, course, now))[-MOST_HISTORY:],
        impact=impact or before.impact,
        observed_generation=exception.metadata.generation,
        conditions=lay_over(
            before.conditions,
            [Verdict(READY, course.state == "Active", course.reason, course.message)],
            now=now,
            generation=exception.metadata.generation,
        ),
    )


def _approval_state(course: Course) -> ApprovalState | None:
    if course.request is None:
        return None
    return course.outcome.state if course.outcome else "Pending"


def _required(before: ScheduleExceptionStatus, course: Course) -> tuple[tuple[RequiredApproval, ...], str]:
    if course.request is None:
        return (), ""
    if course.standing is None:
        return before.required_approvals, before.approval_progress
    standing = course.standing
    required = tuple(
        RequiredApproval(
            status=standing.status_of(place),
            email=place.name if place.kind == "email" else None,
            role=place.name if place.kind == "role" else None,
        )
        for place in course.request.places
    )
    return required, f"{len(standing.filled)}/{course.request.needed}"


def _news(exception: ScheduleException, course: Course, now: Instant) -> Iterator[HistoryEntry]:
    """What was done since the last pass."""
    before, who = exception.status.state, requester(exception)
    if before is None:
        yield _entry("requested", who, now, exception.spec.reason or "")
    elif before == "Draft" and course.state not in {"Draft", "Cancelled"}:
        yield _entry("submitted", who, now)
    yield from _decisions(exception.status, course)
    if course.state == before:
        return
    if course.state == "Active":
        yield _entry("activated", OPERATOR, now)
    elif course.state == "Cancelled":
        yield _entry("cancelled", who, now)
    elif course.state == "Expired":
        yield _entry("expired", OPERATOR, Instant(exception.spec.valid_until))


def _decisions(before: ScheduleExceptionStatus, course: Course) -> Iterator[HistoryEntry]:
    """What people decided that is not in the history yet, or that nobody decided in time."""
    if course.standing is None:
        return
    known = {(told.action, told.actor) for told in before.history}
    for vote in course.standing.counted:
        told = _told(vote, course.standing)
        if (told.action, told.actor) not in known:
            yield told
    if course.outcome and course.outcome.reason == APPROVAL_TIMEOUT:
        yield _entry("rejected", OPERATOR, course.outcome.at, APPROVAL_TIMEOUT)


def _entry(action: Action, actor: str, at: Instant, reason: str = "") -> HistoryEntry:
    return HistoryEntry(action=action, actor=actor, timestamp=whole_second(at), reason=reason)


def _told(vote: Vote, standing: Standing) -> HistoryEntry:
    place = vote.place or next((at for at, by in standing.filled.items() if by is vote), None)
    return HistoryEntry(
        action="approved" if vote.verdict == "approve" else "rejected",
        actor=vote.by.user,
        timestamp=whole_second(vote.at),
        channel=vote.channel,
        role=_role(place),
        reason=vote.reason,
    )


def _role(place: Place | None) -> str | None:
    return place.name if place and place.kind == "role" else None
