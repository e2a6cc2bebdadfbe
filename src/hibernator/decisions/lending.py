"""Who may use a connector: those of its own namespace, and of those that it names.

A connector lends credentials. Without this, who may write plans in one namespace could stop the databases of
another through its CloudProvider. A plan that may not use a connector does not go to sleep; what sleeps is
woken all the same, so that nothing sleeps on because a permission was withdrawn.
"""

from collections.abc import Callable, Iterator
from typing import Final

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import K8SCluster
from hibernator.api.meta import ProviderReference
from hibernator.api.problem import Problem

Connector = CloudProvider | K8SCluster
Name = tuple[str, str, str]  # kind, namespace and name
Find = Callable[[Name], Connector | None]

ALL: Final = "*"


def lends(connector: Connector | None, to: str) -> bool:
    """Whether objects of a namespace may use a connector; what is not there lends nothing."""
    if connector is None:
        return False
    allowed = connector.spec.allowed_namespaces
    return to == connector.metadata.namespace or to in allowed or ALL in allowed


def provider_of(cluster: K8SCluster) -> Name | None:
    """The CloudProvider that a cluster is reached by, if it is at a cloud."""
    at = cluster.spec.eks or cluster.spec.gke
    return _provider(at.provider_ref, cluster.metadata.namespace) if at else None


def connectors_of(plan: HibernatePlan) -> Iterator[Name]:
    """Those that the targets of a plan name."""
    for target in plan.spec.targets:
        if ref := target.connector_ref:
            yield ref.kind, ref.namespace or plan.metadata.namespace, ref.name


def not_lent(name: Name, to: str) -> tuple[str, str]:
    """What is wrong, and the fix. It does not tell whether the connector exists."""
    kind, namespace, called = name
    return (
        f"there is no {kind} {called} in the namespace {namespace} that the namespace {to} may use",
        f"Add {to} to spec.allowedNamespaces of that {kind}, or use one in {to}.",
    )


def borrowed(plan: HibernatePlan, find: Find) -> Iterator[Problem]:
    """The connectors of other namespaces that a plan names and may not use."""
    home = plan.metadata.namespace
    for number, target in enumerate(plan.spec.targets):
        ref = target.connector_ref
        if ref is None:
            continue
        name = ref.kind, ref.namespace or home, ref.name
        refused = _refused(name, home, find)
        if refused:
            wrong, fix = not_lent(*refused)
            path = f"spec.targets[{number}].connectorRef"
            yield Problem(path, f"{name[1]}/{name[2]}", wrong, fix)


def _refused(name: Name, home: str, find: Find) -> tuple[Name, str] | None:
    """The connector that is not lent to the namespace that wants it: the named one, or that behind it."""
    connector = find(name)
    if name[1] != home and not lends(connector, home):
        return name, home
    below = provider_of(connector) if isinstance(connector, K8SCluster) else None
    if below and below[1] != name[1] and not lends(find(below), name[1]):
        return below, name[1]
    return None


def _provider(ref: ProviderReference, home: str) -> Name:
    return PROVIDERS.kind, ref.namespace or home, ref.name
