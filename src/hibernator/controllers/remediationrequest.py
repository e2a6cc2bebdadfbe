"""RemediationRequest: adopts its analyses and has people asked where one needs their approval."""

from contextlib import suppress
from typing import Final

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.meta import LocalReference, ObjectMeta
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.controllers.means import Means
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS
from hibernator.decisions.remediationrequest import (
    Adopt,
    AnalysisCase,
    Ask,
    Decision,
    Drop,
    Refer,
    Seen,
    Step,
    asks_about,
    decide,
    is_owned,
    owned_by,
    request_names,
)
from hibernator.kube.controller import Key
from hibernator.kube.errors import AlreadyExists, NotFound
from hibernator.kube.patch import encode
from hibernator.kube.reconciler import Objects, Pass, Reconciler

BY_REMEDIATION: Final = "spec.remediationRequestRef.name"


class RemediationReconciler(Reconciler[RemediationRequest, Seen, Decision]):
    QUIET = 300.0

    def __init__(self, means: Means) -> None:
        super().__init__(means.parts(means.caches.of(REMEDIATIONS)), decide)
        self._analyses = means.caches.of(ANALYSES)
        self._requests = means.caches.of(APPROVAL_REQUESTS)
        self._of_analyses = Objects(means.client, self._analyses, means.recorder)

    async def gather(self, key: Key, remediation: RemediationRequest, _now: Instant) -> Seen:
        here = f"{key.namespace}/{key.name}"
        analyses = self._analyses.find(BY_REMEDIATION, here)
        asked = {name for analysis in analyses for name in request_names(analysis)}
        return Seen(
            remediation=remediation,
            analyses=tuple(AnalysisCase(analysis, self._requests_about(analysis)) for analysis in analyses),
            orphans=tuple(
                request
                for request in self._requests.find(BY_REMEDIATION, here)
                if request.metadata.name not in asked and is_owned(request, remediation)
            ),
            recorded=self.journals.recorded(remediation),
        )

    async def perform(self, one: Pass[RemediationRequest, Seen, Decision]) -> RemediationRequest:
        for step in one.decision.steps:
            await self._take(one.found, step)
        return one.found

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
        await self._of_analyses.write_metadata(analysis, {"ownerReferences": owners})

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
            written = await self.client.create(APPROVAL_REQUESTS, request, namespace)
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
            owner = (await self.client.get(REMEDIATIONS, remediation.metadata.name, namespace)).metadata
        except NotFound:
            return False
        return owner.uid == remediation.metadata.uid and owner.deletion_timestamp is None

    async def _found(self, namespace: str, name: str) -> bool:
        try:
            self._requests.wrote(await self.client.get(APPROVAL_REQUESTS, name, namespace))
        except NotFound:
            return False
        return True

    async def _refer(self, analysis: AIAnalysis, name: str) -> None:
        current = self._analyses.get(analysis.metadata.namespace, analysis.metadata.name)
        if current and current.metadata.uid == analysis.metadata.uid:  # it may just have been adopted
            status = replace(current.status, remediation_approval_request_ref=LocalReference(name=name))
            await self._of_analyses.write_status(current, status)

    async def _drop(self, request: RemediationApprovalRequest) -> None:
        """Delete it, unless the cache was only behind and the analysis is there after all."""
        metadata = request.metadata
        with suppress(NotFound):
            analysis = await self.client.get(ANALYSES, request.spec.ai_analysis_ref.name, metadata.namespace)
            if asks_about(request, analysis):
                return
        with suppress(NotFound):
            await self.client.delete(APPROVAL_REQUESTS, metadata.name, metadata.namespace, uid=metadata.uid)
