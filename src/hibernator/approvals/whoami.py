"""Who I am to the cluster: asked of the API server, because no kubeconfig knows it for sure."""

from typing import Final

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.kube.client import Client


class _UserInfo(Model):
    username: str = ""


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
