"""What the audit trail is told about remediations: all that stands in the objects, again on each change.

The status is the source, so that nothing is lost with a process: whoever looks next tells the same
transitions under the same ids. Everything about one RemediationRequest has its uid as the correlation.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from whenever import Instant

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.audit.event import OPERATOR, AuditEvent, Channel, Resource, event, person
from hibernator.audit.trail import Trail
from hibernator.decisions.aianalysis import APPROVAL_REQUIRED
from hibernator.decisions.author import author
from hibernator.decisions.conditions import find
from hibernator.decisions.remediationrequest import AGAIN, controller_of

_CHANNELS: Final[dict[str, Channel]] = {channel: channel for channel in get_args(Channel)}


def record(trail: Trail, events: Iterable[AuditEvent]) -> bool:
    """Tell everything; False when something did not fit in and must be told again."""
    told = [trail.has(one.id) or trail.record(one) for one in events]
    return all(told)


def remediation_events(remediation: RemediationRequest) -> Iterator[AuditEvent]:
    spec = remediation.spec
    words = {"signal": spec.signal_name, "severity": spec.severity, "environment": spec.environment}
    said = {key: word for key, word in words.items() if word}
    yield _created(REMEDIATIONS, remediation, said)


def analysis_events(analysis: AIAnalysis) -> Iterator[AuditEvent]:
    about, status, together = Resource.of(ANALYSES, analysis), analysis.status, correlation(analysis)
    yield _created(ANALYSES, analysis, {})
    needed = find(status.conditions, APPROVAL_REQUIRED)
    if needed and needed.status == "True" and status.approval_context and status.approval_deadline:
        yield event(
            "aianalysis.approving",
            about,
            at=Instant(needed.last_transition_time),
            identity=(Instant(needed.last_transition_time).format_iso(),),
            correlation_id=together,
            data={
                "confidence": status.approval_context.confidence,
                "playbook": status.approval_context.recommended_playbook,
                "reason": needed.reason,
                "deadline": Instant(status.approval_deadline),
                "deadlineSource": status.deadline_source or "",
            },
        )
    if status.phase in {"Ready", "Rejected"} and status.phase_since:
        reference = status.remediation_approval_request_ref
        yield event(
            f"aianalysis.{status.phase.lower()}",
            about,
            at=Instant(status.phase_since),
            identity=(Instant(status.phase_since).format_iso(),),
            correlation_id=together,
            data={"reason": status.reason} | ({"request": reference.name} if reference else {}),
        )


def adopted(analysis: AIAnalysis, remediation: RemediationRequest, at: Instant) -> AuditEvent:
    return event(
        "aianalysis.adopted",
        Resource.of(ANALYSES, analysis),
        at=at,
        identity=(remediation.metadata.uid,),
        correlation_id=remediation.metadata.uid,
        data={"remediation": remediation.metadata.name},
    )


def request_events(request: RemediationApprovalRequest) -> Iterator[AuditEvent]:
    about, status, together = Resource.of(APPROVAL_REQUESTS, request), request.status, correlation(request)
    asked = {"analysis": request.spec.ai_analysis_ref.name, "requiredBy": Instant(request.spec.required_by)}
    yield _created(APPROVAL_REQUESTS, request, asked)
    if request.metadata.name.endswith(AGAIN):
        yield event(
            "remediationapprovalrequest.recreated", about, at=_created_at(request), correlation_id=together
        )
    if status.escalated_at:
        at = Instant(status.escalated_at)
        yield event("remediationapprovalrequest.escalated", about, at=at, correlation_id=together)
    for refused in status.refused:
        at = Instant(refused.at)
        yield event(
            "remediationapprovalrequest.approval.refused",
            about,
            at=at,
            identity=(refused.by, refused.decision, at.format_iso()),
            actor=person(refused.by),
            channel="api",
            correlation_id=together,
            data={"decision": refused.decision, "reason": refused.reason},
            error=refused.message,
        )
    if status.decision == "Approved":
        yield given(request)
    if status.decision:
        yield _decided(request)


def given(request: RemediationApprovalRequest) -> AuditEvent:
    """That somebody approved: told while the decision is still being written, which saves waiting for it."""
    return event(
        "remediationapprovalrequest.approval.given",
        Resource.of(APPROVAL_REQUESTS, request),
        at=_decided_at(request),
        identity=(request.status.decided_by, *_said_at(request)),
        actor=person(request.status.decided_by),
        channel=_CHANNELS.get(request.status.decided_via, "api"),
        correlation_id=correlation(request),
    )


def _decided(request: RemediationApprovalRequest) -> AuditEvent:
    """How a request ended, which happens once in its life."""
    status = request.status
    is_ours = status.decision == "Expired"
    return event(
        f"remediationapprovalrequest.{status.decision.lower()}",
        Resource.of(APPROVAL_REQUESTS, request),
        at=_decided_at(request),
        identity=_said_at(request),
        actor=OPERATOR if is_ours else person(status.decided_by),
        channel="operator" if is_ours else _CHANNELS.get(status.decided_via, "api"),
        correlation_id=correlation(request),
        data={"analysis": request.spec.ai_analysis_ref.name}
        | ({"words": status.decision_message} if status.decision_message else {}),
    )


def _decided_at(request: RemediationApprovalRequest) -> Instant:
    at = request.status.decided_at
    return Instant(at) if at else _created_at(request)


def _said_at(request: RemediationApprovalRequest) -> tuple[str, ...]:
    """When somebody decided, as it stands in the object before we write anything; an end by itself is one."""
    said = find(request.status.conditions, request.status.decision)
    return (Instant(said.last_transition_time).format_iso(),) if said else ()


def _created(kind: Kind[Any], obj: Object, data: dict[str, Any]) -> AuditEvent:
    by = author(obj.metadata, 1)
    is_ours = kind is APPROVAL_REQUESTS and controller_of(obj) is not None and not by
    return event(
        f"{kind.kind.lower()}.created",
        Resource.of(kind, obj),
        at=_created_at(obj),
        actor=OPERATOR if is_ours else person(by),
        channel="operator" if is_ours else "api",
        correlation_id=correlation(obj),
        data=data,
    )


def _created_at(obj: Object) -> Instant:
    created = obj.metadata.creation_timestamp
    return Instant(created) if created else Instant.MIN


def correlation(obj: Object) -> str:
    owner = controller_of(obj)
    return owner.uid if owner else obj.metadata.uid
