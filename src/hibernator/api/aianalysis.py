"""AIAnalysis: what an analysis recommends, and whether people must agree to it.

The analysis itself is made elsewhere and written to the spec; the status says what it means here.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from hibernator.api.kind import Kind
from hibernator.api.meta import (
    Conditions,
    Journal,
    LocalReference,
    Model,
    Object,
    ObservedGeneration,
    rule,
    says,
    unchanged,
)
from hibernator.api.people import ApproverLevels, EscalateAt
from hibernator.api.windows import DURATION

AnalysisPhase = Literal["Pending", "Approving", "Ready", "Rejected"]
DeadlineSource = Literal["Analysis", "Policy", "Namespace", "Default"]

Confidence = Annotated[float, says("How sure the analysis is, from 0 to 1.", minimum=0, maximum=1)]
Playbook = Annotated[str, says("The playbook that it recommends to run.", maxLength=253)]


class Analysis(Model):
    confidence: Confidence
    recommended_playbook: Playbook = ""
    reason: Annotated[str, says("Why it recommends that.", maxLength=4096)] = ""
    signal: Annotated[
        Any,
        says(
            "What set it off: a word such as `OOMKilled`, or an object with whatever describes it. The "
            "policy gets it as it is."
        ),
    ] = None


class ApprovalContext(Model):
    """What people look at when they decide."""

    confidence: Confidence
    recommended_playbook: Playbook = ""
    reason: Annotated[str, says("Why approval is needed.", maxLength=4096)] = ""


class AIAnalysisSpec(Model):
    remediation_request_ref: Annotated[
        LocalReference | None, says("The RemediationRequest that it belongs to.")
    ] = None
    analysis: Annotated[Analysis | None, says("What the analysis found; absent until it is finished.")] = None
    approval_timeout: Annotated[
        str | None,
        says(
            "How long people have to decide, as a duration such as `15m`. Without it the policy, the "
            "namespace and the operator are asked in turn.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None


class AIAnalysisStatus(Model):
    phase: Annotated[
        AnalysisPhase | None,
        says(
            "`Approving` waits for people, `Ready` may be carried out, `Rejected` may not, `Pending` has "
            "no analysis yet."
        ),
    ] = None
    reason: Annotated[
        str, says("Why it is in that phase, in one word such as `LowConfidence` or `ApprovalTimeout`.")
    ] = ""
    message: Annotated[str, says("Why, in words.")] = ""
    phase_since: Annotated[datetime | None, says("Since when it is in that phase.")] = None
    approval_required: Annotated[bool | None, says("Whether people must agree.")] = None
    approval_context: Annotated[ApprovalContext | None, says("What people will look at.")] = None
    approval_deadline: Annotated[datetime | None, says("By when people must have decided.")] = None
    deadline_source: Annotated[DeadlineSource | None, says("Who set that time.")] = None
    approvers: ApproverLevels = ()
    escalate_at: EscalateAt = None
    remediation_approval_request_ref: Annotated[
        LocalReference | None, says("The RemediationApprovalRequest that asks them.")
    ] = None
    adopted_by: Annotated[str, says("The uid of the RemediationRequest that owns it.", maxLength=64)] = ""
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
    journal: Journal = ()


class AIAnalysis(Object, kw_only=True):
    """A recommendation to remedy something, and what became of it."""

    RULES = (
        rule(
            "!has(oldSelf.status) || !has(oldSelf.status.phase) || oldSelf.status.phase == 'Pending'"
            f" || ({unchanged('spec.analysis')} && {unchanged('spec.remediationRequestRef')})",
            "The analysis is frozen once it was judged: create a new AIAnalysis",
            field=".spec",
            reason="FieldValueForbidden",
        ),
    )

    spec: Annotated[AIAnalysisSpec, says("What was found, and for which request.")]
    status: Annotated[AIAnalysisStatus, says("What it means, decided by the operator.")] = AIAnalysisStatus()


ANALYSES = Kind(AIAnalysis, "aianalysis.kubernaut.ai", "v1alpha1", "AIAnalysis", "aianalyses")
