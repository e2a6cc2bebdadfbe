"""What an analysis comes to: refused, ready, or for people to decide, as a chain of small policies.

It is judged once. From then on what was judged, who is asked and until when stand in the status, and nothing
that is configured later changes them. Where no one asks the people, time runs out here all the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import (
    AIAnalysis,
    AIAnalysisStatus,
    AnalysisPhase,
    ApprovalContext,
    DeadlineSource,
)
from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.decisions.aianalysis_journal import APPROVAL_REQUIRED, FINAL, instant_of, journaled
from hibernator.decisions.conditions import (
    ConditionState,
    Notice,
    lay_over,
    seconds_until,
    whole_second,
)
from hibernator.decisions.rego import ESCALATE_AFTER, NO_WISHES, Answer, Broken, Wishes, read_timeout

READY: Final = "Ready"
POLICY_EVALUATED: Final = "PolicyEvaluated"

LEAST: Final = 0.60  # below it nothing is done
SURE: Final = 0.80  # from it on no one has to agree, unless the policy says so
DEFAULT_SECONDS: Final = 900.0
RECORD_SECONDS: Final = 10.0  # how often the audit trail is tried while it is away
PATIENCE_SECONDS: Final = 30.0  # how long after the deadline the request may still say how it ended

Reason = Literal[
    "AwaitingAnalysis",
    "LowConfidence",
    "Confident",
    "MediumConfidence",
    "PolicyRequiresApproval",
    "PolicyBroken",
    "RemediationUnknown",
    "Approved",
    "AwaitingRecord",
    "Rejected",
    "ApprovalTimeout",
]
EventReason = Literal[Reason, "InvalidConfiguration"]
_WRONG: Final = frozenset(
    {"LowConfidence", "PolicyBroken", "RemediationUnknown", "Rejected", "ApprovalTimeout"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    analysis: AIAnalysis
    policy: Answer | Broken | None = None  # None where there is no policy, or it was not asked
    is_known: bool = True  # whether the RemediationRequest that it names exists
    namespace: Wishes = NO_WISHES
    problems: tuple[str, ...] = ()  # of what the namespace wishes
    request: RemediationApprovalRequest | None = None  # the one that asks about this very analysis
    on_record: bool = False  # whether the approval is in the audit trail for good
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    status: AIAnalysisStatus
    notices: tuple[Notice[EventReason], ...] = ()
    after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Course:
    """What one policy answered."""

    phase: AnalysisPhase
    reason: Reason
    message: str
    next_look: Instant | None = None
    asks: AIAnalysisStatus | None = None  # the status with all that people will be asked


def needs_policy(analysis: AIAnalysis) -> bool:
    """Whether what the policy says could matter."""
    found = analysis.spec.analysis
    return is_unjudged(analysis) and found is not None and found.confidence >= LEAST


def is_unjudged(analysis: AIAnalysis) -> bool:
    return analysis.status.phase in {None, "Pending"}


def decide(seen: Seen, now: Instant) -> Decision:
    before, generation = seen.analysis.status, seen.analysis.metadata.generation
    if before.phase in FINAL:
        return Decision(
            status=journaled(
                seen.analysis, replace(before, observed_generation=generation), seen.recorded, now
            )
        )
    policies = _JUDGE if is_unjudged(seen.analysis) else _WAIT
    course = next(found for policy in policies if (found := policy(seen, now)))
    base = course.asks or before
    moved = course.phase != before.phase
    status = replace(
        base,
        phase=course.phase,
        reason=course.reason,
        message=course.message,
        phase_since=whole_second(now) if moved else before.phase_since,
        approval_required=_required(before, course),
        observed_generation=generation,
        conditions=lay_over(before.conditions, _verdicts(seen, course), now=now, generation=generation),
    )
    return Decision(
        status=journaled(seen.analysis, status, seen.recorded, now),
        notices=_notices(seen, before, course),
        after=_after(course.next_look, now),
    )


def _unfinished(seen: Seen, _now: Instant) -> _Course | None:
    if seen.analysis.spec.analysis is not None:
        return None
    return _Course(
        phase="Pending",
        reason="AwaitingAnalysis",
        message="Waits for what the analysis finds (spec.analysis).",
    )


def _unlikely(seen: Seen, _now: Instant) -> _Course | None:
    if (confidence := _confidence(seen)) >= LEAST:
        return None
    message = f"A confidence of {confidence} is below {LEAST:.2f}: nothing is done on such a guess."
    return _Course(phase="Rejected", reason="LowConfidence", message=message)


def _needs_people(seen: Seen, now: Instant) -> _Course | None:
    found = _why_people(seen)
    if found is None:
        return None
    reason, why = found
    asks = _question(seen, why, now)
    return _Course(
        phase="Approving",
        reason=reason,
        message=_waiting(seen.analysis, asks),
        next_look=instant_of(asks.approval_deadline),
        asks=asks,
    )


def _sure(seen: Seen, _now: Instant) -> _Course:
    message = f"A confidence of {_confidence(seen):g} needs no approval."
    return _Course(phase="Ready", reason="Confident", message=message)


def _approved(seen: Seen, now: Instant) -> _Course | None:
    """Nothing that people had to agree to goes ahead without its record."""
    request = seen.request
    if request is None or request.status.decision != "Approved":
        return None
    if not seen.on_record:
        message = "It was approved. It is ready as soon as the audit trail has that on record."
        later = now.add(seconds=RECORD_SECONDS)
        return _Course(phase="Approving", reason="AwaitingRecord", message=message, next_look=later)
    return _Course(phase="Ready", reason="Approved", message=f"Approved by {_by(request)}")


def _refused(seen: Seen, _now: Instant) -> _Course | None:
    request = seen.request
    if request is None or request.status.decision not in {"Rejected", "Expired"}:
        return None
    if request.status.decision == "Expired":
        return _too_late(instant_of(seen.analysis.status.approval_deadline))
    return _Course(phase="Rejected", reason="Rejected", message=f"Rejected by {_by(request)}")


def _timed_out(seen: Seen, now: Instant) -> _Course | None:
    """No one asked, or no one said how it ended: silence is never a yes."""
    deadline = instant_of(seen.analysis.status.approval_deadline)
    return None if now < _last_look(seen, deadline) else _too_late(deadline)


def _waits(seen: Seen, _now: Instant) -> _Course:
    status = seen.analysis.status
    reason: Reason = status.reason  # type: ignore[assignment]  # it was written here, one pass ago
    gone = status.remediation_approval_request_ref is not None and seen.request is None
    message = _waiting(seen.analysis, status)
    if gone:
        message += " The request that asked them is gone."
    look = _last_look(seen, instant_of(status.approval_deadline))
    return _Course(phase="Approving", reason=reason, message=message, next_look=look)


_Policy = Callable[[Seen, Instant], _Course | None]
_JUDGE: Final[tuple[_Policy, ...]] = (_unfinished, _unlikely, _needs_people, _sure)
_WAIT: Final[tuple[_Policy, ...]] = (_approved, _refused, _timed_out, _waits)


def _why_people(seen: Seen) -> tuple[Reason, str] | None:
    confidence, policy = _confidence(seen), seen.policy
    if isinstance(policy, Broken):
        return "PolicyBroken", f"The policy cannot be used, so that everything needs approval. {policy.why}"
    if policy is not None and policy.required:
        why = policy.reason or "The policy wants people to agree."
        return "PolicyRequiresApproval", why
    if not SURE <= confidence <= 1:
        return "MediumConfidence", f"The confidence of {confidence} is below {SURE:.2f}."
    if policy is not None and not seen.is_known:
        why = "The RemediationRequest that it names does not exist, and the policy might have asked about it."
        return "RemediationUnknown", why
    return None


def _question(seen: Seen, why: str, now: Instant) -> AIAnalysisStatus:
    """What people are asked, who, and until when."""
    found = seen.analysis.spec.analysis
    wishes = seen.policy.wishes if isinstance(seen.policy, Answer) else NO_WISHES
    seconds, source = _time(seen.analysis.spec.approval_timeout, wishes, seen.namespace)
    approvers = wishes.approvers or seen.namespace.approvers
    part = wishes.escalate_after or seen.namespace.escalate_after or ESCALATE_AFTER
    return replace(
        seen.analysis.status,
        approval_context=ApprovalContext(
            confidence=_confidence(seen),
            recommended_playbook=found.recommended_playbook if found else "",
            reason=why[:4096],
        ),
        approval_deadline=_full_second(now.add(seconds=seconds)),
        deadline_source=source,
        approvers=approvers,
        escalate_at=_full_second(now.add(seconds=seconds * part)) if _has_levels(approvers) else None,
    )


def _time(own: str | None, policy: Wishes, namespace: Wishes) -> tuple[float, DeadlineSource]:
    """How long people have, and who says so: the first of the four that can be used."""
    if own is not None and (seconds := _usable(own)) is not None:
        return seconds, "Analysis"
    if policy.seconds:
        return policy.seconds, "Policy"
    if namespace.seconds:
        return namespace.seconds, "Namespace"
    return DEFAULT_SECONDS, "Default"


def _usable(text: str) -> float | None:
    try:
        return read_timeout(text)
    except ValueError:
        return None


def _has_levels(approvers: tuple[ApproverLevel, ...]) -> bool:
    return {level.level for level in approvers} == {"L1", "L2"}


def _waiting(analysis: AIAnalysis, asks: AIAnalysisStatus) -> str:
    why = asks.approval_context.reason if asks.approval_context else ""
    until = instant_of(asks.approval_deadline).format_iso()
    if analysis.spec.remediation_request_ref is None:
        return f"{why} No approver can be asked, because it names no RemediationRequest: rejected at {until}."
    return f"{why} It needs approval before {until}."


def _too_late(deadline: Instant) -> _Course:
    when = deadline.format_iso()
    message = f"It was not approved before {when}. Create another AIAnalysis if it is still needed."
    return _Course(phase="Rejected", reason="ApprovalTimeout", message=message)


def _last_look(seen: Seen, deadline: Instant) -> Instant:
    """With a request, its controller has a little longer to write its decision."""
    return deadline if seen.request is None else deadline.add(seconds=PATIENCE_SECONDS)


def _by(request: RemediationApprovalRequest) -> str:
    status = request.status
    words = f": {status.decision_message}" if status.decision_message else "."
    at = f" at {instant_of(status.decided_at).format_iso()}" if status.decided_at else ""
    return f"{status.decided_by}{at}{words}"


def _confidence(seen: Seen) -> float:
    found = seen.analysis.spec.analysis
    return found.confidence if found else 0.0


def _required(before: AIAnalysisStatus, course: _Course) -> bool | None:
    if course.phase == "Pending":
        return None
    return True if course.phase == "Approving" else bool(before.approval_required)


def _verdicts(seen: Seen, course: _Course) -> list[ConditionState]:
    verdicts = [ConditionState(READY, course.phase == "Ready", course.reason, course.message)]
    if is_unjudged(seen.analysis) and course.phase != "Pending":
        asked = course.phase == "Approving"
        verdicts.append(ConditionState(APPROVAL_REQUIRED, asked, course.reason, course.message))
        match seen.policy:
            case Broken(why):
                verdicts.append(ConditionState(POLICY_EVALUATED, False, "PolicyBroken", why))
            case Answer(reason=reason):
                verdicts.append(ConditionState(POLICY_EVALUATED, True, "Evaluated", reason))
    return verdicts


def _notices(seen: Seen, before: AIAnalysisStatus, course: _Course) -> tuple[Notice[EventReason], ...]:
    """What people hear: each change of the phase, or of the reason within it."""
    if (before.phase, before.reason) == (course.phase, course.reason):
        return ()
    type_: Literal["Normal", "Warning"] = "Warning" if course.reason in _WRONG else "Normal"
    notices: list[Notice[EventReason]] = [Notice(type_, course.reason, course.message)]
    if course.asks and seen.problems:
        message = f"What the namespace says about approvals is used only in part. {' '.join(seen.problems)}"
        notices.append(Notice("Warning", "InvalidConfiguration", message))
    return tuple(notices)


def _full_second(moment: Instant) -> datetime:
    """In whole seconds, rounded up: no one gets less time than was promised."""
    return moment.round("second", mode="ceil").to_stdlib()


def _after(next_look: Instant | None, now: Instant) -> float | None:
    return None if next_look is None else seconds_until(next_look, now)
