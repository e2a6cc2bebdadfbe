"""The controllers of remediations, with the caches that they share: one watch, whoever looks into it."""

from collections.abc import Iterator
from functools import partial
from math import ceil
from typing import Final

from hibernator.api.aianalysis import ANALYSES, AIAnalysis
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.approvals.people import Naming
from hibernator.approvals.rego import Rego
from hibernator.controllers.aianalysis import AnalysisReconciler
from hibernator.controllers.means import Means
from hibernator.controllers.remediationapprovalrequest import BY_ANALYSIS, RequestReconciler
from hibernator.controllers.remediationpolicy import PolicyReconciler
from hibernator.controllers.remediationrequest import BY_REMEDIATION, RemediationReconciler
from hibernator.controllers.scheduleexception import People
from hibernator.kube.controller import Controller, For, Key, Owns, Watches

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

    orchestrator = RemediationReconciler(
        means.client,
        remediations,
        analyses,
        requests,
        recorder=means.recorder,
        clock=means.clock,
        trail=means.trail,
    )
    analysis = AnalysisReconciler(
        means.client,
        analyses,
        requests,
        remediations,
        policies=policies,
        namespaces=namespaces,
        rego=rego,
        recorder=means.recorder,
        clock=means.clock,
        trail=means.trail,
    )
    approval = RequestReconciler(
        means.client,
        requests,
        analyses,
        People(naming, role_maps, email_maps),
        recorder=means.recorder,
        clock=means.clock,
        trail=means.trail,
        own_allowed=own_allowed,
    )
    read = PolicyReconciler(policies, rego, recorder=means.recorder, clock=means.clock, trail=means.trail)
    # What is only looked into wakes nobody.
    looked_into = [Watches(cache, _nobody) for cache in (namespaces, *people_maps)]
    controller = partial(Controller, clock=means.clock, metrics=means.metrics)
    # When a thousand deadlines fall into one second, whoever sums up stands back behind whoever decides.
    yield controller(
        "remediationrequest",
        orchestrator.reconcile,
        sources=[For(remediations), Watches(analyses, _remediation_key), Owns(requests, REMEDIATIONS)],
        workers=ceil(means.workers / _STANDS_BACK),
    )
    yield controller(
        "aianalysis",
        analysis.reconcile,
        sources=[For(analyses), Watches(requests, _analysis_key), *looked_into],
        workers=means.workers,
    )
    yield controller(
        "remediationapprovalrequest", approval.reconcile, sources=[For(requests)], workers=means.workers
    )
    yield controller("remediationpolicy", read.reconcile, sources=[For(policies)], workers=1)


def _analysis_key(request: RemediationApprovalRequest) -> Iterator[Key]:
    """Straight to the analysis that waits."""
    yield Key(request.metadata.namespace, request.spec.ai_analysis_ref.name)


def _remediation_key(analysis: AIAnalysis) -> Iterator[Key]:
    if reference := analysis.spec.remediation_request_ref:
        yield Key(analysis.metadata.namespace, reference.name)


def _remediation_of(one: AIAnalysis | RemediationApprovalRequest) -> Iterator[str]:
    if reference := one.spec.remediation_request_ref:
        yield f"{one.metadata.namespace}/{reference.name}"


def _nobody(_map: ConfigMap) -> Iterator[Key]:
    return iter(())
