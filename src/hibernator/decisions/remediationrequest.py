"""What the orchestrator does about a RemediationRequest: adopt its analyses, and have people asked.

Every name that is given here follows from the analysis and its uid. So a request is never made twice, and one
about an analysis that is gone is never taken for one about another of the same name.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.meta import LocalReference, Object, OwnerReference, Transition
from hibernator.api.remediationapprovalrequest import (
    RemediationApprovalRequest,
    RemediationApprovalRequestSpec,
)
from hibernator.api.remediationrequest import (
    REMEDIATIONS,
    RemediationPhase,
    RemediationRequest,
    RemediationRequestStatus,
)
from hibernator.decisions.conditions import ConditionState, Notice, lay_over
from hibernator.decisions.journal import USER, News, author, change_news, creation_news, journal_or, noted

READY: Final = "Ready"
AGAIN: Final = "-again"
_LONGEST_NAME: Final = 230  # of 253, for the mark and the second attempt
_MARK: Final = 10

Reason = Literal[
    "AwaitingAnalysis",
    "AwaitingApproval",
    "Ready",
    "Rejected",
    "ApprovalRequested",
    "ApprovalRequestedAgain",
    "AdoptionRefused",
    "NameTaken",
    "RequestDeletedTwice",
]


@dataclass(frozen=True, slots=True)
class AnalysisCase:
    """One analysis of the RemediationRequest, with the objects that have its requests' names."""

    analysis: AIAnalysis
    requests: tuple[RemediationApprovalRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that the decision may look at."""

    remediation: RemediationRequest
    analyses: tuple[AnalysisCase, ...] = ()
    orphans: tuple[RemediationApprovalRequest, ...] = ()  # that ask about an analysis that is not here
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has


@dataclass(frozen=True, slots=True)
class Adopt:
    """Make the analysis go when the RemediationRequest goes."""

    analysis: AIAnalysis


@dataclass(frozen=True, slots=True)
class Ask:
    """Make a request. `instead_of` is the one that someone deleted, if it is really gone."""

    analysis: AIAnalysis
    name: str
    spec: RemediationApprovalRequestSpec
    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class Refer:
    """Write into the analysis which request asks about it."""

    analysis: AIAnalysis
    name: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete a request that no one waits for, if its analysis is really gone."""

    request: RemediationApprovalRequest


Step = Adopt | Ask | Refer | Drop


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to write, in this order, and what to tell."""

    steps: tuple[Step, ...] = ()
    status: RemediationRequestStatus | None = None
    notices: tuple[Notice[Reason], ...] = ()
    after: float | None = None  # every change comes by a watch


def decide(seen: Seen, now: Instant) -> Decision:
    remediation = seen.remediation
    if remediation.metadata.deletion_timestamp:
        return Decision()  # all of it is going
    steps: list[Step] = [Drop(request) for request in seen.orphans if _is_open(request)]
    notices: list[Notice[Reason]] = []
    for case in seen.analyses:
        if case.analysis.metadata.deletion_timestamp:
            continue
        owner = controller_of(case.analysis)
        if owner is None:
            steps.append(Adopt(case.analysis))
        elif owner.uid != remediation.metadata.uid:
            name = case.analysis.metadata.name
            message = f"AIAnalysis {name} belongs to {owner.kind} {owner.name} and is not adopted."
            notices.append(Notice(type="Warning", reason="AdoptionRefused", message=message))
        if case.analysis.status.phase == "Approving":
            for found in _ask(case):
                if isinstance(found, Notice):
                    notices.append(found)
                else:
                    steps.append(found)
    status = _status(seen, now)
    status = replace(status, journal=_journal(seen, status, now))
    notices += _notices(remediation.status, status)
    return Decision(steps=tuple(steps), status=status, notices=tuple(notices))


def journal_of(remediation: RemediationRequest) -> tuple[Transition, ...]:
    return journal_or(remediation.status.journal, _story(remediation))


def _journal(seen: Seen, after: RemediationRequestStatus, now: Instant) -> tuple[Transition, ...]:
    remediation, before = seen.remediation, seen.remediation.status
    news = _news(remediation, before, after)
    return noted(before.journal, news, seen.recorded, now, story=_story(remediation))


def _story(remediation: RemediationRequest) -> Iterator[News]:
    return _news(remediation, RemediationRequestStatus(), remediation.status)


def _news(
    remediation: RemediationRequest, before: RemediationRequestStatus, after: RemediationRequestStatus
) -> Iterator[News]:
    spec, metadata = remediation.spec, remediation.metadata
    words = {"signal": spec.signal_name, "severity": spec.severity, "environment": spec.environment}
    data = {USER: author(metadata, 1)} | {key: word for key, word in words.items() if word}
    yield from creation_news(before.observed_generation, after.observed_generation, metadata, data)
    yield from change_news(before.observed_generation, metadata)


def request_names(analysis: AIAnalysis) -> tuple[str, str]:
    """The names of the request about an analysis, and of the one that is made should it be deleted."""
    metadata = analysis.metadata
    mark = hashlib.sha256(metadata.uid.encode()).hexdigest()[:_MARK]
    name = f"{metadata.name[:_LONGEST_NAME].rstrip('-.')}-{mark}"
    return name, f"{name}{AGAIN}"


def request_spec(analysis: AIAnalysis) -> RemediationApprovalRequestSpec | None:
    """What people are asked about an analysis; None where it does not say."""
    status = analysis.status
    if status.approval_context is None or status.approval_deadline is None:
        return None
    return RemediationApprovalRequestSpec(
        ai_analysis_ref=LocalReference(name=analysis.metadata.name),
        approval_context=status.approval_context,
        required_by=status.approval_deadline,
        remediation_request_ref=analysis.spec.remediation_request_ref,
        approvers=status.approvers,
        escalate_at=status.escalate_at,
    )


def asks_about(request: RemediationApprovalRequest, analysis: AIAnalysis) -> bool:
    """Whether a request is the operator's own about this very analysis, and not one of the same looks."""
    owner, reference = controller_of(request), analysis.spec.remediation_request_ref
    return (
        request.metadata.name in request_names(analysis)
        and request.spec == request_spec(analysis)
        and owner is not None
        and reference is not None
        and (owner.kind, owner.name) == (REMEDIATIONS.kind, reference.name)
    )


def controller_of(obj: Object) -> OwnerReference | None:
    return next((one for one in obj.metadata.owner_references if one.controller), None)


def is_owned(one: Object, remediation: RemediationRequest) -> bool:
    owner = controller_of(one)
    return owner is not None and owner.uid == remediation.metadata.uid


def owned_by(remediation: RemediationRequest) -> OwnerReference:
    return OwnerReference(
        api_version=REMEDIATIONS.api_version,
        kind=REMEDIATIONS.kind,
        name=remediation.metadata.name,
        uid=remediation.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def _ask(case: AnalysisCase) -> Iterator[Step | Notice[Reason]]:
    """See to it that there is a request. One that was deleted is made again, but only once."""
    analysis = case.analysis
    spec = request_spec(analysis)
    if spec is None or spec.remediation_request_ref is None:
        return
    first, second = request_names(analysis)
    reference = analysis.status.remediation_approval_request_ref
    known = reference.name if reference else ""
    found = {request.metadata.name: request for request in case.requests}
    mine = next((name for name in (second, first) if name in found and asks_about(found[name], analysis)), "")
    wanted = second if known else first
    if mine:
        if known != mine:
            yield Refer(analysis, mine)
            again = mine == second
            reason: Reason = "ApprovalRequestedAgain" if again else "ApprovalRequested"
            who = f"RemediationApprovalRequest {mine}"
            message = (
                f"{who} asks people again, because the first was deleted." if again else f"{who} asks people."
            )
            yield Notice(type="Warning" if again else "Normal", reason=reason, message=message)
    elif wanted in found:
        message = (
            f"RemediationApprovalRequest {wanted} is not the operator's, so that no approver can be asked "
            f"about AIAnalysis {analysis.metadata.name}. Delete it."
        )
        yield Notice(type="Warning", reason="NameTaken", message=message)
    elif known == second:
        message = (
            f"The request about AIAnalysis {analysis.metadata.name} was deleted twice and is not made again."
        )
        yield Notice(type="Warning", reason="RequestDeletedTwice", message=message)
    else:
        yield Ask(analysis, wanted, spec, instead_of=known)


def _is_open(request: RemediationApprovalRequest) -> bool:
    return not request.status.decision and request.metadata.deletion_timestamp is None


_PHASES: Final[dict[str, tuple[RemediationPhase, Reason]]] = {
    "Approving": ("AwaitingApproval", "AwaitingApproval"),
    "Ready": ("Ready", "Ready"),
    "Rejected": ("Rejected", "Rejected"),
}


def _status(seen: Seen, now: Instant) -> RemediationRequestStatus:
    """How the newest analysis stands."""
    remediation = seen.remediation
    newest = max((case.analysis for case in seen.analyses), key=_age, default=None)
    phase, reason = _PHASES.get((newest and newest.status.phase) or "", ("Pending", "AwaitingAnalysis"))
    message = "Waits for an AIAnalysis that names it."
    if newest:
        message = newest.status.message or f"AIAnalysis {newest.metadata.name} was not judged yet."
    generation = remediation.metadata.generation
    return replace(
        remediation.status,
        phase=phase,
        message=message,
        ai_analysis_ref=LocalReference(name=newest.metadata.name) if newest else None,
        remediation_approval_request_ref=newest.status.remediation_approval_request_ref if newest else None,
        observed_generation=generation,
        conditions=lay_over(
            remediation.status.conditions,
            [ConditionState(READY, phase == "Ready", reason, message)],
            now=now,
            generation=generation,
        ),
    )


def _age(analysis: AIAnalysis) -> tuple[str, str]:
    created = analysis.metadata.creation_timestamp
    return created.isoformat() if created else "", analysis.metadata.name


def _notices(before: RemediationRequestStatus, after: RemediationRequestStatus) -> Iterator[Notice[Reason]]:
    if before.phase == after.phase or after.phase is None:
        return
    reasons: dict[str, Reason] = dict(_PHASES.values())
    reason = reasons.get(after.phase, "AwaitingAnalysis")
    yield Notice(type="Warning" if reason == "Rejected" else "Normal", reason=reason, message=after.message)
