"""What may be written under `parameters` of a target, for each type of target.

The CRD holds `parameters` as a free object, because a structural schema cannot change its shape with the
value of another field. `validate`, admission and the executors use these types instead.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from hibernator.api.meta import SHORT_NAME, Model, says
from hibernator.api.selector import LabelCondition
from hibernator.api.timewindowscaler_v1beta1 import MOST_REPLICAS, PERCENTAGE
from hibernator.api.windows import DURATION


class AwaitCompletion(Model):
    enabled: Annotated[
        bool, says("Whether the target is done only when all its items have settled.", default=False)
    ] = False
    timeout: Annotated[
        str | None,
        says(
            "How long to wait for that before the attempt counts as failed, such as `10m`. Without it: ten "
            "minutes for workloads, an hour for everything else.",
            pattern=DURATION,
            maxLength=32,
        ),
    ] = None


Await = Annotated[AwaitCompletion | None, says("Whether, and how long, to wait until it has settled.")]
Labels = Annotated[Mapping[str, str], says("Labels that must all be there, with these values.")]
Tags = Annotated[Mapping[str, str], says("Tags that must all be there. An empty value stands for any value.")]
NodePools = tuple[Annotated[str, says("The name of a node pool.", minLength=1, maxLength=253)], ...]


class LabelSelector(Model):
    match_labels: Labels = msgspec.field(default_factory=dict)
    match_expressions: Annotated[
        tuple[LabelCondition, ...], says("Conditions on labels that must all be met.", maxItems=32)
    ] = ()


class NamespaceSelector(Model):
    literals: Annotated[
        tuple[Annotated[str, says("A namespace.", pattern=SHORT_NAME, maxLength=63)], ...],
        says("Namespaces by name.", maxItems=500),
    ] = ()
    selector: Annotated[Mapping[str, str], says("Namespaces by labels that they must all have.")] = (
        msgspec.field(default_factory=dict)
    )


class WorkloadScalerParameters(Model):
    namespace: Annotated[NamespaceSelector, says("The namespaces whose workloads sleep.")]
    workload_selector: Annotated[
        LabelSelector | None, says("Which workloads of those namespaces; all when absent.")
    ] = None
    included_groups: Annotated[
        tuple[
            Annotated[
                str,
                says("A kind, such as `Deployment`, or `rollouts.argoproj.io`.", minLength=1, maxLength=317),
            ],
            ...,
        ],
        says("The kinds of workloads that sleep.", minItems=1, maxItems=32, default=["Deployment"]),
    ] = ("Deployment",)
    sleep_replicas: Annotated[
        int | str,
        says(
            "How many replicas run on while it sleeps: a number, or a share such as `10%` of what it has, "
            "rounded up. A workload that has no more than that is left as it is, and so is one that a "
            "HorizontalPodAutoscaler scales, unless this is 0. Jobs, CronJobs and DaemonSets sleep whole.",
            x_kubernetes_int_or_string=True,
            minimum=0,
            maximum=MOST_REPLICAS,
            pattern=PERCENTAGE,
            default=0,
        ),
    ] = 0
    await_completion: Await = None


class PatchesParameters(Model):
    """Objects of one kind that sleep by a JSON patch, which is taken back when they wake."""

    namespace: Annotated[NamespaceSelector, says("The namespaces whose objects sleep: at most 10 by name.")]
    api_version: Annotated[
        str,
        says(
            "The group and version of the kind, such as `postgresql.cnpg.io/v1`.",
            pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9][a-z0-9]*$",
            maxLength=253,
        ),
    ]
    resource: Annotated[
        str,
        says(
            "The kind by its plural, as roles name it, such as `clusters`: `kubectl api-resources` shows it.",
            pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            maxLength=63,
        ),
    ]
    patch: Annotated[
        Any,
        says(
            "The JSON patch (RFC 6902) that puts an object to sleep, as a list or as text in YAML. It "
            "changes fields of `spec`, single labels and single annotations."
        ),
    ]
    selector: Annotated[LabelSelector | None, says("Which objects of those namespaces; all when absent.")] = (
        None
    )


class KarpenterParameters(Model):
    node_pools: Annotated[NodePools, says("NodePools by name.", maxItems=100)] = ()
    selector: Annotated[LabelSelector | None, says("NodePools by label.")] = None
    await_completion: Await = None


class Ec2Selector(Model):
    tags: Tags = msgspec.field(default_factory=dict)
    instance_ids: Annotated[
        tuple[Annotated[str, says("An instance.", pattern="^i-[0-9a-f]+$", maxLength=32)], ...],
        says("Instances by id.", maxItems=1000),
    ] = ()


class Ec2Parameters(Model):
    selector: Annotated[
        Ec2Selector,
        says("The instances that sleep. Those of auto-scaling groups and of Karpenter are left alone."),
    ]
    await_completion: Await = None


class AsgSelector(Model):
    tags: Tags = msgspec.field(default_factory=dict)
    names: Annotated[
        tuple[Annotated[str, says("A group.", minLength=1, maxLength=255)], ...],
        says("Auto-scaling groups by name.", maxItems=500),
    ] = ()


class AsgParameters(Model):
    selector: Annotated[AsgSelector, says("The auto-scaling groups that sleep.")]
    await_completion: Await = None


class RdsSelector(Model):
    tags: Tags = msgspec.field(default_factory=dict)
    exclude_tags: Annotated[
        Mapping[str, str], says("Everything but what has one of these tags. An empty value stands for any.")
    ] = msgspec.field(default_factory=dict)
    instance_ids: Annotated[
        tuple[Annotated[str, says("An instance.", minLength=1, maxLength=63)], ...],
        says("Database instances by identifier.", maxItems=500),
    ] = ()
    cluster_ids: Annotated[
        tuple[Annotated[str, says("A cluster.", minLength=1, maxLength=63)], ...],
        says("Aurora clusters by identifier.", maxItems=500),
    ] = ()
    include_all: Annotated[bool, says("Everything in the account and region.", default=False)] = False
    discover_instances: Annotated[
        bool, says("Whether tags, or `includeAll`, look for instances.", default=False)
    ] = False
    discover_clusters: Annotated[
        bool, says("Whether tags, or `includeAll`, look for clusters.", default=False)
    ] = False


class RdsParameters(Model):
    selector: Annotated[RdsSelector, says("The databases that sleep.")]
    snapshot_before_stop: Annotated[
        bool, says("Take a snapshot of each database before it is stopped.", default=False)
    ] = False
    await_completion: Await = None


class NodeGroup(Model):
    name: Annotated[str, says("The name of a managed node group.", minLength=1, maxLength=63)]


class EksParameters(Model):
    cluster_name: Annotated[
        str | None,
        says("The cluster. May be left out when `connectorRef` is a K8SCluster.", minLength=1, maxLength=100),
    ] = None
    node_groups: Annotated[
        tuple[NodeGroup, ...], says("Its managed node groups that sleep; all when absent.", maxItems=100)
    ] = ()
    await_completion: Await = None


class GkeParameters(Model):
    node_pools: Annotated[NodePools, says("The node pools that sleep; all when absent.", maxItems=100)] = ()
    cluster_name: Annotated[
        str | None,
        says("The cluster. May be left out when `connectorRef` is a K8SCluster.", minLength=1, maxLength=100),
    ] = None
    location: Annotated[
        str | None,
        says(
            "Its region or zone. May be left out when `connectorRef` is a K8SCluster.",
            pattern="^[a-z0-9-]+$",
            maxLength=32,
        ),
    ] = None
    await_completion: Await = None


class CloudSqlParameters(Model):
    instance_name: Annotated[str, says("The database instance that sleeps.", minLength=1, maxLength=98)]
    project: Annotated[
        str | None, says("Its project; the provider's when absent.", minLength=1, maxLength=63)
    ] = None
    await_completion: Await = None


class NoopParameters(Model):
    """Nothing sleeps; for drills and for trying out an order."""

    items: Annotated[int, says("How many items to pretend.", minimum=1, maximum=2000, default=1)] = 1
    delay_seconds: Annotated[
        int, says("How long each item pretends to take.", minimum=0, maximum=600, default=0)
    ] = 0
    failure_mode: Annotated[
        Literal["none", "sleep", "wake", "both"],
        says("In which direction it fails.", default="none"),
    ] = "none"
    failures: Annotated[
        int | None, says("How many attempts fail before one succeeds; all when absent.", minimum=0)
    ] = None
    failure_message: Annotated[str, says("What a failure says.", maxLength=1024)] = ""
    await_completion: Await = None


PARAMETERS: Mapping[str, type[Model]] = {
    "workloadscaler": WorkloadScalerParameters,
    "patches": PatchesParameters,
    "karpenter": KarpenterParameters,
    "ec2": Ec2Parameters,
    "asg": AsgParameters,
    "rds": RdsParameters,
    "eks": EksParameters,
    "gke": GkeParameters,
    "cloudsql": CloudSqlParameters,
    "noop": NoopParameters,
}
