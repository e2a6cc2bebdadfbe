"""Who may do what in a cluster, as one table from which every role is printed.

The operator gets what its code asks for and nothing besides; the tests run it under these very roles. Rights
to Leases and to its own Secret end at its own namespace. The roles for people differ by what they can cost:

- `auditor` reads, and is part of everybody's `view`;
- `requester` asks for exceptions and `editor` writes scalers. Both act in their own namespace only, and are
  part of `edit`;
- `planner` writes plans, which may name *other* namespaces and clouds, and `analyst` writes what remediations
  start from: nobody has these by accident;
- `approver` agrees to what others ask for. Nothing contains it, not even running a namespace.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hibernator.admission.pathsecret import NAME as PATHS
from hibernator.admission.secret import NAME as CERTIFICATES
from hibernator.admission.webhooks.configurations import MUTATING, NAME as WEBHOOKS, VALIDATING
from hibernator.api.aianalysis import ANALYSES
from hibernator.api.cloudprovider import PROVIDERS
from hibernator.api.core import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    EVENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    LEASES,
    NAMESPACES,
    SCALED_OBJECTS,
    SECRETS,
)
from hibernator.api.hibernateplan import PLANS
from hibernator.api.k8scluster import CLUSTERS
from hibernator.api.kind import Kind
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS
from hibernator.api.remediationrequest import REMEDIATIONS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.executors.karpenter import NODE_POOLS
from hibernator.executors.workloads.kinds import BUILT_IN
from hibernator.operator.app import LEASE

_PREFIX: Final = "hibernator-"
_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ("get", "list", "watch")
_WRITE: Final = ("create", "update", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Home:
    """Where the operator lives, and under which name the API server knows it."""

    namespace: str = "hibernator-system"
    service_account: str = "hibernator"

    @property
    def user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"


@dataclass(frozen=True, slots=True)
class Right:
    """What may be done to a kind, or to a part of its objects, or only to the objects of these names."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def rule(self) -> dict[str, Any]:
        rule: dict[str, Any] = {"apiGroups": [self.group], "resources": [self.resource]}
        if self.names:
            rule["resourceNames"] = list(self.names)
        return rule | {"verbs": list(self.verbs)}


def to(kind: Kind[Any], *verbs: str, part: str = "", names: tuple[str, ...] = ()) -> Right:
    return Right(kind.group, f"{kind.plural}/{part}" if part else kind.plural, verbs, names)


# In every namespace that the operator acts in.
OPERATOR: Final = (
    to(PLANS, *_READ, "patch"),
    to(PLANS, "patch", part="status"),
    to(EXCEPTIONS, *_READ, "patch"),
    to(EXCEPTIONS, "patch", part="status"),
    to(SCALERS, *_READ, "patch"),
    to(SCALERS, "patch", part="status"),
    to(REMEDIATIONS, *_READ),
    to(REMEDIATIONS, "patch", part="status"),
    # An owner that blocks its deletion: some clusters want this right of whoever writes such a reference.
    to(REMEDIATIONS, "update", part="finalizers"),
    to(ANALYSES, *_READ, "patch"),
    to(ANALYSES, "patch", part="status"),
    to(APPROVAL_REQUESTS, *_READ, "create", "delete"),
    to(APPROVAL_REQUESTS, "patch", part="status"),
    *(to(kind, *_READ) for kind in (PROVIDERS, CLUSTERS)),
    *(to(kind, "patch", part="status") for kind in (PROVIDERS, CLUSTERS)),
    to(CONFIG_MAPS, *_READ, "create", "patch", "delete"),
    to(EVENTS, "get", "create", "patch"),
    *(to(sort.kind, *_READ, "patch") for sort in BUILT_IN),
    to(HORIZONTAL_POD_AUTOSCALERS, "list", "watch", "patch"),
    to(SCALED_OBJECTS, *_READ, "patch"),
    # Other kinds with a scale subresource need a role of their own, bound to the operator's account.
    Right("argoproj.io", "rollouts", (*_READ, "patch")),
    Right("argoproj.io", "rollouts/scale", ("get", "patch")),
)

