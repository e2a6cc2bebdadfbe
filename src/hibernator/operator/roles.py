"""Who may do what in a cluster, as one table from which every role is printed.

The operator gets what its code asks for and nothing besides; the tests run it under these very roles. Rights
to Leases and to its own Secret end at its own namespace. The roles for people differ by what they can cost:

- `auditor` reads, and is part of everyone's `view`;
- `requester` asks for exceptions and `editor` writes scalers and notifications. Both act in their own
  namespace only, and are part of `edit`;
- `planner` writes plans, which may name *other* namespaces and clouds, and the policies of their exceptions;
  `analyst` writes what remediations start from: no one has these by accident;
- `approver` agrees to what others ask for. Nothing contains it, not even running a namespace.

`web` is for the account of the web process, which people outside of the cluster reach. It reads our kinds,
adds decisions, asks for exceptions and PlanRequests in the name of people and keeps its own messages. What it
adds to a status is for the policies to check.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hibernator.admission.keyrings import NAME as CERTIFICATES
from hibernator.admission.pathsecret import NAME as PATHS
from hibernator.admission.policies_accounts import WEB
from hibernator.admission.webhooks.configurations import MUTATING, NAME as WEBHOOKS, VALIDATING
from hibernator.api.aianalysis import ANALYSES
from hibernator.api.approvaldelivery import DELIVERIES
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
from hibernator.audit import api as trail_api
from hibernator.decisions.hibernateplan_kept import PART as RESTORE_DATA
from hibernator.executors.karpenter import NODE_POOLS
from hibernator.executors.workloads.kinds import BUILT_IN
from hibernator.kube.remote import AUTHORITY
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

    @property
    def web_user(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{WEB}"


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


@dataclass(frozen=True, slots=True)
class Paths:
    """What may be read that is no resource: paths that the operator serves itself."""

    paths: tuple[str, ...]

    def rule(self) -> dict[str, Any]:
        return {"nonResourceURLs": list(self.paths), "verbs": ["get"]}


def to(kind: Kind[Any], *verbs: str, part: str = "", names: tuple[str, ...] = ()) -> Right:
    return Right(kind.group, f"{kind.plural}/{part}" if part else kind.plural, verbs, names)


# In every namespace that the operator acts in.
OPERATOR: Final = (
    to(PLANS, *_READ, "patch"),
    to(PLANS, "patch", part="status"),
    to(EXCEPTIONS, *_READ, "patch"),
    to(EXCEPTIONS, "patch", part="status"),
    to(PLAN_REQUESTS, *_READ, "delete"),
    to(PLAN_REQUESTS, "patch", part="status"),
    to(SCALERS, *_READ, "patch"),
    to(SCALERS, "patch", part="status"),
    to(REMEDIATIONS, *_READ),
    to(REMEDIATIONS, "patch", part="status"),
    # An owner that blocks its deletion: some clusters ask for this right where such a reference is written.
    to(REMEDIATIONS, "update", part="finalizers"),
    to(ANALYSES, *_READ, "patch"),
    to(ANALYSES, "patch", part="status"),
    to(APPROVAL_REQUESTS, *_READ, "create", "delete"),
    to(APPROVAL_REQUESTS, "patch", part="status"),
    *(to(kind, *_READ) for kind in (PROVIDERS, CLUSTERS, EXCEPTION_POLICIES)),
    *(to(kind, "patch", part="status") for kind in (PROVIDERS, CLUSTERS, EXCEPTION_POLICIES)),
    to(CONFIG_MAPS, *_READ, "create", "patch", "delete"),
    to(EVENTS, "get", "create", "patch"),
    *(to(kind.api, *_READ, "patch") for kind in BUILT_IN),
    to(HORIZONTAL_POD_AUTOSCALERS, "list", "watch", "patch"),
    to(SCALED_OBJECTS, *_READ, "patch"),
    # Other kinds with a scale subresource need a role of their own, bound to the operator's account.
    Right("argoproj.io", "rollouts", (*_READ, "patch")),
    Right("argoproj.io", "rollouts/scale", ("get", "patch")),
)

# What belongs to no namespace.
OPERATOR_CLUSTER: Final = (
    to(NAMESPACES, *_READ),  # the labels that policies select them by
    to(NODE_POOLS, "get", "list", "patch"),
    to(CUSTOM_RESOURCE_DEFINITIONS, *_READ),
    to(CUSTOM_RESOURCE_DEFINITIONS, "patch", names=(SCALERS.resource,)),
    *(to(kind, *_READ, "create", "patch", names=(WEBHOOKS,)) for kind in (MUTATING, VALIDATING)),
    # Who comes to read the trail or restore data, and whether they may.
    Right("authentication.k8s.io", "tokenreviews", ("create",)),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",)),
)

# In the operator's own namespace. A name cannot restrict who creates: there is none yet when it is checked.
OPERATOR_HOME: Final = (
    to(LEASES, "create"),
    to(LEASES, "get", "patch", names=(LEASE,)),
    to(SECRETS, "create"),
    to(SECRETS, *_READ, "patch", names=(CERTIFICATES, PATHS)),
)

# Where connectors with keys are. Bound to the operator by the owner of such a namespace, nowhere else: it is
# a right to all Secrets of a namespace, and the operator asks only for those that a connector names.
CONNECTOR: Final = (to(SECRETS, "get"),)

# Where notifications are sent from. Bound to the web process by anyone who has such a namespace, and nowhere
# else: it is a right to all Secrets of a namespace, and the process asks only for those that a sink names.
NOTIFIER: Final = (to(SECRETS, "get"), to(CONFIG_MAPS, "get"))

# In every namespace, and nothing of it lets anything sleep or wake by itself.
WEB_PROCESS: Final[tuple[Right | Paths, ...]] = (
    to(EXCEPTIONS, *_READ, "create"),
    to(EXCEPTIONS, "patch", part="status"),
    to(PLAN_REQUESTS, *_READ, "create"),
    to(APPROVAL_REQUESTS, *_READ),
    to(APPROVAL_REQUESTS, "patch", part="status"),
    # What people decide about, and what the dashboard shows.
    *(to(kind, *_READ) for kind in (PLANS, EXCEPTION_POLICIES, SCALERS, REMEDIATIONS, ANALYSES)),
    to(DELIVERIES, *_READ, "create", "delete"),
    to(DELIVERIES, "patch", part="status"),
    # What is sent where. The Secrets of the sinks are for NOTIFIER.
    to(NOTIFICATIONS, *_READ),
    to(NOTIFICATIONS, "patch", part="status"),
    to(SCALERS, *_READ),
    to(NAMESPACES, "get", "list"),  # the labels that policies and notifications select them by
    to(EVENTS, "get", "create", "patch"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",)),
    Paths(trail_api.PATHS),  # the audit trail, at the operator
    to(PLANS, "get", part=RESTORE_DATA),  # at the operator, too: which items sleep, and what they wake to
)

# In its own namespace. Which Leases it may write is for a policy: roles know whole names only.
WEB_HOME: Final = (
    to(LEASES, "list", "create", "delete"),
    to(LEASES, "get", "patch", names=(WEB,)),
    to(CONFIG_MAPS, "get", names=(AUTHORITY,)),  # whom to trust as the operator
)

AUDITOR: Final = tuple(
    to(kind, *_READ)
    for kind in (
        PLANS,
        EXCEPTIONS,
        EXCEPTION_POLICIES,
        SCALERS,
        PROVIDERS,
        CLUSTERS,
        REMEDIATIONS,
        APPROVAL_REQUESTS,
        ANALYSES,
        DELIVERIES,
        PLAN_REQUESTS,
        NOTIFICATIONS,
        EVENTS,
    )
)
REQUESTER: Final = (to(EXCEPTIONS, *_READ, *_WRITE), to(PLANS, *_READ), to(EXCEPTION_POLICIES, *_READ))
EDITOR: Final = (to(SCALERS, *_READ, *_WRITE), to(NOTIFICATIONS, *_READ, *_WRITE))
PLANNER: Final = (
    to(PLANS, *_READ, *_WRITE),
    to(EXCEPTION_POLICIES, *_READ, *_WRITE),
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
    to(EXCEPTION_POLICIES, *_READ),
    to(REMEDIATIONS, *_READ),
    to(ANALYSES, *_READ),
)


def roles() -> tuple[dict[str, Any], ...]:
    """Every ClusterRole; they are the same wherever the operator lives."""
    return (
        _role("operator", OPERATOR),
        _role("operator-cluster", OPERATOR_CLUSTER),
        _role("web", WEB_PROCESS),
        _role("connector", CONNECTOR),
        _role("notifier", NOTIFIER),
        _role("auditor", AUDITOR, part_of="view"),
        _role("requester", REQUESTER, part_of="edit"),
        _role("editor", EDITOR, part_of="edit"),
        _role("planner", PLANNER),
        _role("analyst", ANALYST),
        _role("approver", APPROVER),
    )


def web_grants(home: Home, people: tuple[str, ...] = ("hibernator-roles",)) -> tuple[dict[str, Any], ...]:
    """The same for the web process; `people` are the ConfigMaps that say who they are."""
    account, place = _account(WEB, home), {"namespace": home.namespace}
    at_home = (*WEB_HOME, to(CONFIG_MAPS, *_READ, names=people))
    return (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": WEB} | place},
        _document("Role", WEB, place, rules=_rules(at_home)),
        _binding("RoleBinding", WEB, account, "Role", WEB, place),
        _binding("ClusterRoleBinding", WEB, account, "ClusterRole", WEB),
    )


def _account(name: str, home: Home) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": name, "namespace": home.namespace}


def grants(home: Home) -> tuple[dict[str, Any], ...]:
    """The operator's account with all that it may do, in its own namespace and elsewhere."""
    account = _account(home.service_account, home)
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


def _role(name: str, rights: Iterable[Right | Paths], part_of: str = "") -> dict[str, Any]:
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


def _rules(rights: Iterable[Right | Paths]) -> list[dict[str, Any]]:
    return [right.rule() for right in rights]
