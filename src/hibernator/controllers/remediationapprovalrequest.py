"""RemediationApprovalRequest: makes a decision of the condition that someone added, or lets time run out."""

from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, ObjectMeta
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.approvals.people import People, approvers, decider
from hibernator.approvals.policies import Policies
from hibernator.controllers.means import Means
from hibernator.decisions.exceptionpolicy_remediations import Governance
from hibernator.decisions.journal import author
from hibernator.decisions.remediationapprovalrequest import Decision, decide
from hibernator.decisions.remediationapprovalrequest_votes import Seen, said
from hibernator.decisions.remediationrequest import asks_about
from hibernator.kube.client import Client
from hibernator.kube.controller import Key
from hibernator.kube.reconciler import Pass, Reconciler


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


class ApprovalRequestReconciler(Reconciler[RemediationApprovalRequest, Seen, Decision]):
    def __init__(self, means: Means, people: People, policies: Policies, *, own_allowed: bool) -> None:
        super().__init__(means.parts(means.caches.of(APPROVAL_REQUESTS)), decide)
        self._analyses = means.caches.of(ANALYSES)
        self._people = people
        self._policies = policies
        self._own_allowed = own_allowed

    async def gather(self, _key: Key, request: RemediationApprovalRequest, now: Instant) -> Seen:
        status = request.status
        analysis = self._analyses.get(request.metadata.namespace, request.spec.ai_analysis_ref.name)
        is_mine = analysis is not None and asks_about(request, analysis)
        directory = self._people.directory()
        namespace = request.metadata.namespace
        by = author(analysis.metadata, analysis.metadata.generation) if analysis and is_mine else ""
        return Seen(
            request=request,
            person=decider(status, directory),
            people=approvers(status, directory),
            author=directory.person(by),
            governance=Governance(
                policies=self._policies.of(namespace),
                labels=analysis.metadata.labels if analysis and is_mine else None,
                namespace_labels=self._policies.labels(namespace),
                home=self._policies.home,
            ),
            own_allowed=self._own_allowed,
            accepted_at=await self._accepted_at(request, now),
            deadline_source=analysis.status.deadline_source if analysis and is_mine else None,
            recorded=self.journals.recorded(request),
        )

    async def _accepted_at(self, request: RemediationApprovalRequest, now: Instant) -> Instant | None:
        """When a decision was made that is seen only after the deadline: asked of the API server."""
        word, status = said(request), request.status
        if word is None or status.decision or now < Instant(request.spec.required_by):
            return None
        return await written_at(self.client, request, word.type)

    async def perform(
        self, one: Pass[RemediationApprovalRequest, Seen, Decision]
    ) -> RemediationApprovalRequest:
        found, status = one.found, one.decision.status
        if status is not None and status != found.status and status.decision == "Approved":
            if not found.status.decision and one.seen.governance:
                namespace, by = found.metadata.namespace, one.seen.governance
                await self._policies.read_again(self.client, namespace, by.policies, by.namespace_labels)
            # It stands in the object already, for good. The analysis goes on once it is on record, and the
            # database can be busy with that while the API server is busy with the decision.
            self.journals.record(replace(found, status=status))
        return found
