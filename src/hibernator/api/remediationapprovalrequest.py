"""RemediationApprovalRequest: people are asked, as with a CertificateSigningRequest.

What is asked never changes; a person answers by adding a condition `Approved` or `Rejected`.
"""

from datetime import datetime
from typing import Annotated, Literal

from hibernator.api.aianalysis import ApprovalContext, DeadlineSource
from hibernator.api.kind import Kind
from hibernator.api.meta import Conditions, Model, Object, ObservedGeneration, rule, says
from hibernator.api.people import Channel, Email, Role, User, Words
from hibernator.api.references import LocalReference

Decision = Literal["", "Approved", "Rejected", "Expired"]

_IS_DECISION = "c.type in ['Approved', 'Rejected']"


class ApproverLevel(Model):
    level: Annotated[Literal["L1", "L2"], says("`L1` is asked at once, `L2` from `escalateAt` on.")]
    emails: Annotated[
        tuple[Email, ...], says("People of this level.", maxItems=20, x_kubernetes_list_type="set")
    ] = ()
    roles: Annotated[
        tuple[Role, ...], says("Roles of this level.", maxItems=20, x_kubernetes_list_type="set")
    ] = ()


class RemediationApprovalRequestSpec(Model):
    RULES = (rule("self == oldSelf", "spec is immutable: what was asked cannot be changed afterwards"),)

    ai_analysis_ref: Annotated[LocalReference, says("The AIAnalysis that waits for the answer.")]
    approval_context: Annotated[ApprovalContext, says("What is to be decided.")]
    required_by: Annotated[datetime, says("By when. After that the request is `Expired`.")]
    remediation_request_ref: Annotated[
        LocalReference | None, says("The RemediationRequest that all of this is about.")
    ] = None
    approvers: Annotated[
        tuple[ApproverLevel, ...],
        says(
            "Who is asked, in two levels; everybody who may approve when absent.",
            maxItems=2,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["level"],
        ),
    ] = ()
    escalate_at: Annotated[datetime | None, says("From when on the second level is asked too.")] = None


class RemediationApprovalRequestStatus(Model):
    RULES = (
        rule(
            f"!has(self.conditions) || self.conditions.all(c, !({_IS_DECISION}) || c.status == 'True')",
            'A decision can only be made, not unmade: the status of Approved and Rejected must be "True"',
            field=".conditions",
        ),
        rule(
            f"!has(self.conditions) || self.conditions.filter(c, {_IS_DECISION}).size() <= 1",
            "Approved and Rejected exclude each other",
            field=".conditions",
        ),
    )

    decision: Annotated[Decision, says("What was decided; empty while it is open.")] = ""
    decided_by: Annotated[User, says("Who decided, as Kubernetes authenticated them.")] = ""
    decided_at: Annotated[datetime | None, says("When it was decided.")] = None
    decided_via: Channel = ""
    decision_message: Words = ""
    deadline_source: Annotated[DeadlineSource | None, says("Who set `requiredBy`.")] = None
    escalated_at: Annotated[datetime | None, says("When the second level was asked.")] = None
    message: Annotated[str, says("What goes on, in words.")] = ""
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()


class RemediationApprovalRequest(Object, kw_only=True):
    """Asks people whether a remediation may be carried out, by a deadline."""

    RULES = (
        rule(
            "!has(oldSelf.status) || !has(oldSelf.status.conditions) || oldSelf.status.conditions"
            f".filter(c, {_IS_DECISION}).all(c,"
            " has(self.status) && has(self.status.conditions) && c in self.status.conditions)",
            "A decision can be neither changed nor taken back",
            field=".status",
            reason="FieldValueForbidden",
        ),
        rule(
            "!has(oldSelf.status) || !has(oldSelf.status.decision) || oldSelf.status.decision == ''"
            " || (has(self.status) && has(self.status.decision)"
            " && self.status.decision == oldSelf.status.decision)",
            "The first decision is final",
            field=".status",
            reason="FieldValueForbidden",
        ),
    )

    spec: Annotated[RemediationApprovalRequestSpec, says("What is asked, of whom, and by when.")]
    status: Annotated[RemediationApprovalRequestStatus, says("What was decided.")] = (
        RemediationApprovalRequestStatus()
    )


APPROVAL_REQUESTS = Kind(
    RemediationApprovalRequest,
    "remediation.kubernaut.ai",
    "v1alpha1",
    "RemediationApprovalRequest",
    "remediationapprovalrequests",
)
