"""A cluster at GKE, which takes the token that Google's other APIs take."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from hibernator.executors.connections import Unusable
from hibernator.executors.gcp.gke import GkePlace
from hibernator.executors.gcp.project import GcpRefusedError
from hibernator.executors.gcp.tokens import Tokens
from hibernator.executors.remote import resolved
from hibernator.kube.execplugin import Grant
from hibernator.kube.kubeconfig import ResolvedContext

_LOOK_AGAIN: Final = 60.0


async def by_gke(at: GkePlace) -> ResolvedContext:
    try:
        found = await at.project.read("container", at.path)
    except GcpRefusedError as error:
        if error.not_found:
            raise Unusable(
                "ClusterNotFound", f"There is no GKE cluster {at.cluster} in {at.location} of {at.home}."
            ) from error
        raise
    endpoint = found.get("endpoint")
    if not endpoint:
        raise Unusable(
            "ClusterNotReady", f"The GKE cluster {at.cluster} is {found.get('status')}; it has no address."
        )
    authority = (found.get("masterAuth") or {}).get("clusterCaCertificate", "")
    return resolved(at.cluster, f"https://{endpoint}", authority)


@dataclass(slots=True, eq=False)
class GkeGrants:
    """Tokens for a cluster at Google."""

    tokens: Tokens
    _last: str = field(default="", repr=False)
    _until: float = 0.0

    def valid(self) -> bool:
        return asyncio.get_running_loop().time() < self._until

    async def grant(self, *, afresh: bool = False) -> Grant:
        self._last = await self.tokens.get(refused=self._last if afresh else "")
        self._until = asyncio.get_running_loop().time() + _LOOK_AGAIN
        return Grant(token=self._last)
