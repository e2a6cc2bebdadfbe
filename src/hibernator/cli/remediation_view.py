"""What `hibernator remediation` shows: the list, and one request with all that matters to an approver.

The answer to a decision is what the operator makes of it, waited for as with exceptions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.people import ApproverLevel
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.approvals.remediation import matter_of
from hibernator.cli.cluster import Session
from hibernator.cli.exception_outcome import look_until
from hibernator.cli.exits import CliError
from hibernator.cli.output import Column, aged, moment
from hibernator.decisions.person import Person, in_place_of
from hibernator.decisions.remediationapprovalrequest_votes import places, said
from hibernator.decisions.scheduleexception_request import seat_of
from hibernator.schedule.spoken import relative


def order(one: RemediationApprovalRequest) -> tuple[bool, datetime, str]:
    return bool(one.status.decision), one.spec.required_by, one.metadata.name


def asks(one: RemediationApprovalRequest, person: Person) -> bool:
    """Whether this person must approve it, as far as the CLI can know without the operator's settings."""
    asked = (*places(one.spec.approvers), *map(seat_of, one.status.required_approvals))
    return not one.spec.approvers or any(place.fits(person) for place in asked)


@dataclass(frozen=True, slots=True)
class RemediationDetails:
    request: RemediationApprovalRequest
    analysis: AIAnalysis | None  # None when it is gone or not readable


def lines(details: RemediationDetails) -> Iterator[str]:
    request = details.request
    spec, status, metadata = request.spec, request.status, request.metadata
    context = spec.approval_context
    yield f"{metadata.namespace}/{metadata.name} asks about AIAnalysis {spec.ai_analysis_ref.name}"
    found = details.analysis.spec.analysis if details.analysis else None
    signal = found.signal if found and isinstance(found.signal, str) else ""
    via = f" through {status.decided_via}" if status.decided_via else ""
    facts = (
        ("decision", status.decision or "none yet"),
        ("message", status.message),
        (
            "decided by",
            f"{in_place_of(status.decided_by, status.decided_for)}{via}" if status.decided_by else "",
        ),
        ("decided at", moment(status.decided_at)),
        ("required by", f"{moment(spec.required_by)}{_source(request)}"),
        ("playbook", context.recommended_playbook),
        ("confidence", f"{context.confidence:g}"),
        ("why people", context.reason),
        ("signal", signal),
        ("found", found.reason if found else ""),
        ("seen", matter_of(request).seen),
        ("remediation", spec.remediation_request_ref.name if spec.remediation_request_ref else ""),
        (
            "analysis",
            (details.analysis.status.phase or "") if details.analysis else "gone, or hidden from you",
        ),
    )
    for title, value in facts:
        if value:
            yield f"  {title:<12} {value}"
    yield from _people(request)


def _people(request: RemediationApprovalRequest) -> Iterator[str]:
    spec, status = request.spec, request.status
    yield "Who is asked" if spec.approvers else "Every user who may approve here is asked"
    for level in spec.approvers:
        yield f"  {level.level}   {_level(level)}{_since(level, request)}"
    for place in status.required_approvals:
        who = place.email or f"a member of the role {place.role}"
        yield f"  {place.status:<9} {who} (ExceptionPolicy {place.policy})"
    if status.refused:
        yield "What was not counted"
        for one in status.refused:
            yield f"  {moment(one.at)} {one.decision} by {one.by or 'an unknown user'}: {one.message}"


def _level(level: ApproverLevel) -> str:
    return ", ".join((*level.emails, *level.roles))


def _since(level: ApproverLevel, request: RemediationApprovalRequest) -> str:
    if level.level == "L1" or request.spec.escalate_at is None:
        return ""
    if request.status.escalated_at:
        return f" (since {moment(request.status.escalated_at)})"
    return f" (from {moment(request.spec.escalate_at)} on)"


def _source(request: RemediationApprovalRequest) -> str:
    return _SOURCES.get(request.status.deadline_source or "", "")


_SOURCES: Final = {
    "Analysis": " (the analysis says so)",
    "Policy": " (the policy says so)",
    "Namespace": " (the namespace says so)",
    "Default": " (the default)",
}


def columns(now: Callable[[], Instant]) -> tuple[Column[RemediationApprovalRequest], ...]:
    """What is shown of a request, by a clock."""
    return (
        Column("Analysis", lambda one: one.spec.ai_analysis_ref.name),
        Column("Confidence", lambda one: f"{one.spec.approval_context.confidence:g}"),
        Column("Playbook", lambda one: one.spec.approval_context.recommended_playbook),
        Column(
            "Required",
            lambda one: relative(one.spec.required_by, now()),
            basis=lambda one: one.spec.required_by,
        ),
        Column("Decision", lambda one: one.status.decision),
        aged(),
        Column("Required by", lambda one: moment(one.spec.required_by), wide=True),
        Column(
            "Decided by", lambda one: in_place_of(one.status.decided_by, one.status.decided_for), wide=True
        ),
        Column("Message", lambda one: one.status.message, wide=True),
    )


async def outcome(session: Session, name: str, user: str) -> str:
    """How the request stands after this user's decision; raises `CliError` where that does not count."""
    view = f"`hibernator remediation view {name}{session.options}`"
    answer = f"The operator does not say yet whether that counts: see {view}."

    def is_over(request: RemediationApprovalRequest) -> bool:
        nonlocal answer
        status = request.status
        if status.decision in {"Approved", "Rejected"}:
            answer = status.message
        elif said(request) is not None:
            return False
        elif any(yes.approved_by == user for yes in status.approvals):
            answer = f"Your approval counts. {status.message}"
            return True
        elif refused := next((one for one in reversed(status.refused) if one.by == user), None):
            why = f"Your decision was recorded, but not counted. {refused.message}"
            raise CliError(why, hint=f"See {view}.")
        return bool(status.decision)

    await look_until(is_over, session.client, APPROVAL_REQUESTS, name, session.namespace)
    return answer
