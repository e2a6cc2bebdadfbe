"""Who I am to the cluster: asked of the API server, because no kubeconfig knows it for sure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.approvals.people import Directory, addresses, own_groups
from hibernator.decisions.approval import Person
from hibernator.kube.client import Client


class _UserInfo(Model):
    username: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)


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


async def who_am_i(client: Client, directory: Directory) -> Person:
    """The same, with what else is known of them that a role or an address may go by."""
    found = (await client.create(_REVIEWS, {})).status.user_info
    return directory.person(found.username, own_groups(found.groups), addresses(found.extra))
