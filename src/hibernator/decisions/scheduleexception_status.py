"""The status that follows from where an exception is: what people see, its history, and its journal.

The history is for people and stays; the journal has the same for the audit trail, and goes once that has it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.meta import Transition
from hibernator.api.scheduleexception import (
    Action,
    ApprovalState,
    ExceptionState,
    HistoryEntry,
    Impact,
    Judged,
    MatchedPolicy,
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
from hibernator.decisions.conditions import ConditionState, find, lay_over, whole_second
from hibernator.decisions.exceptionpolicy import Demands
from hibernator.decisions.journal import (
    BEHALF,
    CHANNEL,
    USER,
    News,
    change_news,
    how_known,
    journal_or,
    noted,
)
from hibernator.decisions.scheduleexception_request import requester

Reason = Literal[
    "Draft",
    "AwaitingApproval",
    "RequesterUnknown",
    "InvalidSpec",
    "PolicyRefused",
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
_OURS: Final = frozenset(
    {"waiting", "activated", "expired", "policy", "escalated"}
)  # what no person does, whatever their name
_BY_POLICIES: Final = frozenset({"policy", "escalated"})  # of which there may be several at once
_TYPES: Final[Mapping[Action, str]] = {
    "requested": "requested",
    "submitted": "requested",
    "approved": "approval.given",
    "rejected": "rejected",
    "refused": "approval.refused",
    "waiting": "waiting",
    "activated": "activated",
    "cancelled": "cancelled",
    "expired": "expired",
    "policy": "policy.changed",
    "escalated": "escalated",
}


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
    demands: Demands | None = None  # None where policies do not count (any more)
    judged: Judged | None = None


def next_status(
    exception: ScheduleException,
    course: Course,
    impact: Impact | None,
    recorded: Collection[int],
    now: Instant,
) -> ScheduleExceptionStatus:
    before = exception.status
    fresh = tuple(_entries(exception, course, now))
    history = (*before.history, *fresh)
    stamp, until = whole_second(now), whole_second(Instant(exception.spec.valid_until))
    required, progress = _required(before, course)
    submitted = course.state != "Draft"
    after = replace(
        before,
        state=course.state,
        approval_state=_approval_state(course),
        approval_progress=progress,
        approval_deadline=_deadline(exception, course),
        applied_at=before.applied_at or (stamp if course.state == "Active" else None),
        expired_at=before.expired_at or (until if course.state == "Expired" else None),
        message=course.message,
        requested_by=requester(exception),
        requested_at=before.requested_at or (stamp if submitted else None),
        required_approvals=required,
        policies=before.policies if course.demands is None else _matched(course.demands, now),
        channels=before.channels if course.demands is None else tuple(sorted(course.demands.channels or ())),
        judged=_judged(before, course),
        history=_shortened(history),
        impact=impact or before.impact,
        observed_generation=exception.metadata.generation,
        conditions=lay_over(
            before.conditions,
            [ConditionState(READY, course.state == "Active", course.reason, course.message)],
            now=now,
            generation=exception.metadata.generation,
        ),
    )
    news = (*_history_news(fresh, before, drafted=not submitted), *_agreed(before.approval_state, after))
    return journaled(exception, after, news, recorded, now)


def journaled(
    exception: ScheduleException,
    status: ScheduleExceptionStatus,
    news: Sequence[News],
    recorded: Collection[int],
    now: Instant,
) -> ScheduleExceptionStatus:
    """The new status, with the journal and the notices of what changed."""
    before = exception.status
    news = (*change_news(before.observed_generation, exception.metadata), *news)
    return replace(status, journal=noted(before.journal, news, recorded, now, story=_story(before)))


def journal_of(exception: ScheduleException) -> tuple[Transition, ...]:
    return journal_or(exception.status.journal, _story(exception.status))


def _story(status: ScheduleExceptionStatus) -> Iterator[News]:
    drafted = status.requested_at is None or any(entry.action == "submitted" for entry in status.history)
    yield from _history_news(status.history, status, drafted=drafted)
    yield from _agreed(None, status)


def _history_news(
    entries: Sequence[HistoryEntry], status: ScheduleExceptionStatus, *, drafted: bool
) -> Iterator[News]:
    """The entries of the history as the audit trail calls them."""
    known = {yes.approved_by: yes.known_by for yes in status.approvals}
    known |= {no.rejected_by: no.known_by for no in status.rejections}
    for entry in entries:
        is_timeout = (entry.action, entry.actor, entry.reason) == ("rejected", OPERATOR, APPROVAL_TIMEOUT)
        type_ = "timedout" if is_timeout else _TYPES[entry.action]
        data = {
            "role": entry.role,
            "reason": entry.reason,
            CHANNEL: entry.channel,
            BEHALF: entry.on_behalf_of,
        }
        said = {key: word for key, word in data.items() if word}
        if entry.action in _DECIDED:
            said |= how_known(known.get(entry.actor))
        is_ours = entry.action in _OURS or is_timeout
        at = Instant(entry.timestamp)
        yield News(
            "drafted" if drafted and entry.action == "requested" else type_,
            entry.reason if entry.action == "refused" else "",
            said if is_ours else {**said, USER: entry.actor},
            at,
            None if entry.action in _BY_POLICIES else (entry.actor, at.format_iso()),
        )


_DECIDED: Final = frozenset({"approved", "rejected", "refused"})  # what people do at a door


def _shortened(history: Sequence[HistoryEntry]) -> tuple[HistoryEntry, ...]:
    """Without the oldest of what no person did: what a decision counts from is when it was heard first."""
    spare = [index for index, entry in enumerate(history) if entry.action in _OURS]
    gone = {*spare[: max(len(history) - MOST_HISTORY, 0)]}
    return tuple(entry for index, entry in enumerate(history) if index not in gone)[-MOST_HISTORY:]


def _agreed(before: ApprovalState | None, after: ScheduleExceptionStatus) -> Iterator[News]:
    """That everyone has agreed, when the last of them did; later decisions do not count."""
    given = [entry for entry in after.history if entry.action == "approved"]
    if given and after.approval_state == "Approved" != before:
        at = Instant(given[-1].timestamp)
        yield News("approved", at=at, identity=(at.format_iso(),))


def _matched(demands: Demands, now: Instant) -> tuple[MatchedPolicy, ...]:
    return tuple(
        MatchedPolicy(
            name=one.policy,
            version=one.version,
            unless=one.unless[:_LONGEST_REASON],
            escalated=one.escalated_at is not None and one.escalated_at <= now,
        )
        for one in demands.each
    )


def _judged(before: ScheduleExceptionStatus, course: Course) -> Judged | None:
    """What is active without an approval was let through as it is."""
    if course.judged is None:
        return before.judged
    return replace(course.judged, let_through=course.request is None and course.state == "Active")


def _policy_entries(before: ScheduleExceptionStatus, course: Course, now: Instant) -> Iterator[HistoryEntry]:
    """What became of the policies since people were asked."""
    if course.demands is None or before.state in {None, "Draft"}:
        return
    was, now_there = (
        {one.name: one for one in each} for each in (before.policies, _matched(course.demands, now))
    )
    for name in sorted(was.keys() | now_there.keys()):
        old, new = was.get(name), now_there.get(name)
        if new is None:
            said = f"ExceptionPolicy {name} no longer exists; it does not count any more."
        elif old is None:
            said = f"ExceptionPolicy {name} counts from now on."
        elif old.version != new.version:
            said = f"ExceptionPolicy {name} was changed; what it says now counts."
        else:
            said = ""
        if said:
            yield _entry("policy", OPERATOR, now, said)
        if new and new.escalated and old and not old.escalated:
            yield _entry(
                "escalated", OPERATOR, now, f"ExceptionPolicy {name} allows more people to approve now."
            )


def _approval_state(course: Course) -> ApprovalState | None:
    if course.request is None:
        return None
    return course.outcome.state if course.outcome else "Pending"


def _deadline(exception: ScheduleException, course: Course) -> datetime | None:
    """By when people must agree: what has ended by itself needs no approval any more."""
    if course.request is None:
        return None
    return whole_second(min(course.request.deadline, Instant(exception.spec.valid_until)))


def _required(before: ScheduleExceptionStatus, course: Course) -> tuple[tuple[RequiredApproval, ...], str]:
    if course.request is None:
        return (), ""
    if course.standing is None:
        return before.required_approvals, before.approval_progress
    standing, needs = course.standing, dict(course.request.needs)
    required = tuple(
        RequiredApproval(
            status=standing.status_of(place),
            email=place.name if place.kind == "email" else None,
            role=place.name if place.kind == "role" else None,
            policy=place.policy or None,
            needed=needs.get(place.policy),
        )
        for place in course.request.places
    )
    missing = sum(number for _, number in course.request.missing(standing.filled))
    all_needed = course.request.all_needed
    return required, f"{all_needed - missing}/{all_needed}"


def awaited(request: Request, standing: Standing) -> Iterator[str]:
    """For whom it waits, a sentence for each policy that is not satisfied."""
    for group, more in request.missing(standing.filled):
        places = [place for place in request.places if place.policy == group]
        names = ", ".join(place.name for place in places if place not in standing.filled)
        by = f" by ExceptionPolicy {group}" if group else ""
        if dict(request.groups)[group] == len(places):
            yield f"Waits for the approval of {names}{by}."
        else:
            yield f"Waits for {more} more of these to approve{by}: {names}."


def _entries(exception: ScheduleException, course: Course, now: Instant) -> Iterator[HistoryEntry]:
    """What was done since the last pass."""
    before, who = exception.status.state, requester(exception)
    if before is None:
        yield _entry("requested", who, now, exception.spec.reason or "")
    elif before == "Draft" and course.state not in {"Draft", "Cancelled"}:
        yield _entry("submitted", who, now)
    yield from _policy_entries(exception.status, course, now)
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
    """What people decided that is not in the history yet, or that no one decided in time."""
    known = {(entry.action, entry.actor) for entry in before.history}
    if course.standing is None:
        if course.outcome:
            yield from _too_late(before, over(course.outcome), known)
        return
    for vote in course.standing.counted:
        entry = _counted(vote, course.standing)
        if (entry.action, entry.actor) not in known:
            yield entry
    for vote, refusal in course.standing.refused:
        if ("refused", vote.by.user) not in known:
            yield _refused(vote.by.user, vote.at, vote.channel, refusal)
    if course.outcome and course.outcome.is_timeout:
        yield _entry("rejected", OPERATOR, course.outcome.at, APPROVAL_TIMEOUT)


def _too_late(
    before: ScheduleExceptionStatus, refusal: Refusal, known: Collection[tuple[str, str]]
) -> Iterator[HistoryEntry]:
    """Entries that came after the end: their writers had a way around every door that says no."""
    said = (
        *((yes.approved_by, yes.approved_at, yes.channel) for yes in before.approvals),
        *((no.rejected_by, no.rejected_at, no.channel) for no in before.rejections),
    )
    for user, at, channel in said:
        if not {("approved", user), ("rejected", user), ("refused", user)} & {*known}:
            yield _refused(user, Instant(at), channel, refusal)


def _refused(user: str, at: Instant, channel: str, refusal: Refusal) -> HistoryEntry:
    """A decision that does not count is reported once for each person, whatever the first reason was."""
    return HistoryEntry(
        action="refused",
        actor=user,
        timestamp=whole_second(at),
        channel=channel,
        reason=f"{refusal.reason}: {refusal.message}"[:_LONGEST_REASON],
    )


def _entry(action: Action, actor: str, at: Instant, reason: str = "") -> HistoryEntry:
    return HistoryEntry(action=action, actor=actor, timestamp=whole_second(at), reason=reason)


def _counted(vote: Vote, standing: Standing) -> HistoryEntry:
    place = vote.place or next((at for at, by in standing.filled.items() if by is vote), None)
    return HistoryEntry(
        action="approved" if vote.verdict == "approve" else "rejected",
        actor=vote.by.user,
        timestamp=whole_second(vote.at),
        channel=vote.channel,
        role=_role(place),
        on_behalf_of=standing.behalf_of(vote),
        reason=vote.reason,
    )


def _role(place: Seat | None) -> str | None:
    return place.name if place and place.kind == "role" else None
