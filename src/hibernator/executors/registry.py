"""Which executor works on which type of target."""

from collections.abc import Mapping
from typing import Final

import structlog

from hibernator.executors.aws.asg import Asg
from hibernator.executors.aws.ec2 import Ec2
from hibernator.executors.aws.eks import Eks
from hibernator.executors.aws.rds import Rds
from hibernator.executors.connectors import Connectors
from hibernator.executors.gcp.cloudsql import CloudSql
from hibernator.executors.gcp.gke import Gke
from hibernator.executors.karpenter import Karpenter
from hibernator.executors.noop import Noop
from hibernator.executors.patches import Patches
from hibernator.executors.plugins import described, plugins
from hibernator.executors.protocol import Executor, Permanent
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.scaler import WorkloadScaler

_log: Final = structlog.get_logger(__name__)


class Registry:
    def __init__(self, executors: Mapping[str, Executor], broken: Mapping[str, str] | None = None) -> None:
        self._executors = dict(executors)
        self._broken = dict(broken or {})  # types of plug-ins that cannot be used, and why

    def __getitem__(self, type_: str) -> Executor:
        try:
            return self._executors[type_]
        except KeyError:
            if why := self._broken.get(type_):
                raise Permanent(f"The plug-in for targets of type {type_} cannot be used: {why}.") from None
            known = ", ".join(sorted(self._executors))
            raise Permanent(
                f"Targets of type {type_} are not known to this operator; it knows {known}."
            ) from None


def executors(connectors: Connectors, *, own_namespace: str, only_namespace: str = "") -> Registry:
    """How each type of target sleeps and wakes."""
    reach = Reach(own_namespace, only_namespace)
    others, broken = _of_plugins(connectors)
    return Registry(
        {
            **others,
            "workloadscaler": WorkloadScaler(connectors, reach),
            "patches": Patches(connectors, reach),
            "karpenter": Karpenter(connectors),
            "ec2": Ec2(connectors),
            "asg": Asg(connectors),
            "rds": Rds(connectors),
            "eks": Eks(connectors),
            "gke": Gke(connectors),
            "cloudsql": CloudSql(connectors),
            "noop": Noop(),
        },
        broken,
    )


def _of_plugins(connectors: Connectors) -> tuple[dict[str, Executor], dict[str, str]]:
    found: dict[str, Executor] = {}
    broken: dict[str, str] = {}
    for one in plugins():
        try:
            found[one.type] = one.executor(connectors)
        except Exception as error:  # noqa: BLE001 - a plug-in may do anything, and must not stop the operator
            broken[one.type] = one.problem or described(error)
            _log.error("executor plugin failed", type=one.type, package=one.package, reason=broken[one.type])
        else:
            _log.info("executor plugin loaded", type=one.type, package=one.package)
    return found, broken
