"""RemediationRequest: something went wrong and shall be remedied. It owns all that is done about it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Conditions, Journal, LocalReference, Model, Object, ObservedGeneration, says

RemediationPhase = Literal["Pending", "AwaitingApproval", "Ready", "Rejected"]


class SignalTarget(Model):
    kind: Annotated[str, says("Its kind.", maxLength=63)] = ""
    name: Annotated[str, says("Its name.", maxLength=253)] = ""
    namespace: Annotated[str, says("Its namespace.", maxLength=63)] = ""
    api_version: Annotated[str, says("Its API version.", maxLength=253)] = ""


class RemediationRequestSpec(Model):
    """What describes the signal; none of it is required."""

    signal_name: Annotated[str, says("What went wrong, as the alert is called.", maxLength=253)] = ""
    signal_type: Annotated[str, says("Where it was noticed, such as `prometheus-alert`.", maxLength=63)] = ""
    severity: Annotated[str, says("How bad it is, such as `critical`.", maxLength=63)] = ""
    environment: Annotated[str, says("Where it happened, such as `production`.", maxLength=63)] = ""
    target_resource: Annotated[SignalTarget | None, says("What it happened to.")] = None
    firing_time: Annotated[datetime | None, says("Since when.")] = None
    signal_labels: Annotated[
        Mapping[str, Annotated[str, says("What it said.", maxLength=1024)]],
        says("Whatever else the source said about it.", maxProperties=64),
    ] = msgspec.field(default_factory=dict)


class RemediationRequestStatus(Model):
    phase: Annotated[RemediationPhase | None, says("How far it is.")] = None
    message: Annotated[str, says("What is going on, in a sentence.")] = ""
    ai_analysis_ref: Annotated[LocalReference | None, says("The newest AIAnalysis of it.")] = None
    remediation_approval_request_ref: Annotated[
        LocalReference | None, says("The RemediationApprovalRequest that waits, or waited, for people.")
    ] = None
    observed_generation: ObservedGeneration = None
    conditions: Conditions = ()
    journal: Journal = ()


class RemediationRequest(Object):
    """Something that went wrong. Deleting it takes its analysis and approval along."""

    spec: Annotated[RemediationRequestSpec, says("What went wrong.")] = RemediationRequestSpec()
    status: Annotated[RemediationRequestStatus, says("How far it is, written by the operator.")] = (
        RemediationRequestStatus()
    )


REMEDIATIONS = Kind(
    RemediationRequest,
    "remediation.kubernaut.ai",
    "v1alpha1",
    "RemediationRequest",
    "remediationrequests",
)
