"""K8SCluster: a cluster whose workloads can sleep, and how the operator reaches it."""

from typing import Annotated

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import (
    OBJECT_NAME,
    AllowedNamespaces,
    ConnectorStatus,
    Model,
    Object,
    ProviderReference,
    rule,
    says,
)


class KubeconfigReference(Model):
    name: Annotated[
        str,
        says("The name of a Secret in this object's namespace.", pattern=OBJECT_NAME, maxLength=253),
    ]
    key: Annotated[
        str,
        says(
            "The key of the Secret that holds the kubeconfig.",
            minLength=1,
            maxLength=253,
            default="kubeconfig",
        ),
    ] = "kubeconfig"


class EksCluster(Model):
    name: Annotated[str, says("The name of the EKS cluster.", minLength=1, maxLength=100)]
    region: Annotated[str, says("The region, such as `eu-central-1`.", pattern="^[a-z0-9-]+$", maxLength=32)]
    provider_ref: Annotated[ProviderReference, says("The CloudProvider that it belongs to.")]


class GkeCluster(Model):
    name: Annotated[str, says("The name of the GKE cluster.", minLength=1, maxLength=100)]
    project: Annotated[str, says("The id of the project that it is in.", minLength=1, maxLength=63)]
    location: Annotated[
        str, says("Its region or zone, such as `europe-west3`.", pattern="^[a-z0-9-]+$", maxLength=32)
    ]
    provider_ref: Annotated[ProviderReference, says("The CloudProvider that it belongs to.")]


class K8SClusterSpec(Model):
    RULES = (
        rule(
            "[has(self.inCluster) && self.inCluster, has(self.kubeconfigRef), has(self.eks), has(self.gke)]"
            ".exists_one(chosen, chosen)",
            "Set exactly one of inCluster, kubeconfigRef, eks and gke",
        ),
    )

    in_cluster: Annotated[bool, says("The cluster that the operator itself runs in.")] = False
    kubeconfig_ref: Annotated[KubeconfigReference | None, says("A cluster by its kubeconfig.")] = None
    eks: Annotated[EksCluster | None, says("A cluster at AWS.")] = None
    gke: Annotated[GkeCluster | None, says("A cluster at Google Cloud.")] = None
    allowed_namespaces: AllowedNamespaces = ()


class K8SCluster(Object, kw_only=True):
    """A Kubernetes cluster whose workloads or nodes can sleep."""

    spec: Annotated[K8SClusterSpec, says("Which cluster it is, and how to reach it.")]
    status: Annotated[ConnectorStatus, says("Whether it can be reached, tried by the operator.")] = (
        ConnectorStatus()
    )


CLUSTERS = Kind(K8SCluster, DOMAIN, "v1alpha1", "K8SCluster", "k8sclusters")
