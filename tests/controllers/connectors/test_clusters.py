"""K8SClusters: entered in every way there is, and workloads asleep behind them."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from hibernator.api.core import CONFIG_MAPS
from hibernator.executors.connections import Unusable
from hibernator.executors.connectors import Connectors
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.kube.election import NotLeadingError
from support.account import operator_kubeconfig
from support.aws import REGION, AwsInTest
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.connector_scenes import ConnectorScene
from support.eks_door import EksDoor
from support.faultproxy import FaultProxy, admin_token
from support.gcp import PROJECT, Google
from support.plan_scenes import EVENING, MORNING, mark, plan, workloads
from support.scaler_scenes import workload

ROLE = "arn:aws:iam::123456789012:role/eks"


def of(scene: ConnectorScene) -> Any:
    return scene.ready("k8sclusters", "there")


def remote(scene: ConnectorScene, name: str = "web") -> dict[str, Any]:
    target = workloads(name, scene.namespace)
    return target | {"connectorRef": {"kind": "K8SCluster", "name": "there"}}


async def test_the_own_cluster_can_be_named_too(scene: ConnectorScene) -> None:
    scene.k8s_cluster("there", inCluster=True)
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[0] == "True")
        assert of(scene)[1] == "Verified"
        assert of(scene)[2].startswith("Kubernetes v1.")


async def test_a_connector_that_is_not_lent_puts_nothing_to_sleep(scene: ConnectorScene) -> None:
    scene.cluster.kubectl("create", "namespace", f"{scene.namespace}-owner")
    owner = ConnectorScene(scene.cluster, f"{scene.namespace}-owner")
    owner.k8s_cluster("there", inCluster=True)
    there = {"kind": "K8SCluster", "name": "there", "namespace": owner.namespace}
    target = workloads("web", scene.namespace) | {"connectorRef": there}
    scene.create(workload(name="web", replicas=3), plan(target))
    async with scene.operator(ManualClock("2026-03-02T19:00:00Z")) as run:
        await run.advance_to(EVENING)
        assert (scene.phase(), scene.replicas()) == ("Error", 3)
    conditions = {one["type"]: one["message"] for one in scene.plan_status()["conditions"]}
    assert f"that the namespace {scene.namespace} may use. Add {scene.namespace} to" in conditions["Degraded"]


async def test_workloads_behind_a_kubeconfig_sleep_and_wake(scene: ConnectorScene) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig())
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    scene.create(workload(name="web", replicas=3), plan(remote(scene)))
    before = scene.workloads()
    async with scene.operator(ManualClock("2026-03-02T19:00:00Z")) as run:
        await run.until(lambda: of(scene)[0] == "True")
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert scene.replicas() == 0
        await run.advance_to(MORNING)
        await run.until(lambda: scene.phase() == "Active")
    assert scene.workloads() == before


async def test_a_cluster_that_does_not_answer_hides_the_strays_of_nobody_else(
    scene: ConnectorScene,
) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig().replace(scene.cluster.url, "https://127.0.0.1:1"))
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    away = plan(remote(scene), name="away")
    scene.create(workload(name="web", replicas=3), plan(workloads("shop", scene.namespace)), away)
    mark(scene)
    async with scene.operator(ManualClock("2026-03-02T12:00:00Z")) as run:
        await run.until(lambda: scene.replicas() == 3)


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh"}}, "has exec"),
        ({"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}, "has tokenFile"),
    ],
)
async def test_a_kubeconfig_that_names_programs_or_files_is_refused(
    scene: ConnectorScene, user: dict[str, Any], words: str
) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig(**user))
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "CredentialsUnusable")
        assert words in of(scene)[2]


async def test_what_is_wrong_with_a_kubeconfig_is_told_without_what_is_in_it(scene: ConnectorScene) -> None:
    scene.secret("kube", config="users: [\n  very-secret: {")
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "SecretIncomplete")
        assert of(scene)[2] == "The Secret kube has no kubeconfig; add it."
        patch = json.dumps({"spec": {"kubeconfigRef": {"name": "kube", "key": "config"}}})
        name = ("k8scluster", "there", "-n", scene.namespace)
        await asyncio.to_thread(scene.cluster.kubectl, "patch", *name, "--type=merge", "-p", patch)
        await run.until(lambda: of(scene)[1] == "CredentialsUnusable")
        assert "config of the Secret kube is not a kubeconfig" in of(scene)[2]
        assert "very-secret" not in of(scene)[2]


async def test_a_token_that_the_cluster_refuses(scene: ConnectorScene) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig(token="nobody"))
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "CredentialsRefused")


async def test_a_cluster_at_google_is_entered_with_googles_token(
    scene: ConnectorScene, google: Google
) -> None:
    scene.secret("google", **{"key.json": google.key_file()})
    scene.gcp_provider(google)
    google.clusters["prod"] = {
        "name": "prod",
        "endpoint": scene.cluster.url.removeprefix("https://"),
        "masterAuth": {"clusterCaCertificate": scene.authority()},
    }
    google.next_token = admin_token(scene.cluster)
    where = {"name": "prod", "project": PROJECT, "location": "europe-west3"}
    scene.k8s_cluster("there", gke=where | {"providerRef": {"name": "dev"}})
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[0] == "True")
        await asyncio.to_thread(
            scene.k8s_cluster, "gone", gke=where | {"name": "gone", "providerRef": {"name": "dev"}}
        )
        await run.until(lambda: scene.ready("k8sclusters", "gone")[1] == "ClusterNotFound")


async def test_a_cluster_at_aws_is_entered_with_a_signed_question(
    scene: ConnectorScene, aws: AwsInTest, proxy: FaultProxy
) -> None:
    door = EksDoor(aws.proxy.url, "staging", admin_token(scene.cluster))
    proxy.next(action=door, times=1_000)
    _staging(aws, credentials.find(str(proxy.kubeconfig)).server, scene.authority())
    scene.keys()
    scene.aws_provider(aws)
    scene.k8s_cluster("there", eks={"name": "staging", "region": REGION, "providerRef": {"name": "dev"}})
    scene.create(workload(name="web", replicas=2), plan(remote(scene)))
    async with scene.operator(ManualClock("2026-03-02T19:00:00Z")) as run:
        await run.until(lambda: of(scene)[0] == "True")
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert scene.replicas() == 0
    assert door.entered
    assert all(who.startswith("test/") for who in door.entered)


def _staging(aws: AwsInTest, url: str, authority: str) -> None:
    aws.boto("eks").create_cluster(
        name="staging", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]}
    )
    aws.proxy.rewrite = lambda action, body: (
        _rewritten(body, url, authority) if action == "DescribeCluster" else body
    )


def _rewritten(body: bytes, url: str, authority: str) -> bytes:
    """Moto makes up an address; here somebody answers."""
    document = json.loads(body)
    document["cluster"] |= {"endpoint": url, "certificateAuthority": {"data": authority}}
    return json.dumps(document).encode()


async def test_a_cluster_is_tried_again_when_its_provider_comes(
    scene: ConnectorScene, aws: AwsInTest
) -> None:
    scene.keys()
    scene.k8s_cluster("there", eks={"name": "nowhere", "region": REGION, "providerRef": {"name": "dev"}})
    async with scene.operator() as run:
        await run.until(lambda: of(scene)[1] == "CloudProviderNotFound")
        await asyncio.to_thread(scene.aws_provider, aws)
        await run.until(lambda: of(scene)[1] == "ClusterNotFound")
        assert of(scene)[2] == f"There is no EKS cluster nowhere in {REGION}."


async def test_a_secret_that_may_not_be_read_says_which_role_to_bind(
    crds: ClusterInTest, namespace: str
) -> None:
    own = operator_kubeconfig(crds.kubeconfig)
    scene = ConnectorScene.__new__(ConnectorScene)
    scene.cluster, scene.namespace = crds, namespace  # without the role
    scene.secret("kube", kubeconfig=scene.kubeconfig())
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    async with (
        Client(credentials.find(str(own))) as client,
        aiohttp.ClientSession() as session,
        Connectors(client, session) as connectors,
    ):
        with pytest.raises(Unusable, match="Bind the ClusterRole hibernator-connector") as caught:
            await connectors.check_cluster(namespace, "there")
        assert caught.value.reason == "SecretForbidden"


async def test_without_the_lease_nothing_is_changed_in_other_clusters(scene: ConnectorScene) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig())
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})

    def fence() -> float:
        raise NotLeadingError

    own = operator_kubeconfig(scene.cluster.kubeconfig)
    async with (
        Client(credentials.find(str(own))) as client,
        aiohttp.ClientSession() as session,
        Connectors(client, session, fence=fence) as connectors,
    ):
        there = (await connectors.cluster(scene.namespace, "there")).client
        assert (await connectors.cluster(scene.namespace, "there")).client is there
        assert await there.version()
        with pytest.raises(NotLeadingError):
            await there.create(CONFIG_MAPS, {"metadata": {"name": "x", "namespace": scene.namespace}})


async def test_a_changed_secret_opens_the_cluster_anew(scene: ConnectorScene) -> None:
    scene.secret("kube", kubeconfig=scene.kubeconfig(token="nobody"))
    scene.k8s_cluster("there", kubeconfigRef={"name": "kube"})
    own = operator_kubeconfig(scene.cluster.kubeconfig)
    async with (
        Client(credentials.find(str(own))) as client,
        aiohttp.ClientSession() as session,
        Connectors(client, session) as connectors,
    ):
        with pytest.raises(Unusable, match="does not accept"):
            await connectors.check_cluster(scene.namespace, "there")
        await asyncio.to_thread(scene.change_secret, "kube", kubeconfig=scene.kubeconfig())
        assert "answers" in await connectors.check_cluster(scene.namespace, "there")
