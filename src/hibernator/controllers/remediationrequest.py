"""RemediationRequest: adopts its analyses and has people asked where one needs their approval."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.meta import ObjectMeta
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.audit.event import AuditEvent
from hibernator.audit.trail import Trail
from hibernator.controllers.journal_audit import changed
from hibernator.controllers.remediation_audit import adopted, record, remediation_events
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS
from hibernator.decisions.remediationrequest import (
    Adopt,
    Ask,
    Decision,
    Drop,
    Matter,
    Refer,
    Seen,
    Step,
    asks_about,
    decide,
    is_owned,
    owned_by,
    request_names,
)
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key, Result
from hibernator.kube.errors import AlreadyExists, NotFound
from hibernator.kube.events import Recorder
from hibernator.kube.objects import Objects
from hibernator.kube.patch import encode

BY_REMEDIATION: Final = "spec.remediationRequestRef.name"
_QUIET: Final = 300.0  # seconds in which the same is not told again


class RemediationReconciler:
    def __init__(
        self,
        client: Client,
        remediations: Cache[RemediationRequest],
        analyses: Cache[AIAnalysis],
        requests: Cache[RemediationApprovalRequest],
        *,
        recorder: Recorder,
        clock: Clock,
        trail: Trail,
    ) -> None:
        self._client = client
        self._remediations = remediations
        self._analyses = analyses
        self._requests = requests
        self._objects = Objects(client, remediations, recorder)
        self._adoption = Objects(client, analyses, recorder)
        self._clock = clock
        self._trail = trail

    async def reconcile(self, key: Key) -> Result:
        remediation = self._remediations.get(*key)
        if remediation is None:
            return Result()
        decision = decide(self._gather(remediation), self._clock.now())
        for step in decision.steps:
            await self._take(remediation, step)
        await self._perform(remediation, decision)
        record(self._trail, self._events(remediation))
        return Result()

    def _events(self, remediation: RemediationRequest) -> Iterator[AuditEvent]:
        """All that the audit trail should have; when an analysis was adopted is not kept anywhere else."""
        yield from remediation_events(remediation)
        yield from changed(
            REMEDIATIONS, remediation, remediation.spec, self._clock.now(), remediation.metadata.uid
        )
        for analysis in self._analyses.find(BY_REMEDIATION, _place(remediation)):
            if is_owned(analysis, remediation):
                yield adopted(analysis, remediation, self._clock.now())

    def _gather(self, remediation: RemediationRequest) -> Seen:
        here = _place(remediation)
        analyses = self._analyses.find(BY_REMEDIATION, here)
        asked = {name for analysis in analyses for name in request_names(analysis)}
        return Seen(
            remediation=remediation,
            matters=tuple(Matter(analysis, self._requests_about(analysis)) for analysis in analyses),
            orphans=tuple(
                request
                for request in self._requests.find(BY_REMEDIATION, here)
                if request.metadata.name not in asked and is_owned(request, remediation)
            ),
        )

    def _requests_about(self, analysis: AIAnalysis) -> tuple[RemediationApprovalRequest, ...]:
        namespace = analysis.metadata.namespace
        by_index = self._requests.find(BY_ANALYSIS, f"{namespace}/{analysis.metadata.name}")
        by_name = (self._requests.get(namespace, name) for name in request_names(analysis))
        return (*by_index, *(found for found in by_name if found))

    async def _take(self, remediation: RemediationRequest, step: Step) -> None:
        match step:
            case Adopt(analysis):
                await self._adopt(remediation, analysis)
            case Ask():
                await self._ask(remediation, step)
            case Refer(analysis, name):
                await self._refer(analysis, name)
            case Drop(request):
                await self._drop(request)

    async def _adopt(self, remediation: RemediationRequest, analysis: AIAnalysis) -> None:
        owners = [*map(encode, analysis.metadata.owner_references), encode(owned_by(remediation))]
        await self._adoption.write_metadata(analysis, {"ownerReferences": owners})

    async def _ask(self, remediation: RemediationRequest, step: Ask) -> None:
        """Make the request; the reference to it follows when it has been seen."""
        namespace = step.analysis.metadata.namespace
        if step.instead_of and not await self._was_deleted(remediation, step.instead_of):
            return
        request = RemediationApprovalRequest(
            metadata=ObjectMeta(
                name=step.name,
                namespace=namespace,
                owner_references=(owned_by(remediation),),
            ),
            spec=step.spec,
        )
        try:
            written = await self._client.create(APPROVAL_REQUESTS, request, namespace)
        except AlreadyExists:
            await self._found(namespace, step.name)
            return
        self._requests.wrote(written)

    async def _was_deleted(self, remediation: RemediationRequest, name: str) -> bool:
        """Whether a request is really gone, and not all of the remediation with it: a cache may be behind."""
        namespace = remediation.metadata.namespace
        if await self._found(namespace, name):
            return False
        try:
            owner = (await self._client.get(REMEDIATIONS, remediation.metadata.name, namespace)).metadata
        except NotFound:
            return False
        return owner.uid == remediation.metadata.uid and owner.deletion_timestamp is None

    async def _found(self, namespace: str, name: str) -> bool:
        try:
            self._requests.wrote(await self._client.get(APPROVAL_REQUESTS, name, namespace))
        except NotFound:
            return False
        return True

    async def _refer(self, analysis: AIAnalysis, name: str) -> None:
        metadata = analysis.metadata
        current = (
            self._analyses.get(metadata.namespace, metadata.name) or analysis
        )  # it may just have been adopted
        written = await self._client.patch(
            ANALYSES,
            metadata.name,
            metadata.namespace,
            {"status": {"remediationApprovalRequestRef": {"name": name}}},
            resource_version=current.metadata.resource_version,
            uid=metadata.uid,
            subresource="status",
        )
        self._analyses.wrote(written)

    async def _drop(self, request: RemediationApprovalRequest) -> None:
        """Delete it, unless the cache was only behind and the analysis is there after all."""
        metadata = request.metadata
        with suppress(NotFound):
            analysis = await self._client.get(ANALYSES, request.spec.ai_analysis_ref.name, metadata.namespace)
            if asks_about(request, analysis):
                return
        with suppress(NotFound):
            await self._client.delete(APPROVAL_REQUESTS, metadata.name, metadata.namespace, uid=metadata.uid)

    async def _perform(self, remediation: RemediationRequest, decision: Decision) -> None:
        if decision.status is not None:
            with suppress(NotFound):  # it was deleted meanwhile
                await self._objects.write_status(remediation, decision.status)
        self._objects.notify(remediation, decision.notices, quiet=_QUIET)


def _place(remediation: RemediationRequest) -> str:
    return f"{remediation.metadata.namespace}/{remediation.metadata.name}"
