"""Kubeconfig files, and the question who one is once one is in."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials


class UserInfo(Model):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


class SelfSubjectReviewStatus(Model):
    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Object):
    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


_REVIEWS = Kind(
    SelfSubjectReview,
    "authentication.k8s.io",
    "v1",
    "SelfSubjectReview",
    "selfsubjectreviews",
    namespaced=False,
)


async def ask_who_i_am(client: Client) -> UserInfo:
    """What the API server takes the client for."""
    return (await client.create(_REVIEWS, {})).status.user_info


async def who_am_i(credentials: Credentials) -> UserInfo:
    async with Client(credentials) as client:
        return await ask_who_i_am(client)


def write_kubeconfig(
    path: Path, *, cluster: Mapping[str, Any], user: Mapping[str, Any], namespace: str = ""
) -> Path:
    """A file with one context."""
    context = {"cluster": "c", "user": "u"} | ({"namespace": namespace} if namespace else {})
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    return path
