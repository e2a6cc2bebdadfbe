"""The status that follows from where an exception is: what people see, and a history that only grows."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import msgspec
from whenever import Instant

from hibernator.api.scheduleexception import (
    Action,
    ApprovalState,
    ExceptionState,
    HistoryEntry,
    Impact,
    RequiredApproval,
    ScheduleException,
    ScheduleExceptionStatus,
)
from hibernator.decisions.approval import (
    APPROVAL_TIMEOUT,
    OPERATOR,
    Outcome,
    Refusal,
    Request,
    Seat,
    Standing,
    Vote,
    over,
)
from hibernator.decisions.conditions import Verdict, find, lay_over, whole_second
from hibernator.decisions.scheduleexception_request import requester

Reason = Literal[
    "Draft",
    "AwaitingApproval",
    "RequesterUnknown",
    "InvalidSpec",
    "QuotaExceeded",
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
_LONGEST_REASON: Final = 1024


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
    ready = find(exception.status.conditions, READY)
    if course.reason == "AnotherActive" and (ready is None or ready.reason != "AnotherActive"):
        yield _entry("waiting", OPERATOR, now, course.message)
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
    known = {(told.action, told.actor) for told in before.history}
    if course.standing is None:
        if course.outcome:
            yield from _too_late(before, over(course.outcome), known)
        return
    for vote in course.standing.counted:
        told = _told(vote, course.standing)
        if (told.action, told.actor) not in known:
            yield told
    for vote, refusal in course.standing.refused:
        if ("refused", vote.by.user) not in known:
            yield _refused(vote.by.user, vote.at, vote.channel, refusal)
    if course.outcome and course.outcome.is_timeout:
        yield _entry("rejected", OPERATOR, course.outcome.at, APPROVAL_TIMEOUT)


def _too_late(
    before: ScheduleExceptionStatus, refusal: Refusal, known: Collection[tuple[str, str]]
) -> Iterator[HistoryEntry]:
    """Entries that came after the end: whoever wrote them had a way around every door that says no."""
    said = (
        *((yes.approved_by, yes.approved_at, yes.channel) for yes in before.approvals),
        *((no.rejected_by, no.rejected_at, no.channel) for no in before.rejections),
    )
    for user, at, channel in said:
        if not {("approved", user), ("rejected", user), ("refused", user)} & {*known}:
            yield _refused(user, Instant(at), channel, refusal)


def _refused(user: str, at: Instant, channel: str, refusal: Refusal) -> HistoryEntry:
    """A decision that does not count is told once for each person, whatever the first reason was."""
    return HistoryEntry(
        action="refused",
        actor=user,
        timestamp=whole_second(at),
        channel=channel,
        reason=f"{refusal.reason}: {refusal.message}"[:_LONGEST_REASON],
    )


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


def _role(place: Seat | None) -> str | None:
    return place.name if place and place.kind == "role" else None
