"""The ExceptionPolicies that may be about a namespace: its own, and those of the operator's namespace."""

from collections.abc import Mapping
from typing import Final

from hibernator.api.core import NAMESPACES
from hibernator.api.exceptionpolicy import EXCEPTION_POLICIES, ExceptionPolicy
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.client import Client
from hibernator.kube.errors import Conflict
from hibernator.kube.together import together

BY_NAMESPACE: Final = "namespace"


class PolicyCaches:
    """What the caches know of policies."""

    def __init__(self, caches: Caches, home: str) -> None:
        self.home = home
        self._near: Cache[ExceptionPolicy] = caches.of(EXCEPTION_POLICIES)
        self._far = self._near if not caches.namespace else caches.of(EXCEPTION_POLICIES, home)
        for cache in self.caches:
            cache.index(BY_NAMESPACE, lambda one: (one.metadata.namespace,))

    @property
    def caches(self) -> tuple[Cache[ExceptionPolicy], ...]:
        return (self._near,) if self._near is self._far else (self._near, self._far)

    def of(self, namespace: str) -> tuple[ExceptionPolicy, ...]:
        """Those that may be about plans of a namespace, in no order."""
        near = self._near.find(BY_NAMESPACE, namespace)
        if namespace == self.home:
            return near
        return (*near, *(one for one in self._far.find(BY_NAMESPACE, self.home) if is_for_all(one)))


class Policies(PolicyCaches):
    """The same with the labels of namespaces, for those who decide."""

    def __init__(self, caches: Caches, home: str) -> None:
        super().__init__(caches, home)
        self.namespaces = caches.of(NAMESPACES)

    def labels(self, namespace: str) -> Mapping[str, str]:
        found = self.namespaces.get("", namespace)
        return found.metadata.labels if found else {}

    def is_for_others(self, policy: ExceptionPolicy) -> bool:
        """Whether a policy may be about plans of other namespaces than its own."""
        return policy.metadata.namespace == self.home and is_for_all(policy)

    async def read_again(
        self,
        client: Client,
        namespace: str,
        seen: tuple[ExceptionPolicy, ...],
        labels: Mapping[str, str],
    ) -> None:
        """Raise a conflict unless the API server has the policies that a decision was taken by.

        A cache may be behind. What is let through is not stopped by a policy that is seen a moment later, nor
        by the labels of a namespace that was not there yet.
        """
        checks = [self._read_policies(client, namespace, seen)]
        if any(map(self.is_for_others, seen)):
            checks.append(_read_labels(client, namespace, labels))
        await together(checks)

    async def _read_policies(self, client: Client, namespace: str, seen: tuple[ExceptionPolicy, ...]) -> None:
        """By lists that are the truth of this moment.

        They take as long as any request, unless others asked for such a list less than a tenth of a second
        ago: no sooner does the API server ask etcd again whether its own cache is as new.
        """
        places = {namespace, self.home}
        found = await together([client.list(EXCEPTION_POLICIES, place) for place in places])
        fresh = (
            one
            for policies in found
            for one in policies
            if one.metadata.namespace == namespace or is_for_all(one)
        )
        if {*map(_version, fresh)} != {*map(_version, seen)}:
            raise Conflict("the ExceptionPolicies have changed since they were read")


async def _read_labels(client: Client, namespace: str, labels: Mapping[str, str]) -> None:
    there = await client.get(NAMESPACES, namespace)
    if there.metadata.labels != labels:
        raise Conflict(f"the labels of the namespace {namespace} have changed since they were read")


def is_for_all(policy: ExceptionPolicy) -> bool:
    return policy.spec.namespace_selector is not None


def _version(policy: ExceptionPolicy) -> tuple[str, int]:
    return policy.metadata.uid, policy.metadata.generation
