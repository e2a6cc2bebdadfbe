"""Every executor that there is, by the type of the targets that it works on."""

from hibernator.executors.asg import Asg
from hibernator.executors.cloudsql import CloudSql
from hibernator.executors.connectors import Connectors
from hibernator.executors.ec2 import Ec2
from hibernator.executors.eks import Eks
from hibernator.executors.gke import Gke
from hibernator.executors.karpenter import Karpenter
from hibernator.executors.noop import Noop
from hibernator.executors.rds import Rds
from hibernator.executors.registry import Registry
from hibernator.executors.workloadscaler import WorkloadScaler


def executors(connectors: Connectors, *, own_namespace: str, only_namespace: str = "") -> Registry:
    """How each type of target sleeps and wakes."""
    workloads = WorkloadScaler(connectors, own_namespace=own_namespace, only_namespace=only_namespace)
    return Registry(
        {
            "workloadscaler": workloads,
            "karpenter": Karpenter(connectors),
            "ec2": Ec2(connectors),
            "asg": Asg(connectors),
            "rds": Rds(connectors),
            "eks": Eks(connectors),
            "gke": Gke(connectors),
            "cloudsql": CloudSql(connectors),
            "noop": Noop(),
        }
    )
