"""All the kinds that this product brings along, with what their CRDs say besides the schema."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hibernator.api.aianalysis import ANALYSES
from hibernator.api.approvaldelivery import DELIVERIES
from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES
from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.kind import Kind
from hibernator.api.planrequest import PLAN_REQUESTS
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.api.timewindowscaler_v1beta1 import SCALERS as SCALERS_V1BETA1


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. Instants are text: a `date` in the future prints as `<invalid>`."""

    name: str
    path: str
    description: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    kind: Kind[Any]
    columns: tuple[Column, ...] = ()
    storage: bool = True


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind with all its versions, of which one is stored."""

    versions: tuple[Version, ...]
    short_names: tuple[str, ...] = ()
    conversion: Mapping[str, Any] | None = None  # the CRD's `conversion`, when versions differ

    @property
    def kind(self) -> Kind[Any]:
        """The version that is stored."""
        return next(version.kind for version in self.versions if version.storage)


def condition(name: str, part: str) -> str:
    return f'.status.conditions[?(@.type=="{name}")].{part}'


READY = Column("Ready", condition("Ready", "status"), "Whether everything is as it should be.")
MESSAGE = Column("Message", condition("Ready", "message"), "What is going on, in a sentence.", wide=True)
AGE = Column("Age", ".metadata.creationTimestamp", "How long it has been there.", type="date")

SCALER_COLUMNS = (
    Column("Target", ".spec.targetRef.name", "What is scaled."),
    Column("Window", ".status.currentWindow", "The current window."),
    Column("Replicas", ".status.effectiveReplicas", "How many are wanted.", type="integer"),
    Column("Next change", ".status.nextBoundary", "When that may change."),
    READY,
    Column("Timezone", ".spec.timezone", "The zone of its times.", wide=True),
    MESSAGE,
    AGE,
)

DEFINITIONS: tuple[Definition, ...] = (
    Definition(
        short_names=("hplan",),
        versions=(
            Version(
                PLANS,
                columns=(
                    Column("Phase", ".status.phase", "Where the plan is."),
                    Column("Next", ".status.nextTransition.to", "What it changes to next."),
                    Column("At", ".status.nextTransition.at", "When it changes next."),
                    Column("Targets", ".status.progress", "How many targets are done."),
                    Column(
                        "Exception",
                        '.status.activeExceptions[?(@.state=="Active")].name',
                        "The exception that overrides the schedule.",
                    ),
                    Column("Timezone", ".spec.schedule.timezone", "The zone of its times.", wide=True),
                    MESSAGE,
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        short_names=("schedex", "sx"),
        versions=(
            Version(
                EXCEPTIONS,
                columns=(
                    Column("Plan", ".spec.planRef.name", "The plan whose schedule is overridden."),
                    Column("Type", ".spec.type", "How the schedule is overridden."),
                    Column("State", ".status.state", "Where the exception is."),
                    Column("From", ".spec.validFrom", "From when it is valid."),
                    Column("Until", ".spec.validUntil", "Until when it is valid."),
                    Column("Approvals", ".status.approvalProgress", "How many approvals are there."),
                    Column("Requester", ".status.requestedBy", "Who asked for it.", wide=True),
                    Column("Message", ".status.message", "What is going on, in a sentence.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        short_names=("xpol",),
        versions=(
            Version(
                EXCEPTION_POLICIES,
                columns=(
                    Column("Roles", ".spec.require.roles", "The roles that must agree."),
                    Column("People", ".spec.require.emails", "The people who must agree."),
                    Column("Threshold", ".spec.require.threshold", "How many of them."),
                    Column("Longest", ".spec.limits.maxDuration", "How long an exception may last."),
                    READY,
                    Column("Message", ".spec.message", "Why the policy exists.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        versions=(
            Version(
                PROVIDERS,
                columns=(
                    Column("Type", ".spec.type", "Which cloud it is."),
                    Column("Account", ".spec.aws.accountId", "The account at AWS."),
                    Column("Project", ".spec.gcp.project", "The project at Google Cloud."),
                    READY,
                    Column("Region", ".spec.aws.region", "The region at AWS.", wide=True),
                    MESSAGE,
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        versions=(
            Version(
                CLUSTERS,
                columns=(
                    Column("EKS", ".spec.eks.name", "The cluster at AWS."),
                    Column("GKE", ".spec.gke.name", "The cluster at Google Cloud."),
                    READY,
                    MESSAGE,
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        short_names=("tws",),
        versions=(
            Version(SCALERS, columns=SCALER_COLUMNS),
            Version(SCALERS_V1BETA1, columns=SCALER_COLUMNS, storage=False),
        ),
    ),
    Definition(
        versions=(
            Version(
                REMEDIATIONS,
                columns=(
                    Column("Signal", ".spec.signalName", "What went wrong."),
                    Column("Severity", ".spec.severity", "How bad it is."),
                    Column("Phase", ".status.phase", "How far it is."),
                    Column("Message", ".status.message", "What is going on, in a sentence.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        short_names=("rar",),
        versions=(
            Version(
                APPROVAL_REQUESTS,
                columns=(
                    Column("Analysis", ".spec.aiAnalysisRef.name", "The analysis that waits."),
                    Column(
                        "Confidence",
                        ".spec.approvalContext.confidence",
                        "How sure the analysis is.",
                        type="number",
                    ),
                    Column("Required by", ".spec.requiredBy", "By when it must be decided."),
                    Column("Decision", ".status.decision", "What was decided."),
                    Column(
                        "Playbook",
                        ".spec.approvalContext.recommendedPlaybook",
                        "What would be done.",
                        wide=True,
                    ),
                    Column("Decided by", ".status.decidedBy", "Who decided.", wide=True),
                    Column("Message", ".status.message", "What is going on, in a sentence.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        versions=(
            Version(
                ANALYSES,
                columns=(
                    Column("Phase", ".status.phase", "What became of it."),
                    Column("Confidence", ".spec.analysis.confidence", "How sure it is.", type="number"),
                    Column("Playbook", ".spec.analysis.recommendedPlaybook", "What it recommends."),
                    Column("Reason", ".status.reason", "Why it is in that phase."),
                    Column("Message", ".status.message", "What is going on, in a sentence.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        short_names=("hnotif",),
        versions=(
            Version(
                NOTIFICATIONS,
                columns=(
                    Column("State", ".status.state", "Whether it selects anything."),
                    Column("Events", ".spec.onEvents", "What is sent."),
                    Column("Delivered", ".status.lastDeliveryTime", "When a message was last delivered."),
                    READY,
                    MESSAGE,
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        versions=(
            Version(
                DELIVERIES,
                columns=(
                    Column("Kind", ".spec.request.kind", "The kind of the request."),
                    Column("Request", ".spec.request.name", "What the person is asked about."),
                    Column("Recipient", ".spec.recipient", "The address of the person, or the channel."),
                    Column("Sent", condition("Delivered", "status"), "Whether everything was sent."),
                    Column("Message", condition("Delivered", "message"), "What went wrong.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
    Definition(
        versions=(
            Version(
                PLAN_REQUESTS,
                columns=(
                    Column("Plan", ".spec.plan.name", "The plan that is to be changed."),
                    Column("Action", ".spec.action", "What is asked for."),
                    Column("State", ".status.state", "What became of it."),
                    Column("Message", ".status.message", "The same in words.", wide=True),
                    AGE,
                ),
            ),
        ),
    ),
)


def all_kinds() -> Iterator[Kind[Any]]:
    """Give every kind in every version, in the order in which people meet them."""
    for definition in DEFINITIONS:
        for version in definition.versions:
            yield version.kind
