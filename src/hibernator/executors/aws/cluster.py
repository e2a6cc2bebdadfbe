"""A cluster at EKS, entered as its own tools do it.

EKS takes a signed question to AWS about who is asking, which it asks in our name.
"""

import asyncio
import base64
from dataclasses import dataclass
from typing import Final

from hibernator.executors.aws.account import AwsAccount, AwsRefusedError
from hibernator.executors.connections import Unusable
from hibernator.executors.remote import resolved
from hibernator.kube.execplugin import Grant
from hibernator.kube.kubeconfig import ResolvedContext

_TOKEN_SECONDS: Final = 600.0  # EKS takes a token for fifteen minutes
_SIGNED_SECONDS: Final = 60


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
    return resolved(name, endpoint, (found.get("certificateAuthority") or {}).get("data", ""))


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


async def eks_token(account: AwsAccount, cluster: str) -> str:
    """A question to AWS, signed for one cluster, as `aws eks get-token` makes it."""
    server = account.endpoint or f"https://sts.{account.region}.amazonaws.com"
    question = {"Action": "GetCallerIdentity", "Version": "2011-06-15"}
    url = await account.signed(f"{server.rstrip('/')}/", question, {"x-k8s-aws-id": cluster}, _SIGNED_SECONDS)
    packed = base64.urlsafe_b64encode(url.encode()).rstrip(b"=")
    return f"k8s-aws-v1.{packed.decode()}"
