"""RemediationApprovalRequest: people are asked, as with a CertificateSigningRequest.

What is asked never changes; a person answers by adding a condition `Approved` or `Rejected`.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.aianalysis import ApprovalContext, DeadlineSource
from hibernator.api.kind import Kind
from hibernator.api.meta import (
    Conditions,
    Journal,
    LocalReference,
    Model,
    Object,
    ObservedGeneration,
    kept,
    rule,
    says,
)
from hibernator.api.people import ApproverLevels, Channel, Claims, EscalateAt, Groups, KnownBy, User, Words
from hibernator.api.scheduleexception import Approval, RequiredApproval

Decision = Literal["", "Approved", "Rejected", "Expired"]

_IS_DECISION = "c.type in ['Approved', 'Rejected']"
_IS_OPEN = "(!has(oldSelf.status.decision) || oldSelf.status.decision == '')"


class RefusedDecision(Model):
    """A decision that does not count, set aside by the operator so that others can still decide."""

    by: Annotated[User, says("Who decided; empty when unknown.")]
    decision: Annotated[Literal["Approved", "Rejected"], says("What they decided.")]
    at: Annotated[datetime, says("When the operator set it aside.")]
    reason: Annotated[str, says("Why it does not count, in one word such as `NotAsked`.", maxLength=64)]
    message: Annotated[str, says("Why it does not count, in words.", maxLength=8192)] = ""
    via: Channel = ""
    known_by: Annotated[KnownBy | None, says("How they were known, where the web process wrote this.")] = None


class RemediationApprovalRequestSpec(Model):
    RULES = (rule("self == oldSelf", "spec is immutable: what was asked cannot be changed afterwards"),)

    ai_analysis_ref: Annotated[LocalReference, says("The AIAnalysis that waits for the answer.")]
    approval_context: Annotated[ApprovalContext, says("What is to be decided.")]
    required_by: Annotated[datetime, says("By when. After that the request is `Expired`.")]
    remediation_request_ref: Annotated[
        LocalReference | None, says("The RemediationRequest that all of this is about.")
    ] = None
    approvers: ApproverLevels = ()
    escalate_at: EscalateAt = None


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
    decided_by: Annotated[
        User, says("Who decided, as Kubernetes authenticated them; written in one go with the condition.")
    ] = ""
    decided_for: Annotated[User, says("In whose place, by their deputy; absent for oneself.")] = ""
    decider_groups: Groups = ()
    decider_extra: Claims = msgspec.field(default_factory=dict)
    decider_known_by: Annotated[
        KnownBy | None, says("How they were known, where the web process wrote this.")
    ] = None
    decided_at: Annotated[datetime | None, says("When it was decided.")] = None
    decided_via: Channel = ""
    decision_message: Words = ""
    approval_url: Annotated[
        str, says("Where approvers decide with a browser; written by the web process.", maxLength=2048)
    ] = ""
    deadline_source: Annotated[DeadlineSource | None, says("Who set `requiredBy`.")] = None
    escalated_at: Annotated[datetime | None, says("When the second level was asked.")] = None
    refused: Annotated[
        tuple[RefusedDecision, ...],
        says(
            "Decisions that do not count, the newest last; only the operator writes here.",
            x_kubernetes_list_type="atomic",
            maxItems=10,
        ),
    ] = ()
    approvals: Annotated[
        tuple[Approval, ...],
        says(
            "Approvals that count where ExceptionPolicies ask for more than one; only the operator writes"
            " here, what people have decided.",
            maxItems=20,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["approvedBy"],
        ),
    ] = ()
    required_approvals: Annotated[
        tuple[RequiredApproval, ...],
        says(
            "Who must agree by ExceptionPolicies, besides `spec.approvers`.",
            maxItems=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    channels: Annotated[
        tuple[Annotated[str, says("A channel.", maxLength=64)], ...],
        says(
            "The channels through which an approval counts, as the policies say; all when absent.",
            maxItems=6,
            x_kubernetes_list_type="atomic",
        ),
    ] = ()
    message: Annotated[str, says("What is going on, in a sentence.")] = ""
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
    journal: Journal = ()


class RemediationApprovalRequest(Object, kw_only=True):
    """Asks people whether a remediation may be carried out, by a deadline."""

    RULES = (
        rule(
            kept("approvals"),
            "An approval can be neither changed nor taken back",
            field=".status",
            reason="FieldValueForbidden",
        ),
        # What does not count may go, but only into the list of what was refused; and what is not enough yet
        # into that of the approvals.
        rule(
            "!has(oldSelf.status) || !has(oldSelf.status.conditions) || oldSelf.status.conditions"
            f".filter(c, {_IS_DECISION}).all(c,"
            " (has(self.status) && has(self.status.conditions) && c in self.status.conditions)"
            f" || ({_IS_OPEN} && has(self.status) && has(self.status.refused) && self.status.refused.exists("
            "r, r.decision == c.type"
            " && r.by == (has(oldSelf.status.decidedBy) ? oldSelf.status.decidedBy : '')))"
            f" || ({_IS_OPEN} && c.type == 'Approved' && has(self.status) && has(self.status.approvals)"
            " && has(oldSelf.status.decidedBy) && self.status.approvals.exists(a,"
            " a.approvedBy == oldSelf.status.decidedBy)))",
            "A decision can be neither changed nor taken back",
            field=".status",
            reason="FieldValueForbidden",
        ),
        rule(
            f"!has(oldSelf.status) || {_IS_OPEN} || !has(self.status) || !has(self.status.conditions)"
            f" || self.status.conditions.filter(c, {_IS_DECISION}).all(c,"
            " has(oldSelf.status.conditions) && c in oldSelf.status.conditions)",
            "It is decided already: nothing can be added",
            naming="'It is decided already (' + oldSelf.status.decision + '): nothing can be added'",
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
