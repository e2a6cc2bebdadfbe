"""How a request for approval ends: someone's condition becomes the decision, or time runs out.

Whose decision counts is for the machine that all approvals share. A decision that does not count is set
aside, so that others can still decide. When someone decided is never taken from what they wrote.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.meta import Condition, Transition
from hibernator.api.remediationapprovalrequest import (
    RefusedDecision,
    RemediationApprovalRequest,
    RemediationApprovalRequestStatus,
)
from hibernator.decisions.approval import Standing
from hibernator.decisions.conditions import Notice, find, seconds_until, whole_second
from hibernator.decisions.journal import (
    BEHALF,
    CHANNEL,
    USER,
    News,
    author,
    created_at,
    creation_news,
    how_known,
    journal_or,
    noted,
)
from hibernator.decisions.person import in_place_of
from hibernator.decisions.remediationapprovalrequest_status import (
    approval,
    awaited,
    decided_by,
    required,
    undecided,
)
from hibernator.decisions.remediationapprovalrequest_votes import UNKNOWN_CHANNEL, Seen, Weighed, said, weigh
from hibernator.decisions.remediationrequest import AGAIN, controller_of

MOST_REFUSED: Final = 10

Reason = Literal[
    "Waiting", "Escalated", "ApprovalCounted", "Approved", "Rejected", "Expired", "DecisionRefused"
]
Decided = Literal["Approved", "Rejected"]
_UNNAMED: Final = "an unknown user"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    status: RemediationApprovalRequestStatus | None = None  # None where there is nothing left to decide
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen, with what was decided worked out."""

    request: RemediationApprovalRequest
    before: RemediationApprovalRequestStatus
    condition: Condition | None  # by which someone decided
    weighed: Weighed
    now: Instant

    @property
    def standing(self) -> Standing:
        return self.weighed.standing


@dataclass(frozen=True, slots=True)
class _Course:
    """What one policy answered."""

    status: RemediationApprovalRequestStatus
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None


def decide(seen: Seen, now: Instant) -> Decision:
    request = seen.request
    if request.metadata.deletion_timestamp:
        return Decision()
    condition = said(request)
    weighed = weigh(seen, condition, now)
    before = replace(
        request.status,
        observed_generation=request.metadata.generation,
        deadline_source=request.status.deadline_source or seen.deadline_source,
    )
    if not before.decision:
        before = required(before, weighed)
    look = _Look(request, before, condition, weighed, now)
    course = next(found for policy in _POLICIES if (found := policy(look)))
    journal = noted(
        request.status.journal,
        _news(request, request.status, course.status),
        seen.recorded,
        now,
        story=_story(request),
    )
    return Decision(
        status=replace(course.status, journal=journal), notices=course.notices, after=course.after
    )


def _final(look: _Look) -> _Course | None:
    """The first decision is final."""
    return _Course(look.before) if look.before.decision else None


def _uncounted(look: _Look) -> _Course | None:
    """A decision that does not count is set aside, so that others can still decide."""
    condition, refusal, before = look.condition, look.weighed.refusal, look.before
    if condition is None or refusal is None:
        return None
    reason = refusal.reason if before.decided_by else "Nameless"
    status = replace(
        _refuse(before, condition, reason, refusal.message, look.now),
        conditions=tuple(one for one in before.conditions if one is not condition),
        message=f"The decision of {before.decided_by or _UNNAMED} was not counted. {refusal.message}",
    )
    # At once again: deadline and escalation are worked out for the request without that decision.
    return _Course(status, (Notice("Warning", "DecisionRefused", status.message),), 0.0)


def _set_aside(look: _Look) -> _Course | None:
    """An approval that counts and is not enough: the policies ask for more."""
    condition, before, vote = look.condition, look.before, look.weighed.vote
    if condition is None or vote is None or look.standing.outcome or not look.weighed.is_counted:
        return None
    status = replace(
        undecided(before),
        approvals=(*before.approvals, approval(before, vote)),
        conditions=tuple(one for one in before.conditions if one is not condition),
        message=f"Approved by {in_place_of(before.decided_by, look.standing.behalf_of(vote))}.",
    )
    return _Course(status, (Notice("Normal", "ApprovalCounted", status.message),), 0.0)


def _waits(look: _Look) -> _Course | None:
    if look.standing.outcome is not None:
        return None
    spec, before = look.request.spec, look.before
    due = spec.escalate_at is not None and look.now >= Instant(spec.escalate_at)
    escalated_at = before.escalated_at or (spec.escalate_at if due else None)
    message = " ".join(awaited(look.request, look.weighed, both=due))
    if before.refused:
        last = before.refused[-1]
        message += f" The decision of {last.by or _UNNAMED} was not counted. {last.message}"
    status = replace(before, escalated_at=escalated_at, message=message)
    moments = (_next_look(look.request, due=due), look.weighed.demands.next_change(look.now))
    after = seconds_until(min(moment for moment in moments if moment), look.now)
    return _Course(status, tuple(_notices(before, status)), after)


def _decided(look: _Look) -> _Course | None:
    outcome, before = look.standing.outcome, look.before
    if outcome is None or outcome.is_timeout:
        return None
    last = look.standing.counted[-1]
    if look.condition is None:  # a policy is gone, and what others have approved is enough now
        before = decided_by(before, last)
    behalf = look.standing.behalf_of(last)
    status = replace(
        before,
        decision=outcome.state,
        decided_at=whole_second(last.at),
        decided_via=before.decided_via or UNKNOWN_CHANNEL,
        decided_for=behalf,
        decision_message=last.reason,
        message=f"{outcome.state} by {in_place_of(before.decided_by, behalf)}"
        f"{f': {last.reason}' if last.reason else '.'}",
    )
    return _over(status, outcome.state)


