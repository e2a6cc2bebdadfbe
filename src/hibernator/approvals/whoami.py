"""Who I am to the cluster: asked of the API server, because no kubeconfig knows it for sure."""

from typing import Final

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.kube.client import Client

MOST_GROUPS: Final = 64


class _UserInfo(Model):
    username: str = ""
    groups: tuple[str, ...] = ()


class _Status(Model):
    user_info: _UserInfo = _UserInfo()


class SelfSubjectReview(Object):
    status: _Status = _Status()


_REVIEWS: Final = Kind(
    SelfSubjectReview,
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    namespaced=False,
)


async def whoami(client: Client) -> str:
    """The user name under which the API server knows the one who asks."""
    return (await client.create(_REVIEWS, {})).status.user_info.username


async def who_am_i(client: Client) -> tuple[str, tuple[str, ...]]:
    """The same, with the groups that a role may name; those of Kubernetes itself are everybody's."""
    found = (await client.create(_REVIEWS, {})).status.user_info
    own = [group for group in found.groups if not group.startswith("system:")]
    return found.username, tuple(own[:MOST_GROUPS])
