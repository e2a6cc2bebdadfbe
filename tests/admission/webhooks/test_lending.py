"""Connectors of other namespaces: refused at the door, and said by a cluster that stands on one."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from hibernator.admission.review import admission
from hibernator.admission.webhooks.validation import validation
from hibernator.executors.connections import Unusable
from hibernator.executors.connectors import Connectors
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.plan_scenes import noop, plan

AWS = {"accountId": "123456789012", "region": "eu-central-1", "auth": {"serviceAccount": {}}}


@pytest.fixture
async def client(crds: ClusterInTest) -> AsyncIterator[Client]:
    async with Client(find(str(crds.kubeconfig))) as made:
        yield made


@pytest.fixture
def lender(crds: ClusterInTest) -> str:
    """The namespace of a CloudProvider that lends itself to no other."""
    namespace = crds.create_namespace()
    create(crds, namespace, "CloudProvider", "prod", {"type": "aws", "aws": AWS})
    return namespace


def create(cluster: ClusterInTest, namespace: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    made = {"apiVersion": "hibernator.ardikabs.com/v1alpha1", "kind": kind, "metadata": {"name": name}}
    cluster.request("POST", _path(namespace, f"{kind.lower()}s"), made | {"spec": spec})


def lend(cluster: ClusterInTest, lender: str, to: str) -> None:
    path = f"{_path(lender, 'cloudproviders')}/prod"
    found = cluster.request("GET", path)
    found["spec"]["allowedNamespaces"] = [to]
    cluster.request("PUT", path, found)


def _path(namespace: str, plural: str) -> str:
    return f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{namespace}/{plural}"


async def answer(client: Client, document: dict[str, Any]) -> dict[str, Any]:
    request = {
        "uid": "1",
        "operation": "CREATE",
        "resource": {"group": "hibernator.ardikabs.com", "version": "v1alpha1", "resource": "hibernateplans"},
        "userInfo": {"username": "alice"},
        "object": document,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    judge = validation(client, ManualClock(), lambda *_plan: ())
    found: dict[str, Any] = json.loads(await admission(judge)(json.dumps(review).encode()))["response"]
    return found


async def test_a_plan_is_refused_until_the_connector_that_it_names_is_lent(
    crds: ClusterInTest, client: Client, namespace: str, lender: str
) -> None:
    for name in ("prod", "none"):  # whether there is one is not said
        reference = {"kind": "CloudProvider", "name": name, "namespace": lender}
        document = plan({**noop("nodes"), "connectorRef": reference})
        document["metadata"]["namespace"] = namespace
        refused = await answer(client, document)
        said = (
            f"there is no CloudProvider {name} in the namespace {lender} that the namespace {namespace} may"
        )
        assert (refused["allowed"], said in refused["status"]["message"]) == (False, True)
    lend(crds, lender, namespace)
    document["spec"]["targets"][0]["connectorRef"]["name"] = "prod"
    assert (await answer(client, document))["allowed"] is True


async def test_a_cluster_says_that_its_provider_is_not_lent_to_it(
    crds: ClusterInTest, client: Client, namespace: str, lender: str
) -> None:
    reference = {"name": "prod", "namespace": lender}
    spec = {"eks": {"name": "live", "region": "eu-central-1", "providerRef": reference}}
    create(crds, namespace, "K8SCluster", "live", spec)
    async with aiohttp.ClientSession() as session, Connectors(client, session) as connectors:
        with pytest.raises(Unusable, match=f"Add {namespace} to spec.allowedNamespaces") as refused:
            await connectors.check_cluster(namespace, "live")
    assert refused.value.reason == "NotAllowed"
