"""Connectors: who may use one, what its Ready condition says after a try, and when it is tried again.

A connector lends credentials, to its own namespace and to those that it names. Otherwise, who may write plans
in one namespace could stop the databases of another. A plan that may not use one does not go to sleep; what
sleeps is woken all the same, so that nothing sleeps on because a permission was withdrawn.

Who repairs a connector looks at it meanwhile, so that one which has just failed is tried again within
seconds, and then less and less often: each pause is as long as it has been failing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from msgspec.structs import replace
from whenever import Instant

from hibernator.api.cloudprovider import PROVIDERS, CloudProvider
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.k8scluster import K8SCluster
from hibernator.api.meta import Condition, ConnectorStatus, ProviderReference, Stray
from hibernator.api.problem import Problem
from hibernator.decisions.conditions import ConditionState, Notice, find
from hibernator.decisions.readiness import READY, is_news, ready_status

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
    """What is wrong, and the fix. It does not reveal whether the connector exists."""
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


EVERY: Final = 600.0  # seconds between two tries of what works
SOONEST: Final = 5.0  # and after the first failure
SOONER: Final = 120.0  # the longest pause of what does not work
OF_SECRETS: Final = 30.0  # and of what waits for a Secret, which only our own API server is asked for

Reason = Literal[
    "Verified",
    "CloudProviderNotFound",
    "ClusterNotFound",
    "ClusterNotReady",
    "CredentialsRefused",
    "CredentialsUnusable",
    "EndpointInvalid",
    "EndpointNotTrusted",
    "K8SClusterNotFound",
    "NotAllowed",
    "Refused",
    "SecretForbidden",
    "SecretIncomplete",
    "SecretNotFound",
    "Unreachable",
    "WrongAccount",
    "WrongType",
]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of it."""

    reason: Reason
    message: str

    @property
    def works(self) -> bool:
        return self.reason == "Verified"


_SECRETS: Final[frozenset[Reason]] = frozenset({"SecretForbidden", "SecretIncomplete", "SecretNotFound"})


Lent = TypeVar("Lent", bound=CloudProvider | K8SCluster)


@dataclass(frozen=True, slots=True)
class Seen(Generic[Lent]):
    """All that the decision may look at."""

    found: Lent
    tried: Tried
    strays: tuple[Stray, ...] | None = None  # None while they are not known
    recorded: frozenset[int] = frozenset()  # what of the journal the audit trail has
    jitter: float = 1.0  # around 1: spreads the tries of many connectors


@dataclass(frozen=True, slots=True)
class Decision:
    status: ConnectorStatus
    notices: tuple[Notice[Reason], ...]
    after: float


def decide(seen: Seen[Any], now: Instant) -> Decision:
    before: ConnectorStatus = seen.found.status
    if seen.strays is not None:
        before = replace(before, strays=seen.strays)
    tried = seen.tried
    verdict = ConditionState(READY, tried.works, tried.reason, tried.message)
    notice: Notice[Reason] = Notice("Normal" if tried.works else "Warning", tried.reason, tried.message)
    return Decision(
        status=ready_status(before, seen.found.metadata, verdict, seen.recorded, now),
        notices=(notice,) if is_news(before.conditions, verdict) else (),
        after=_pause(find(before.conditions, READY), tried, now) * seen.jitter,
    )


def _pause(was: Condition | None, tried: Tried, now: Instant) -> float:
    if tried.works:
        return EVERY
    if was is None or was.status != "False":
        return SOONEST
    failing = (now - Instant(was.last_transition_time)).total("seconds")
    return max(SOONEST, min(failing, OF_SECRETS if tried.reason in _SECRETS else SOONER))
