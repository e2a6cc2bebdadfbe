"""RemediationApprovalRequest: makes a decision of the condition that somebody added, or lets time run out."""

from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import AIAnalysis
from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, ObjectMeta
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.approvals.people import People
from hibernator.audit.trail import Trail
from hibernator.controllers.remediation_audit import given, record, request_events
from hibernator.decisions.author import author
from hibernator.decisions.remediationapprovalrequest import Decision, Seen, decide, said
from hibernator.decisions.remediationrequest import asks_about
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key, Result
from hibernator.kube.events import Recorder
from hibernator.kube.objects import Objects


class _Entry(Model):
    time: datetime | None = None
    fields_v1: Any = None


class _Metadata(ObjectMeta):
    managed_fields: tuple[_Entry, ...] = ()


class _Managed(Object):
    metadata: _Metadata = _Metadata()


_KIND: Final = Kind(
    _Managed,
    APPROVAL_REQUESTS.group,
    APPROVAL_REQUESTS.version,
    APPROVAL_REQUESTS.kind,
    APPROVAL_REQUESTS.plural,
)


async def written_at(client: Client, request: RemediationApprovalRequest, condition: str) -> Instant | None:
    """When a condition was last written; None where the API server does not know."""
    metadata = request.metadata
    found = await client.get(_KIND, metadata.name, metadata.namespace)
    if found.metadata.uid != metadata.uid:
        return None
    times = [
        entry.time
        for entry in found.metadata.managed_fields
        if entry.time and _has(entry.fields_v1, condition)
    ]
    return Instant(max(times)) if times else None


def _has(fields: Any, condition: str) -> bool:
    for step in ("f:status", "f:conditions", f'k:{{"type":"{condition}"}}'):
        if not isinstance(fields, dict) or step not in fields:
            return False
        fields = fields[step]
    return True


BY_ANALYSIS: Final = "spec.aiAnalysisRef.name"


class RequestReconciler:
    def __init__(
        self,
        client: Client,
        requests: Cache[RemediationApprovalRequest],
        analyses: Cache[AIAnalysis],
        people: People,
        *,
        recorder: Recorder,
        clock: Clock,
        trail: Trail,
        own_allowed: bool,
    ) -> None:
        self._own_allowed = own_allowed
        self._client = client
        self._requests = requests
        self._analyses = analyses
        self._people = people
        self._objects = Objects(client, requests, recorder)
        self._clock = clock
        self._trail = trail
        self._told: dict[Key, str] = {}  # the versions that the audit trail knows

    async def reconcile(self, key: Key) -> Result:
        request = self._requests.get(*key)
        if request is None:
            self._told.pop(key, None)
            return Result()
        seen = await self._gather(request)
        decision = decide(seen, self._clock.now())
        request = await self._perform(request, decision)
        version = request.metadata.resource_version
        if self._told.get(key) != version and record(self._trail, request_events(request)):
            self._told[key] = version
        return Result(decision.after)

    async def _gather(self, request: RemediationApprovalRequest) -> Seen:
        status = request.status
        analysis = self._analyses.get(request.metadata.namespace, request.spec.ai_analysis_ref.name)
        is_mine = analysis is not None and asks_about(request, analysis)
        directory = self._people.directory()
        by = author(analysis.metadata, analysis.metadata.generation) if analysis and is_mine else ""
        return Seen(
            request=request,
            person=directory.person(status.decided_by, status.decider_groups, status.decider_extra),
            author=directory.person(by),
            own_allowed=self._own_allowed,
            accepted_at=await self._accepted_at(request),
            deadline_source=analysis.status.deadline_source if analysis and is_mine else None,
        )

    async def _accepted_at(self, request: RemediationApprovalRequest) -> Instant | None:
        """When a decision was made that is seen only after the deadline: asked of the API server."""
        word, status = said(request), request.status
        if word is None or status.decision or self._clock.now() < Instant(request.spec.required_by):
            return None
        return await written_at(self._client, request, word.type)

    async def _perform(
        self, request: RemediationApprovalRequest, decision: Decision
    ) -> RemediationApprovalRequest:
        if decision.status is None or decision.status == request.status:
            return request
        if decision.status.decision == "Approved":
            # The word stands in the object already, for good. The analysis goes on once it is on record, and
            # the database can be busy with that while the API server is busy with the decision.
            self._trail.record(given(replace(request, status=decision.status)))
        written = await self._objects.write_status(request, decision.status)
        self._objects.notify(request, decision.notices)
        return written
