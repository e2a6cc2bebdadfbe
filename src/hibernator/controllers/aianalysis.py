"""AIAnalysis: asks the policy what it says, judges, and follows the request until people have decided."""

from collections.abc import Mapping
from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.core import ConfigMap
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.approvals.rego import Rego
from hibernator.controllers.journal_audit import Records
from hibernator.controllers.means import Means
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS
from hibernator.decisions.aianalysis import Decision, Seen, decide, is_unjudged, needs_policy
from hibernator.decisions.rego import NO_WISHES, Answer, Broken, read_namespace
from hibernator.decisions.remediationrequest import asks_about
from hibernator.kube.cache import Cache
from hibernator.kube.controller import Key, Result
from hibernator.kube.errors import NotFound
from hibernator.kube.patch import encode
from hibernator.kube.reconciler import Reconciler


class AnalysisReconciler(Reconciler[AIAnalysis, Seen, Decision]):
    def __init__(
        self, means: Means, *, policies: Cache[ConfigMap], namespaces: Cache[ConfigMap], rego: Rego
    ) -> None:
        super().__init__(means.parts(means.caches.of(ANALYSES)), decide)
        self._requests = means.caches.of(APPROVAL_REQUESTS)
        self._remediations = means.caches.of(REMEDIATIONS)
        self._approvals = Records(means.trail, APPROVAL_REQUESTS)
        self._policies = policies
        self._namespaces = namespaces
        self._rego = rego

    async def gather(self, _key: Key, analysis: AIAnalysis, _now: Instant) -> Seen | Result:
        if analysis.metadata.deletion_timestamp:
            return Result()
        recorded = self.journals.recorded(analysis)
        if is_unjudged(analysis):
            return await self._gather_to_judge(analysis, recorded)
        if analysis.status.phase != "Approving":
            return Seen(analysis=analysis, recorded=recorded)
        request = self._request(analysis)
        approved = request is not None and request.status.decision == "Approved"
        on_record = request is not None and approved and await self._approvals.record_now(request)
        return Seen(analysis=analysis, request=request, on_record=on_record, recorded=recorded)

    async def _gather_to_judge(self, analysis: AIAnalysis, recorded: frozenset[int]) -> Seen:
        policy = next(iter(self._policies.values()), None)
        answer: Answer | Broken | None = None
        is_known = True
        if policy is not None and needs_policy(analysis):
            remediation = await self._remediation(analysis)
            is_known = remediation is not None
            answer = await self._rego.ask(policy.data, _input(analysis, remediation))
        found = next(iter(self._namespaces.find("namespace", analysis.metadata.namespace)), None)
        wishes, problems = read_namespace(found.data) if found else (NO_WISHES, ())
        return Seen(
            analysis=analysis,
            policy=answer,
            is_known=is_known,
            namespace=wishes,
            problems=problems,
            recorded=recorded,
        )

    def _request(self, analysis: AIAnalysis) -> RemediationApprovalRequest | None:
        """The request about this very analysis, by the index."""
        found = self._requests.find(BY_ANALYSIS, f"{analysis.metadata.namespace}/{analysis.metadata.name}")
        mine = (one for one in found if asks_about(one, analysis) and not one.metadata.deletion_timestamp)
        return max(mine, key=lambda one: len(one.metadata.name), default=None)

    async def _remediation(self, analysis: AIAnalysis) -> RemediationRequest | None:
        """What the analysis is for. It may be so new that only the API server knows it."""
        reference, namespace = analysis.spec.remediation_request_ref, analysis.metadata.namespace
        if reference is None:
            return None
        if found := self._remediations.get(namespace, reference.name):
            return found
        try:
            return await self.client.get(REMEDIATIONS, reference.name, namespace)
        except NotFound:
            return None


def _input(analysis: AIAnalysis, remediation: RemediationRequest | None) -> Mapping[str, Any]:
    """What a policy looks at, as plain JSON; documented in the guide."""
    metadata = analysis.metadata
    found = {
        "name": metadata.name,
        "namespace": metadata.namespace,
        "labels": dict(metadata.labels),
        "analysis": analysis.spec.analysis,
        "remediation": remediation
        and {
            "name": remediation.metadata.name,
            "labels": dict(remediation.metadata.labels),
            **encode(remediation.spec),
        },
    }
    plain: Mapping[str, Any] = msgspec.to_builtins(found)
    return plain
