"""Which executor works on which type of target."""

from collections.abc import Mapping

from hibernator.executors.aws.asg import Asg
from hibernator.executors.aws.ec2 import Ec2
from hibernator.executors.aws.eks import Eks
from hibernator.executors.aws.rds import Rds
from hibernator.executors.connectors import Connectors
from hibernator.executors.gcp.cloudsql import CloudSql
from hibernator.executors.gcp.gke import Gke
from hibernator.executors.karpenter import Karpenter
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Executor, Permanent
from hibernator.executors.workloads.scaler import WorkloadScaler


class Registry:
    def __init__(self, executors: Mapping[str, Executor]) -> None:
        self._executors = dict(executors)

    def __getitem__(self, type_: str) -> Executor:
        try:
            return self._executors[type_]
        except KeyError:
            known = ", ".join(sorted(self._executors))
            raise Permanent(
                f"Targets of type {type_} are not known to this operator; it knows {known}."
            ) from None


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
