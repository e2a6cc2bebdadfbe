"""Other clusters: from a K8SCluster, and what its cloud says about it, to a client.

Clusters at a cloud are entered as their own tools do it. EKS takes a signed question to AWS about who is
asking, which it asks in our name; GKE takes the token that Google's other APIs take.
"""

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Final

from hibernator.executors.aws.account import AwsAccount, AwsRefusedError
from hibernator.executors.connections import Unusable
from hibernator.executors.gcp.gke import GkePlace
from hibernator.executors.gcp.project import GcpProject, GcpRefusedError
from hibernator.executors.gcp.tokens import Tokens
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials, Grants
from hibernator.kube.errors import BadCredentials
from hibernator.kube.execplugin import Grant
from hibernator.kube.kubeconfig import Cluster, ResolvedContext, User, loads
from hibernator.kube.transport import Fence

_TOKEN_SECONDS: Final = 600.0  # EKS takes a token for fifteen minutes
_SIGNED_SECONDS: Final = 60
_LOOK_AGAIN: Final = 60.0


@dataclass(frozen=True, slots=True)
class Way:
    """Everything that a client for a cluster is made of."""

    place: ResolvedContext = field(repr=False)  # may hold a token
    cloud: AwsAccount | GcpProject | None = None  # that lets us in
    grants: Grants | None = field(default=None, compare=False)  # new each time, though it be the same way


class Remote:
    """A client that is open, and can be closed."""

    def __init__(self, client: Client, opened: Client | None) -> None:
        self.client = client
        self._opened = opened

    async def close(self) -> None:
        if self._opened:
            await self._opened.__aexit__(None, None, None)


async def enter(way: Way, fence: Fence | None) -> Remote:
    """Open a client, whose changes are fenced as those in our own cluster are."""
    try:
        opened = Client(Credentials(way.place, grants=way.grants))
    except BadCredentials as error:
        raise Unusable("CredentialsUnusable", f"{error.message}.") from error
    await opened.__aenter__()
    return Remote(opened.fenced(fence) if fence else opened, opened)


def by_kubeconfig(text: bytes, told: str) -> ResolvedContext:
    try:
        return loads(text.decode(), told)
    except UnicodeDecodeError as error:
        raise Unusable("CredentialsUnusable", f"{told} is not text.") from error
    except BadCredentials as error:
        raise Unusable("CredentialsUnusable", f"{error.message}.") from error


async def by_eks(account: AwsAccount, name: str) -> ResolvedContext:
    try:
        found = (await account.read("eks", "describe_cluster", name=name))["cluster"]
    except AwsRefusedError as error:
        if error.code == "ResourceNotFoundException":
            raise Unusable(
                "ClusterNotFound", f"There is no EKS cluster {name} in {account.region}."
            ) from error
        raise
    endpoint = found.get("endpoint")
    if not endpoint:
        raise Unusable(
            "ClusterNotReady", f"The EKS cluster {name} is {found.get('status')}; it has no address yet."
        )
    return _place(name, endpoint, (found.get("certificateAuthority") or {}).get("data", ""))


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
    return _place(at.cluster, f"https://{endpoint}", authority)


def _place(name: str, server: str, authority: str) -> ResolvedContext:
    cluster = Cluster(server=server, certificate_authority_data=authority)
    return ResolvedContext(context=name, cluster=cluster, user=User(), namespace="default")


@dataclass(slots=True, eq=False)
class EksGrants:
    """Tokens for a cluster at AWS."""

    account: AwsAccount
    cluster: str
    _until: float = 0.0

    def valid(self) -> bool:
        return asyncio.get_running_loop().time() < self._until

    async def grant(self, *, afresh: bool = False) -> Grant:
        del afresh  # each one is new
        token = await eks_token(self.account, self.cluster)
        self._until = asyncio.get_running_loop().time() + _TOKEN_SECONDS
        return Grant(token=token)


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


async def eks_token(account: AwsAccount, cluster: str) -> str:
    """A question to AWS, signed for one cluster, as `aws eks get-token` makes it."""
    server = account.endpoint or f"https://sts.{account.region}.amazonaws.com"
    question = {"Action": "GetCallerIdentity", "Version": "2011-06-15"}
    url = await account.signed(f"{server.rstrip('/')}/", question, {"x-k8s-aws-id": cluster}, _SIGNED_SECONDS)
    packed = base64.urlsafe_b64encode(url.encode()).rstrip(b"=")
    return f"k8s-aws-v1.{packed.decode()}"
