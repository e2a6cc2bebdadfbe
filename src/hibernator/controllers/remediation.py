"""The controllers of remediations, with the caches that they share: one watch, however many use it."""

from collections.abc import Iterator
from math import ceil
from typing import Final, Literal

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.approvals.people import Naming, People
from hibernator.approvals.policies import Policies
from hibernator.approvals.rego import Rego
from hibernator.audit.event import Resource, event
from hibernator.audit.trail import Trail
from hibernator.controllers.aianalysis import AnalysisReconciler
from hibernator.controllers.means import Means
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS, ApprovalRequestReconciler
from hibernator.controllers.remediationrequest import BY_REMEDIATION, RemediationReconciler
from hibernator.kube.cache import Cache
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, For, Key, Owns, Result, Watches
from hibernator.kube.events import Recorder

Reason = Literal["PolicyLoaded", "PolicyBroken"]


class RegoReconciler:
    def __init__(
        self, policies: Cache[ConfigMap], rego: Rego, *, recorder: Recorder, clock: Clock, trail: Trail
    ) -> None:
        self._policies = policies
        self._rego = rego
        self._recorder = recorder
        self._clock = clock
        self._trail = trail

    async def reconcile(self, key: Key) -> Result:
        policy = self._policies.get(*key)
        if policy is None:
            return Result()
        broken = await self._rego.check(policy.data)
        reason: Reason = "PolicyBroken" if broken else "PolicyLoaded"
        message = f"{broken.why} Until it is corrected, everything needs approval." if broken else "In force."
        self._recorder.note(
            CONFIG_MAPS, policy, "Warning" if broken else "Normal", reason, message, quiet=300.0
        )
        record = event(
            "policy.broken" if broken else "policy.loaded",
            Resource.of(CONFIG_MAPS, policy),
            at=self._clock.now(),
            identity=(policy.metadata.resource_version,),
            error=broken.why if broken else "",
        )
        return Result() if self._trail.has(record.id) or self._trail.record(record) else Result(10.0)


_STANDS_BACK: Final = 8  # of so many workers one
NAMESPACE_MAP: Final = "hibernator-remediation"  # in each namespace that has wishes of its own


def remediation_controllers(
    means: Means, *, rego: Rego, naming: Naming, roles: str, policy: str, home: str, own_allowed: bool
) -> Iterator[Controller]:
    """`roles` and `policy` are ConfigMaps at `home`, and so is that of `naming`."""
    remediations = means.caches.of(REMEDIATIONS)
    analyses = means.caches.of(ANALYSES)
    analyses.index(BY_REMEDIATION, _remediation_of)
    requests = means.caches.of(APPROVAL_REQUESTS)
    requests.index(BY_ANALYSIS, lambda one: (f"{one.metadata.namespace}/{one.spec.ai_analysis_ref.name}",))
    requests.index(BY_REMEDIATION, _remediation_of)
    policies = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={policy}")
    namespaces = means.caches.of(CONFIG_MAPS, field_selector=f"metadata.name={NAMESPACE_MAP}")
    namespaces.index("namespace", lambda one: (one.metadata.namespace,))
    role_maps = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={roles}")
    people_maps = [role_maps]
    email_maps = None
    if naming.way == "configmap":
        email_maps = means.caches.of(CONFIG_MAPS, home, field_selector=f"metadata.name={naming.value}")
        people_maps.append(email_maps)

    orchestrator = RemediationReconciler(means)
    analysis = AnalysisReconciler(means, policies=policies, namespaces=namespaces, rego=rego)
    governing = Policies(means.caches, home)
    people = People(naming, role_maps, email_maps)
    approval = ApprovalRequestReconciler(means, people, governing, own_allowed=own_allowed)
    read = RegoReconciler(policies, rego, recorder=means.recorder, clock=means.clock, trail=means.trail)
    # What is only looked into brings no reconcile.
    looked_into = [Watches(cache, _no_keys) for cache in (namespaces, *people_maps)]
    # When a thousand deadlines fall into one second, what sums up goes behind what decides.
    yield means.controller(
        "remediationrequest",
        orchestrator.reconcile,
        [For(remediations), Watches(analyses, _remediation_key), Owns(requests, REMEDIATIONS)],
        workers=ceil(means.workers / _STANDS_BACK),
    )
    yield means.controller(
        "aianalysis", analysis.reconcile, [For(analyses), Watches(requests, _analysis_key), *looked_into]
    )

    def governed(policy: ExceptionPolicy) -> Iterator[Key]:
        """The open requests to which a change of a policy may matter."""
        everywhere = governing.is_for_others(policy)
        for one in requests.values():
            if not one.status.decision and (
                everywhere or one.metadata.namespace == policy.metadata.namespace
            ):
                yield Key(one.metadata.namespace, one.metadata.name)

    yield means.controller(
        "remediationapprovalrequest",
        approval.reconcile,
        [For(requests), *(Watches(cache, governed) for cache in governing.caches)],
    )
    yield means.controller("remediationpolicy", read.reconcile, [For(policies)], workers=1)


def _analysis_key(request: RemediationApprovalRequest) -> Iterator[Key]:
    """Straight to the analysis that waits."""
    yield Key(request.metadata.namespace, request.spec.ai_analysis_ref.name)


def _remediation_key(analysis: AIAnalysis) -> Iterator[Key]:
    if reference := analysis.spec.remediation_request_ref:
        yield Key(analysis.metadata.namespace, reference.name)


def _remediation_of(one: AIAnalysis | RemediationApprovalRequest) -> Iterator[str]:
    if reference := one.spec.remediation_request_ref:
        yield f"{one.metadata.namespace}/{reference.name}"


def _no_keys(_map: ConfigMap) -> Iterator[Key]:
    return iter(())
