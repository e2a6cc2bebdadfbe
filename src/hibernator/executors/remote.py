"""Other clusters: from a K8SCluster, and what its cloud says about it, to a client."""

from dataclasses import dataclass, field
from typing import Final

from hibernator.executors.accounts import Account
from hibernator.executors.connections import Unusable
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials, Grants
from hibernator.kube.errors import BadCredentials
from hibernator.kube.kubeconfig import Cluster, ResolvedContext, User, loads
from hibernator.kube.transport import Fence

_LARGEST: Final = 16 * 2**20  # bytes of an answer: a page of 500 workloads has one or two millions


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Everything that a client for a cluster is made of."""

    place: ResolvedContext = field(repr=False)  # may hold a token
    cloud: Account | None = None  # that lets us in
    grants: Grants | None = field(default=None, compare=False)  # new each time, though it be the same way


class RemoteCluster:
    """A client that is open, and can be closed."""

    def __init__(self, client: Client, opened: Client | None) -> None:
        self.client = client
        self._opened = opened

    async def close(self) -> None:
        if self._opened:
            await self._opened.__aexit__(None, None, None)


async def enter(access: ClusterAccess, fence: Fence | None) -> RemoteCluster:
    """Open a client, whose changes are fenced as those in our own cluster are."""
    try:
        opened = Client(Credentials(access.place, grants=access.grants), largest=_LARGEST)
    except BadCredentials as error:
        raise Unusable("CredentialsUnusable", f"{error.message}.") from error
    await opened.__aenter__()
    return RemoteCluster(opened.fenced(fence) if fence else opened, opened)


def by_kubeconfig(text: bytes, origin: str) -> ResolvedContext:
    try:
        return loads(text.decode(), origin)
    except UnicodeDecodeError as error:
        raise Unusable("CredentialsUnusable", f"{origin} is not text.") from error
    except BadCredentials as error:
        raise Unusable("CredentialsUnusable", f"{error.message}.") from error


def resolved(name: str, server: str, authority: str) -> ResolvedContext:
    cluster = Cluster(server=server, certificate_authority_data=authority)
    return ResolvedContext(context=name, cluster=cluster, user=User(), namespace="default")
