"""Mutating and validating webhooks on the real API server: what a small function says, a user reads."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any

import pytest
from whenever import Instant

from admission.serving import KEY, LOCAL, serving
from hibernator.admission.certificates import first
from hibernator.admission.review import AdmissionRequest, Allowed, Denied, Verdict, admission
from hibernator.api.core import ConfigMap
from hibernator.controlplane.cluster import KubectlError
from support.cluster import ClusterInTest

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"


async def _stamp(request: AdmissionRequest) -> Verdict:
    return Allowed(patch=[{"op": "add", "path": "/data/by", "value": request.user_info.username}])


async def _judge(request: AdmissionRequest) -> Verdict:
    if request.operation == "DELETE":
        return Denied(f"{request.name} stays: {request.old(ConfigMap).data['by']} made it.")
    if request.new(ConfigMap).data.get("colour") == "beige":
        raise RuntimeError("nobody foresaw beige")
    return Allowed(warnings=[f"{request.user_info.username} did {request.operation} {request.name}."])


def _configuration(kind: str, name: str, namespace: str, url: str, bundle: bytes) -> dict[str, Any]:
    path = KEY.path(f"/{kind}")
    webhook = {
        "name": f"{kind}.kyklos.test",
        "clientConfig": {"url": f"{url}{path}", "caBundle": b64encode(bundle).decode()},
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["configmaps"],
                "operations": ["CREATE", "DELETE"] if kind == "validating" else ["CREATE"],
            }
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 5,
    }
    return {"metadata": {"name": name}, "webhooks": [webhook]}


@pytest.fixture
async def guarded(cluster: ClusterInTest, namespace: str) -> AsyncIterator[str]:
    """A namespace whose ConfigMaps are stamped and judged."""
    ring = first(LOCAL, Instant.now())
    handlers = {"/mutating": admission(_stamp), "/validating": admission(_judge)}
    paths = {kind: _CONFIGURATIONS.format(kind) for kind in ("mutating", "validating")}
    async with serving(handlers, ring) as server:
        url = f"https://127.0.0.1:{server.port}"
        for kind, path in paths.items():
            cluster.request("POST", path, _configuration(kind, namespace, namespace, url, ring.bundle))
        async with asyncio.timeout(60):  # registrations take a moment to be heard of
            while "did CREATE probe" not in await kubectl(
                cluster,
                "create",
                "configmap",
                "probe",
                "--from-literal=a=b",
                "-n",
                namespace,
                "--dry-run=server",
            ):
                pass
        yield namespace
        for path in paths.values():
            cluster.request("DELETE", f"{path}/{namespace}")


async def kubectl(cluster: ClusterInTest, *arguments: str) -> str:
    """Everything that kubectl writes; in a thread, because the API server calls us meanwhile."""
    done = await asyncio.to_thread(cluster.kubectl, *arguments)
    return done.stdout + done.stderr


async def test_a_user_sees_what_was_added_what_was_warned_of_and_why_not(
    cluster: ClusterInTest, guarded: str
) -> None:
    created = await kubectl(
        cluster, "create", "configmap", "settings", "--from-literal=colour=red", "-n", guarded
    )
    assert "Warning: hibernator-admin did CREATE settings." in created
    stamped = await kubectl(cluster, "get", "configmap/settings", "-n", guarded, "-o", "jsonpath={.data}")
    assert stamped == '{"by":"hibernator-admin","colour":"red"}'
    with pytest.raises(KubectlError, match=r"settings stays: hibernator-admin made it\."):
        await kubectl(cluster, "delete", "configmap/settings", "-n", guarded)


async def test_a_webhook_that_fails_leaves_it_to_its_failure_policy(
    cluster: ClusterInTest, guarded: str
) -> None:
    with pytest.raises(KubectlError, match="failed calling webhook"):
        await kubectl(
            cluster, "create", "configmap", "settings", "--from-literal=colour=beige", "-n", guarded
        )
