"""What becomes of an analysis between two statuses, for its journal and from there for the audit trail."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis, AIAnalysisStatus
from hibernator.api.meta import Transition
from hibernator.decisions.conditions import find
from hibernator.decisions.journal import (
    USER,
    News,
    author,
    change_news,
    created_at,
    creation_news,
    journal_or,
    noted,
)
from hibernator.decisions.remediationrequest import controller_of

APPROVAL_REQUIRED: Final = "ApprovalRequired"
FINAL: Final = frozenset({"Ready", "Rejected"})


def journal_of(analysis: AIAnalysis) -> tuple[Transition, ...]:
    return journal_or(analysis.status.journal, _story(analysis))


def _story(analysis: AIAnalysis) -> Iterator[News]:
    return _news(analysis, AIAnalysisStatus(), analysis.status)


def journaled(
    analysis: AIAnalysis, status: AIAnalysisStatus, recorded: Collection[int], now: Instant
) -> AIAnalysisStatus:
    """The new status, with the journal of what changed."""
    before = analysis.status
    owner = controller_of(analysis)
    after = replace(status, adopted_by=owner.uid if owner else status.adopted_by)
    news = _news(analysis, before, after)
    journal = noted(before.journal, news, recorded, now, story=_story(analysis))
    return replace(after, journal=journal)


def _news(analysis: AIAnalysis, before: AIAnalysisStatus, after: AIAnalysisStatus) -> Iterator[News]:
    metadata = analysis.metadata
    by = {USER: author(metadata, 1)}
    yield from creation_news(before.observed_generation, after.observed_generation, metadata, by)
    yield from change_news(before.observed_generation, metadata)
    yield from _adoption(analysis, before, after)
    needed, known = find(after.conditions, APPROVAL_REQUIRED), find(before.conditions, APPROVAL_REQUIRED)
    if needed and needed.status == "True" and (known is None or known.status != "True"):
        context, at = after.approval_context, Instant(needed.last_transition_time)
        data = {
            "confidence": f"{context.confidence if context else 0.0:g}",
            "playbook": context.recommended_playbook if context else "",
            "reason": needed.reason,
            "deadline": instant_of(after.approval_deadline).format_iso(),
            "deadlineSource": after.deadline_source or "",
        }
        yield News("approving", data=data, at=at, identity=(at.format_iso(),))
    if after.phase in FINAL and before.phase != after.phase:
        at, request = instant_of(after.phase_since), after.remediation_approval_request_ref
        data = {"reason": after.reason} | ({"request": request.name} if request else {})
        yield News(after.phase.lower(), data=data, at=at, identity=(at.format_iso(),))


def _adoption(analysis: AIAnalysis, before: AIAnalysisStatus, after: AIAnalysisStatus) -> Iterator[News]:
    owner = controller_of(analysis)
    if owner is None or before.adopted_by == after.adopted_by:
        return
    # Of one from before there was a journal no one knows when: a time of today would make it news.
    is_old = before.observed_generation is not None and not before.journal
    at = created_at(analysis.metadata) if is_old else None
    yield News("adopted", data={"remediation": owner.name}, at=at, identity=(owner.uid,))


def instant_of(moment: datetime | None) -> Instant:
    """The moment; at once where it is missing, which this operator never leaves it."""
    return Instant(moment) if moment else Instant.MIN
