"""AIAnalysis: asks the policy what it says, judges, and follows the request until people have decided."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.core import ConfigMap
from hibernator.api.remediationapprovalrequest import RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS, RemediationRequest
from hibernator.approvals.rego import Rego
from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent
from hibernator.audit.trail import Trail
from hibernator.controllers.journal_audit import changed
from hibernator.controllers.remediation_audit import analysis_events, correlation, given, record
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS
from hibernator.decisions.aianalysis import Decision, Seen, decide, is_unjudged, needs_policy
from hibernator.decisions.rego import NO_WISHES, Answer, Broken, read_namespace
from hibernator.decisions.remediationrequest import asks_about
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Key, Result
from hibernator.kube.errors import NotFound
from hibernator.kube.events import Recorder
from hibernator.kube.objects import Objects
from hibernator.kube.patch import encode


class AnalysisReconciler:
    def __init__(
        self,
        client: Client,
        analyses: Cache[AIAnalysis],
        requests: Cache[RemediationApprovalRequest],
        remediations: Cache[RemediationRequest],
        *,
        policies: Cache[ConfigMap],
        namespaces: Cache[ConfigMap],
        rego: Rego,
        recorder: Recorder,
        clock: Clock,
        trail: Trail,
    ) -> None:
        self._client = client
        self._analyses = analyses
        self._requests = requests
        self._remediations = remediations
        self._policies = policies
        self._namespaces = namespaces
        self._rego = rego
        self._objects = Objects(client, analyses, recorder)
        self._clock = clock
        self._trail = trail
        self._told: dict[Key, str] = {}  # the versions that the audit trail knows

    async def reconcile(self, key: Key) -> Result:
        analysis = self._analyses.get(*key)
        if analysis is None or analysis.metadata.deletion_timestamp:
            self._told.pop(key, None)
            return Result()
        seen = await self._gather(analysis)
        decision = decide(seen, self._clock.now())
        analysis = await self._perform(analysis, decision)
        version = analysis.metadata.resource_version
        if self._told.get(key) != version and record(self._trail, self._events(analysis)):
            self._told[key] = version
        return Result(decision.after)

    def _events(self, analysis: AIAnalysis) -> Iterator[AuditEvent]:
        yield from analysis_events(analysis)
        yield from changed(ANALYSES, analysis, analysis.spec, self._clock.now(), correlation(analysis))

    async def _gather(self, analysis: AIAnalysis) -> Seen:
        if is_unjudged(analysis):
            return await self._gather_to_judge(analysis)
        if analysis.status.phase != "Approving":
            return Seen(analysis=analysis)
        request = self._request(analysis)
        approved = request is not None and request.status.decision == "Approved"
        recorded = request is not None and approved and await self._is_recorded(request)
        return Seen(analysis=analysis, request=request, recorded=recorded)

    async def _gather_to_judge(self, analysis: AIAnalysis) -> Seen:
        policy = next(iter(self._policies.values()), None)
        answer: Answer | Broken | None = None
        is_known = True
        if policy is not None and needs_policy(analysis):
            remediation = await self._remediation(analysis)
            is_known = remediation is not None
            answer = await self._rego.ask(policy.data, _input(analysis, remediation))
        found = next(iter(self._namespaces.find("namespace", analysis.metadata.namespace)), None)
        wishes, problems = read_namespace(found.data) if found else (NO_WISHES, ())
        return Seen(analysis=analysis, policy=answer, is_known=is_known, namespace=wishes, problems=problems)

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
            return await self._client.get(REMEDIATIONS, reference.name, namespace)
        except NotFound:
            return None

    async def _is_recorded(self, request: RemediationApprovalRequest) -> bool:
        try:
            await self._trail.record_now(given(request))
        except AuditUnavailable:
            return False
        return True

    async def _perform(self, analysis: AIAnalysis, decision: Decision) -> AIAnalysis:
        written = await self._objects.write_status(analysis, decision.status)
        if written is not analysis:
            self._objects.notify(analysis, decision.notices)
        return written


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