def _expired(look: _Look) -> _Course:
    before, required_by = look.before, look.request.spec.required_by
    message = f"No decision before {_iso(required_by)}."
    if look.condition:
        message += f" The decision of {before.decided_by or _UNNAMED} came too late."
        before = _refuse(before, look.condition, "TooLate", message, look.now)
    status = replace(before, decision="Expired", decided_at=required_by, message=message)
    return _over(status, "Expired")


_POLICIES: Final[tuple[Callable[[_Look], _Course | None], ...]] = (
    _final,
    _uncounted,
    _set_aside,
    _waits,
    _decided,
    _expired,
)


def journal_of(request: RemediationApprovalRequest) -> tuple[Transition, ...]:
    return journal_or(request.status.journal, _story(request))


def _refuse(
    before: RemediationApprovalRequestStatus, condition: Condition, reason: str, message: str, now: Instant
) -> RemediationApprovalRequestStatus:
    entry = RefusedDecision(
        by=before.decided_by,
        decision=_decided_by(condition),
        at=whole_second(now),
        reason=reason,
        message=message[:8192],
        via=before.decided_via,
        known_by=before.decider_known_by,
    )
    return replace(undecided(before), refused=(*before.refused, entry)[-MOST_REFUSED:])


def _decided_by(condition: Condition) -> Decided:
    return "Approved" if condition.type == "Approved" else "Rejected"


def _over(status: RemediationApprovalRequestStatus, reason: Reason) -> _Course:
    type_: Literal["Normal", "Warning"] = "Normal" if reason == "Approved" else "Warning"
    return _Course(status, (Notice(type_, reason, status.message),))


def _notices(
    before: RemediationApprovalRequestStatus, after: RemediationApprovalRequestStatus
) -> Iterator[Notice[Reason]]:
    if after.escalated_at and not before.escalated_at:
        message = f"No decision so far: the second level is asked, too. {after.message}"
        yield Notice(type="Warning", reason="Escalated", message=message)
    elif not before.message:
        yield Notice(type="Normal", reason="Waiting", message=after.message)


def _next_look(request: RemediationApprovalRequest, *, due: bool) -> Instant:
    spec = request.spec
    moments = [spec.required_by, *([spec.escalate_at] if spec.escalate_at and not due else [])]
    return min(map(Instant, moments))


def _iso(moment: datetime) -> str:
    return Instant(moment).format_iso()


def _story(request: RemediationApprovalRequest) -> Iterator[News]:
    return _news(request, RemediationApprovalRequestStatus(), request.status)


def _news(
    request: RemediationApprovalRequest,
    before: RemediationApprovalRequestStatus,
    after: RemediationApprovalRequestStatus,
) -> Iterator[News]:
    metadata = request.metadata
    by = author(metadata, 1)
    is_ours = controller_of(request) is not None and not by
    data = {
        "analysis": request.spec.ai_analysis_ref.name,
        "requiredBy": _iso(request.spec.required_by),
        **({"by": "operator"} if is_ours else {USER: by}),
    }
    for made in creation_news(before.observed_generation, after.observed_generation, metadata, data):
        yield made
        if metadata.name.endswith(AGAIN):
            yield News("recreated", at=created_at(metadata), identity=())
    if after.escalated_at and not before.escalated_at:
        yield News("escalated", at=Instant(after.escalated_at), identity=())
    for refused in after.refused:
        if refused not in before.refused:
            at = Instant(refused.at)
            identity = refused.by, refused.decision, at.format_iso()
            who = {USER: refused.by, CHANNEL: refused.via, **how_known(refused.known_by)}
            data = {"decision": refused.decision, "reason": refused.reason, **who}
            yield News("approval.refused", refused.message, data, at, identity)
    for yes in after.approvals[len(before.approvals) :]:
        at = Instant(yes.approved_at)
        who = {USER: yes.approved_by, CHANNEL: yes.channel, **how_known(yes.known_by)}
        yield News("approval.given", data=who, at=at, identity=(yes.approved_by, at.format_iso()))
    if after.decision and not before.decision:
        yield from _end(request, after)


def _end(request: RemediationApprovalRequest, after: RemediationApprovalRequestStatus) -> Iterator[News]:
    """How it ended, which happens once in its life: as it stands in the object before anything is written."""
    condition = find(after.conditions, after.decision)
    said_at = (Instant(condition.last_transition_time).format_iso(),) if condition else ()
    at = Instant(after.decided_at) if after.decided_at else created_at(request.metadata)
    who: dict[str, str] = {}
    if after.decision != "Expired":
        who = {USER: after.decided_by, CHANNEL: after.decided_via, **how_known(after.decider_known_by)}
        who |= {BEHALF: after.decided_for} if after.decided_for else {}
    if after.decision == "Approved":
        yield News("approval.given", data=who, at=at, identity=(after.decided_by, *said_at))
    reason = {"words": after.decision_message} if after.decision_message else {}
    data = {"analysis": request.spec.ai_analysis_ref.name, **reason, **who}
    yield News(after.decision.lower(), data=data, at=at, identity=said_at)