# What belongs to no namespace.
OPERATOR_CLUSTER: Final = (
    to(NAMESPACES, "list"),
    to(NODE_POOLS, "get", "list", "patch"),
    to(CUSTOM_RESOURCE_DEFINITIONS, *_READ),
    to(CUSTOM_RESOURCE_DEFINITIONS, "patch", names=(SCALERS.resource,)),
    *(to(kind, *_READ, "create", "patch", names=(WEBHOOKS,)) for kind in (MUTATING, VALIDATING)),
)

# In the operator's own namespace. A name cannot restrict who creates: there is none yet when it is checked.
OPERATOR_HOME: Final = (
    to(LEASES, "create"),
    to(LEASES, "get", "patch", names=(LEASE,)),
    to(SECRETS, "create"),
    to(SECRETS, *_READ, "patch", names=(CERTIFICATES, PATHS)),
)

# Where connectors with keys are. Bound to the operator by whoever has such a namespace, and nowhere else: it
# is a right to all Secrets of a namespace, and the operator asks only for those that a connector names.
CONNECTOR: Final = (to(SECRETS, "get"),)

AUDITOR: Final = tuple(
    to(kind, *_READ)
    for kind in (
        PLANS,
        EXCEPTIONS,
        SCALERS,
        PROVIDERS,
        CLUSTERS,
        REMEDIATIONS,
        APPROVAL_REQUESTS,
        ANALYSES,
        EVENTS,
    )
)
REQUESTER: Final = (to(EXCEPTIONS, *_READ, *_WRITE), to(PLANS, *_READ))
EDITOR: Final = (to(SCALERS, *_READ, *_WRITE),)
PLANNER: Final = (
    to(PLANS, *_READ, *_WRITE),
    to(PROVIDERS, *_READ, *_WRITE),
    to(CLUSTERS, *_READ, *_WRITE),
)
ANALYST: Final = (to(REMEDIATIONS, *_READ, *_WRITE), to(ANALYSES, *_READ, *_WRITE))
APPROVER: Final = (
    to(EXCEPTIONS, *_READ, "approve"),
    to(EXCEPTIONS, "get", "patch", part="status"),
    to(APPROVAL_REQUESTS, *_READ, "approve"),
    to(APPROVAL_REQUESTS, "get", "patch", part="status"),
    # What they decide about.
    to(PLANS, *_READ),
    to(REMEDIATIONS, *_READ),
    to(ANALYSES, *_READ),
)


def roles() -> tuple[dict[str, Any], ...]:
    """Every ClusterRole; they are the same wherever the operator lives."""
    return (
        _role("operator", OPERATOR),
        _role("operator-cluster", OPERATOR_CLUSTER),
        _role("connector", CONNECTOR),
        _role("auditor", AUDITOR, part_of="view"),
        _role("requester", REQUESTER, part_of="edit"),
        _role("editor", EDITOR, part_of="edit"),
        _role("planner", PLANNER),
        _role("analyst", ANALYST),
        _role("approver", APPROVER),
    )


def grants(home: Home) -> tuple[dict[str, Any], ...]:
    """The operator's account with all that it may do, in its own namespace and elsewhere."""
    account = {"kind": "ServiceAccount", "name": home.service_account, "namespace": home.namespace}
    name, place = f"{_PREFIX}operator", {"namespace": home.namespace}
    return (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": home.service_account} | place,
        },
        _document("Role", name, place, rules=_rules(OPERATOR_HOME)),
        _binding("RoleBinding", name, account, "Role", name, place),
        _binding("ClusterRoleBinding", name, account, "ClusterRole", name),
        _binding("ClusterRoleBinding", f"{name}-cluster", account, "ClusterRole", f"{name}-cluster"),
    )


def _role(name: str, rights: Iterable[Right], part_of: str = "") -> dict[str, Any]:
    labels = {"labels": {f"{_RBAC}/aggregate-to-{part_of}": "true"}} if part_of else {}
    return _document("ClusterRole", f"{_PREFIX}{name}", labels, rules=_rules(rights))


def _binding(
    kind: str,
    name: str,
    account: dict[str, str],
    role_kind: str,
    role: str,
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role}
    return _document(kind, name, more or {}, roleRef=reference, subjects=[account])


def _document(kind: str, name: str, metadata: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": {"name": name} | metadata} | body


def _rules(rights: Iterable[Right]) -> list[dict[str, Any]]:
    return [right.rule() for right in rights]
