"""How a request for approval ends: somebody's condition becomes the decision, or time runs out.

Whose word counts is for the machine that all approvals share. A decision that does not count is set aside, so
that those whose word does count can still decide. When somebody decided is never taken from what they wrote.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import DeadlineSource
from hibernator.api.meta import Condition
from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import (
    RefusedDecision,
    RemediationApprovalRequest,
    RemediationApprovalRequestStatus,
)
from hibernator.decisions.approval import Person, Refusal, Request, Seat, Standing, Vote, stand
from hibernator.decisions.conditions import whole_second
from hibernator.decisions.notice import Notice

UNKNOWN_CHANNEL: Final = "api"
MOST_REFUSED: Final = 10

Reason = Literal["Waiting", "Escalated", "Approved", "Rejected", "Expired", "DecisionRefused"]
Word = Literal["Approved", "Rejected"]
_UNNAMED: Final = "an unknown user"
_ANYBODY: Final = Seat("role", "*")
_UNKNOWN: Final = Person("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    request: RemediationApprovalRequest
    person: Person  # the one whose name stands beside the condition
    author: Person = _UNKNOWN  # of the analysis; no name where nobody knows
    own_allowed: bool = False  # whether authors may approve their own analyses
    accepted_at: Instant | None = None  # when the API server took it, where that matters: after the deadline
    deadline_source: DeadlineSource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    status: RemediationApprovalRequestStatus | None = None
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None


def said(request: RemediationApprovalRequest) -> Condition | None:
    """The condition by which somebody decided."""
    return next((one for one in request.status.conditions if one.type in {"Approved", "Rejected"}), None)


def places(levels: tuple[ApproverLevel, ...]) -> tuple[Seat, ...]:
    """Whose word counts. The second level need not wait until it is asked."""
    named = (
        *(Seat("email", email) for level in levels for email in level.emails),
        *(Seat("role", role) for level in levels for role in level.roles),
    )
    return named or (_ANYBODY,)


def decide(seen: Seen, now: Instant) -> Decision:
    request = seen.request
    if request.metadata.deletion_timestamp:
        return Decision()  # there is nothing left to decide
    before = replace(
        request.status,
        observed_generation=request.metadata.generation,
        deadline_source=request.status.deadline_source or seen.deadline_source,
    )
    if before.decision:
        return Decision(status=before)
    word = said(request)
    standing, refusal = _hear(seen, word, now)
    if word and refusal:
        return _set_aside(before, word, refusal, now)
    if standing.outcome is None:
        return _wait(request, before, now)
    if word and standing.counted:
        return _decided(before, word, standing.counted[0].at)
    return _over(_expired(request, before, word, now), "Expired")


def _hear(seen: Seen, word: Condition | None, now: Instant) -> tuple[Standing, Refusal | None]:
    """How it stands with what was said, and why that does not count, if it never will.

    A word that came too late is no such case: there time has run out, and that is how it ends.
    """
    spec, uid = seen.request.spec, seen.request.metadata.uid
    request = Request(
        requester=seen.author,
        places=places(spec.approvers),
        needed=1,
        asked_at=Instant.MIN,  # nobody can have spoken before there was anything to add a condition to
        deadline=Instant(spec.required_by),
        uid=uid,
        spec_hash="",  # the spec never changes
        # Most analyses come from programs, and without the webhook nobody knows from which.
        own_allowed=seen.own_allowed or not seen.author.user,
    )
    if word is None:
        return stand(request, (), now), None
    at = seen.accepted_at or now
    person = dataclasses.replace(seen.person, roles=seen.person.roles | {_ANYBODY.name})
    verdict: Literal["approve", "reject"] = "approve" if word.type == "Approved" else "reject"
    standing = stand(request, (Vote(by=person, verdict=verdict, at=at, uid=uid),), now)
    refusal = next((why for _, why in standing.refused if why.reason != "TooLate"), None)
    if not person.user and at < request.deadline:
        refusal = Refusal(
            "NotAsked",
            "It is unknown who decided: write your own user name into status.decidedBy together with the "
            "condition, or use `hibernator remediation approve`.",
        )
    return standing, refusal


def _set_aside(
    before: RemediationApprovalRequestStatus, word: Condition, refusal: Refusal, now: Instant
) -> Decision:
    reason = refusal.reason if before.decided_by else "Nameless"
    status = replace(
        _refuse(before, word, reason, refusal.message, now),
        conditions=tuple(one for one in before.conditions if one is not word),
        message=f"The decision of {before.decided_by or _UNNAMED} was not counted. {refusal.message}",
    )
    # At once again: deadline and escalation are worked out for the request without that word.
    notice: Notice[Reason] = Notice("Warning", "DecisionRefused", status.message)
    return Decision(status=status, notices=(notice,), after=0.0)


def _refuse(
    before: RemediationApprovalRequestStatus, word: Condition, reason: str, message: str, now: Instant
) -> RemediationApprovalRequestStatus:
    entry = RefusedDecision(
        by=before.decided_by,
        decision=_word(word),
        at=whole_second(now),
        reason=reason,
        message=message[:8192],
    )
    return replace(
        before,
        decided_by="",
        decider_groups=(),
        decider_extra={},
        decided_at=None,
        decided_via="",
        decision_message="",
        refused=(*before.refused, entry)[-MOST_REFUSED:],
    )


def _expired(
    request: RemediationApprovalRequest,
    before: RemediationApprovalRequestStatus,
    late: Condition | None,
    now: Instant,
) -> RemediationApprovalRequestStatus:
    message = f"No decision before {_iso(request.spec.required_by)}."
    if late:
        message += f" The decision of {before.decided_by or _UNNAMED} came too late."
        before = _refuse(before, late, "TooLate", message, now)
    return replace(before, decision="Expired", decided_at=request.spec.required_by, message=message)


def _decided(before: RemediationApprovalRequestStatus, word: Condition, at: Instant) -> Decision:
    decision, words = _word(word), word.message[:1024]
    told = f"{decision} by {before.decided_by}{f': {words}' if words else '.'}"
    status = replace(
        before,
        decision=decision,
        decided_at=whole_second(at),
        decided_via=before.decided_via or UNKNOWN_CHANNEL,
        decision_message=words,
        message=told,
    )
    return _over(status, decision)


def _word(condition: Condition) -> Word:
    return "Approved" if condition.type == "Approved" else "Rejected"


def _over(status: RemediationApprovalRequestStatus, reason: Reason) -> Decision:
    type_: Literal["Normal", "Warning"] = "Normal" if reason == "Approved" else "Warning"
    return Decision(status=status, notices=(Notice(type=type_, reason=reason, message=status.message),))


def _wait(
    request: RemediationApprovalRequest, before: RemediationApprovalRequestStatus, now: Instant
) -> Decision:
    spec = request.spec
    due = spec.escalate_at is not None and now >= Instant(spec.escalate_at)
    escalated_at = before.escalated_at or (spec.escalate_at if due else None)
    message = f"Waits until {_iso(spec.required_by)} for {_asked(spec.approvers, both=due)}."
    if before.refused:
        last = before.refused[-1]
        message += f" The decision of {last.by or _UNNAMED} was not counted. {last.message}"
    status = replace(before, escalated_at=escalated_at, message=message)
    return Decision(
        status=status, notices=tuple(_news(before, status)), after=_after(_next_look(request, due=due), now)
    )


def _news(
    before: RemediationApprovalRequestStatus, after: RemediationApprovalRequestStatus
) -> Iterator[Notice[Reason]]:
    if after.escalated_at and not before.escalated_at:
        message = f"No decision so far: the second level is asked, too. {after.message}"
        yield Notice(type="Warning", reason="Escalated", message=message)
    elif not before.message:
        yield Notice(type="Normal", reason="Waiting", message=after.message)


def _asked(levels: tuple[ApproverLevel, ...], *, both: bool) -> str:
    only_second = all(level.level == "L2" for level in levels)
    names = [
        name
        for level in levels
        if level.level == "L1" or both or only_second
        for name in (*level.emails, *level.roles)
    ]
    return f"one of {', '.join(names)}" if names else "any user who may approve"


def _next_look(request: RemediationApprovalRequest, *, due: bool) -> Instant:
    spec = request.spec
    moments = [spec.required_by, *([spec.escalate_at] if spec.escalate_at and not due else [])]
    return min(map(Instant, moments))


def _after(next_look: Instant, now: Instant) -> float:
    return max(0.0, (next_look - now).total("seconds"))


def _iso(moment: datetime) -> str:
    return Instant(moment).format_iso()
