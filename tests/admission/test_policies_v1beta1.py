"""The policy that lets nothing of v1beta1 get lost while nobody converts, on the real API server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from admission.replicas import Scalers, scaler
from admission.scalers import measured, window
from hibernator.admission.policies_v1beta1 import policies
from hibernator.admission.registration import DEFINITIONS
from hibernator.kube.client import Client
from hibernator.kube.errors import ApiError, Invalid
from support.cluster import ClusterInTest

_REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
_PATHS = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
REFUSAL = "can be stored only while the operator converts them: run the operator with webhooks"
LOSSES: list[dict[str, Any]] = [
    {"windows": [window(replicas="50%")]},
    {"windows": [window(replicas=1), window(replicas=1, timezone="Asia/Tokyo")]},
    {"windows": [window(external=measured())]},
    {"windows": [window(replicas=1)], "defaultReplicas": "10%"},
]


@pytest.fixture(scope="module")
async def guarded(cluster: ClusterInTest, client: Client, scalers: Scalers) -> AsyncIterator[Scalers]:
    name = f"guard-{scalers.group}"
    for path, document in zip(_PATHS, policies(scalers.beta, name), strict=True):
        cluster.request("POST", f"{_REGISTRATION}/{path}", document)
    home = cluster.create_namespace()
    probe = scaler("probe", **LOSSES[0])
    async with asyncio.timeout(60):  # policies take a moment to be heard of
        while True:
            try:
                await client.create(scalers.beta, probe, home)
                await client.delete(scalers.beta, "probe", home)
            except ApiError as error:
                if REFUSAL in error.message:
                    break
    yield scalers
    for path in _PATHS:
        cluster.request("DELETE", f"{_REGISTRATION}/{path}/{name}")
    cluster.request("DELETE", f"/api/v1/namespaces/{home}")


@pytest.mark.parametrize("fields", LOSSES)
async def test_what_v1alpha1_cannot_say_is_refused_while_no_one_converts(
    client: Client, guarded: Scalers, namespace: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(Invalid, match=REFUSAL):
        await client.create(guarded.beta, scaler("db", **fields), namespace)
    await client.create(guarded.beta, scaler("db", window(replicas=1)), namespace)
    with pytest.raises(Invalid, match=REFUSAL):
        await client.patch(guarded.beta, "db", namespace, {"spec": fields}, resource_version=None)


async def test_what_v1alpha1_can_say_may_be_written_in_either_version(
    client: Client, guarded: Scalers, namespace: str
) -> None:
    await client.create(guarded.alpha, scaler("old", window(replicas=1)), namespace)
    await client.create(guarded.beta, scaler("new", window(replicas=1), defaultReplicas=2), namespace)
    for name in ("old", "new"):
        paused = await client.patch(
            guarded.beta, name, namespace, {"spec": {"pause": True}}, resource_version=None
        )
        assert paused.spec.pause
        assert (await client.get(guarded.alpha, name, namespace)).spec.windows[0].replicas == 1


async def test_everything_may_be_written_as_soon_as_someone_converts(
    client: Client, guarded: Scalers, namespace: str
) -> None:
    # Nobody answers there; the policy has said yes when the API server gets as far as to ask.
    conversion = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/convert"},
        },
    }
    patch = {"spec": {"conversion": conversion}}
    await client.patch(DEFINITIONS, guarded.definition, "", patch, resource_version=None)
    async with asyncio.timeout(60):
        while True:
            try:
                await client.create(guarded.beta, scaler("db", **LOSSES[0]), namespace)
            except Invalid:
                continue
            except ApiError as error:
                refused = error.message
                break
    assert "conversion webhook" in refused
    assert "connection refused" in refused
    undo = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    await client.patch(DEFINITIONS, guarded.definition, "", undo, resource_version=None)
