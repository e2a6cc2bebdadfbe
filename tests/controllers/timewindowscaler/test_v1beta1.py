"""What only v1beta1 can say, through the operator's own conversion webhook, on a control plane of its own.

CRDs belong to the whole cluster, and these tests point one at a webhook of theirs.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running as control_plane
from hibernator.controlplane.ports import free_port
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.account import allow
from support.cluster import ClusterInTest
from support.operators import Running, running
from support.prometheus import prometheus
from support.scaler_scenes import WEEKDAYS, Scene, workload

FLEET = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "fleets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Fleet", "plural": "fleets", "singular": "fleet"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.ships", "statusReplicasPath": ".status.ships"},
                },
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with control_plane(tmp_path_factory.mktemp("own") / "cluster", binaries) as up:
        cluster = ClusterInTest(up.layout, up.state)
        cluster.install_crds()
        yield cluster


@pytest.fixture
def scene(own_cluster: ClusterInTest) -> Scene:
    return Scene(own_cluster, own_cluster.create_namespace())


@asynccontextmanager
async def converting(scene: Scene) -> AsyncIterator[Running]:
    """The operator with its webhooks, once the API server has been told of them."""
    address = f"127.0.0.1:{free_port()}"
    webhooks: dict[str, Any] = {"webhook_listen": address, "webhook_url": f"https://{address}"}
    async with running(scene.cluster.kubeconfig, scene.namespace, **webhooks) as run:
        await run.until(lambda: _is_converted(scene))
        yield run


async def applied(scene: Scene, *documents: dict[str, Any]) -> None:
    """In a thread, because the API server asks the webhook, which runs in this one."""
    await asyncio.to_thread(scene.apply, *documents)


def _is_converted(scene: Scene) -> bool:
    """Whether an object can be written in v1beta1 now; asked without leaving one behind."""
    path = f"/apis/kyklos.io/v1beta1/namespaces/{scene.namespace}/timewindowscalers?dryRun=All"
    try:
        scene.cluster.request("POST", path, beta("probe"))
    except Exception:  # noqa: BLE001  whatever stands in the way now may be gone soon
        return False
    return True


def beta(name: str = "hours", *, window: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    at_work = {"days": WEEKDAYS, "start": "09:00", "end": "17:00", "replicas": 4} | (window or {})
    return {
        "apiVersion": "kyklos.io/v1beta1",
        "kind": "TimeWindowScaler",
        "metadata": {"name": name},
        "spec": {
            "targetRef": {"kind": "Deployment", "name": "web"},
            "timezone": "UTC",
            "defaultReplicas": 0,
            "windows": [{key: value for key, value in at_work.items() if value is not None}],
        }
        | spec,
    }


async def test_a_stateful_set_follows_its_windows(scene: Scene) -> None:
    async with converting(scene) as run:
        await applied(scene, workload("StatefulSet", serviceName="web"))
        await applied(scene, beta(targetRef={"kind": "StatefulSet", "name": "web"}))
        await run.until(lambda: scene.replicas(resource="statefulsets") == 0)
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas(resource="statefulsets") == 4)


async def test_a_daemon_set_sleeps_on_no_node_and_wakes_where_it_was(scene: Scene) -> None:
    daemon = workload("DaemonSet")
    daemon["spec"]["template"] = json.loads(json.dumps(daemon["spec"]["template"]))
    daemon["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}

    def selector() -> dict[str, str]:
        found: dict[str, str] = scene.get("daemonsets", "web")["spec"]["template"]["spec"]["nodeSelector"]
        return found

    async with converting(scene) as run:
        await applied(scene, daemon, beta(targetRef={"kind": "DaemonSet", "name": "web"}))
        await run.until(lambda: selector() == {"disk": "ssd", "hibernator.ardikabs.com/asleep": "true"})
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: selector() == {"disk": "ssd"})


async def test_anything_with_a_scale_subresource_is_scaled_by_it(scene: Scene) -> None:
    scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(FLEET))
    scene.cluster.until_established()
    allow(scene.cluster, "fleets.example.com", "fleets.example.com/scale")
    fleet = {
        "apiVersion": "example.com/v1",
        "kind": "Fleet",
        "metadata": {"name": "web"},
        "spec": {"ships": 3},
    }
    async with converting(scene) as run:
        await applied(
            scene, fleet, beta(targetRef={"apiVersion": "example.com/v1", "kind": "Fleet", "name": "web"})
        )
        await run.until(lambda: scene.get("fleets", "web")["spec"]["ships"] == 0)
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.get("fleets", "web")["spec"]["ships"] == 4)


async def test_a_kind_that_the_operator_may_not_read_is_named_and_holds_up_no_one(scene: Scene) -> None:
    secret = json.loads(json.dumps(FLEET).replace("fleet", "convoy").replace("Fleet", "Convoy"))
    scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(secret))
    scene.cluster.until_established()
    convoy = {
        "apiVersion": "example.com/v1",
        "kind": "Convoy",
        "metadata": {"name": "web"},
        "spec": {"ships": 3},
    }
    ref = {"apiVersion": "example.com/v1", "kind": "Convoy", "name": "web"}
    async with converting(scene) as run:
        run.forbidden = frozenset({"convoys.example.com"})
        for number in range(8):  # more than there are workers
            await applied(scene, beta(f"convoy-{number}", targetRef={**ref, "name": f"web-{number}"}))
        await applied(scene, convoy, beta("convoy", targetRef=ref), workload(), beta("hours"))
        await run.until(lambda: scene.replicas() == 0)
        await run.until(lambda: scene.condition("Degraded", "convoy").get("reason") == "TargetUnreadable")
        await run.until(lambda: "is forbidden" in scene.condition("Ready", "convoy")["message"])
        await asyncio.to_thread(allow, scene.cluster, "convoys.example.com", "convoys.example.com/scale")
        await run.until(lambda: scene.get("convoys", "web")["spec"]["ships"] == 0)


async def test_a_share_is_of_what_ran_before_the_first_touch_and_stays_so(scene: Scene) -> None:
    async with converting(scene) as run:
        await applied(scene, workload(replicas=10), beta(window={"replicas": "50%"}, defaultReplicas="15%"))
        await run.until(lambda: scene.replicas() == 2)
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas() == 5)
        await run.until(lambda: scene.status()["baselineReplicas"] == 10)


async def test_a_window_in_another_zone_opens_by_its_own_clock(scene: Scene) -> None:
    async with converting(scene) as run:
        await applied(scene, workload(), beta(window={"timezone": "America/New_York"}))
        await run.advance_to("2026-03-02T13:59:59Z")
        await run.until(lambda: scene.replicas() == 0)
        await run.advance_to("2026-03-02T14:00:00Z")
        await run.until(lambda: scene.replicas() == 4)


def measured(address: str, query: str) -> dict[str, Any]:
    external = {"prometheus": {"serverAddress": address, "query": query}, "min": 2, "max": 9}
    return beta(window={"replicas": None, "external": external})


async def test_a_measured_number_is_read_again_kept_in_bounds_and_outlives_its_source(
    scene: Scene, tmp_path: Path
) -> None:
    async with prometheus(tmp_path) as source, converting(scene) as run:
        await source.shows(6.2)
        await applied(scene, workload(), measured(source.address, "sum(queue)"))
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas() == 7)
        await source.shows(500.0)
        await run.advance(30)
        await run.until(lambda: scene.replicas() == 9)
        await source.stop()
        await run.advance(30)
        await run.until(lambda: scene.condition("Degraded").get("reason") == "ExternalMetricUnavailable")
        await run.until(lambda: "does not answer" in scene.condition("Degraded")["message"])
        assert scene.replicas() == 9


async def test_that_prometheus_refuses_a_query_is_in_the_status_but_not_what_it_says(
    scene: Scene, tmp_path: Path
) -> None:
    async with prometheus(tmp_path) as source, converting(scene) as run:
        await applied(scene, workload(), measured(source.address, "sum(queue"))
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: "status 400" in scene.condition("Degraded").get("message", ""))
        await run.until(lambda: scene.replicas() == 2)
        await run.until(lambda: "parenthesis" not in scene.condition("Degraded")["message"])


async def test_a_kind_that_no_one_knows_is_a_missing_target(scene: Scene) -> None:
    async with converting(scene) as run:
        await applied(scene, beta(targetRef={"apiVersion": "example.org/v9", "kind": "Ghost", "name": "web"}))
        await run.until(lambda: scene.condition("Ready").get("reason") == "TargetNotFound")
        await run.until(lambda: 'Ghost "web"' in scene.condition("Ready")["message"])


async def test_a_kind_without_a_scale_subresource_is_not_said_to_be_missing(scene: Scene) -> None:
    async with converting(scene) as run:
        await applied(scene, beta(targetRef={"apiVersion": "batch/v1", "kind": "CronJob", "name": "web"}))
        await run.until(
            lambda: 'CronJob "web" cannot be scaled' in scene.condition("Ready").get("message", "")
        )
        await run.until(lambda: "Create it" not in scene.condition("Ready")["message"])


async def test_a_share_that_was_overruled_through_v1alpha1_does_not_come_back(scene: Scene) -> None:
    def through_v1alpha1(replicas: int) -> None:
        change = [{"op": "replace", "path": "/spec/windows/0/replicas", "value": replicas}]
        kind = "timewindowscalers.v1alpha1.kyklos.io"
        scene.cluster.kubectl(
            "-n", scene.namespace, "patch", kind, "hours", "--type=json", "-p", json.dumps(change)
        )

    async with converting(scene) as run:
        await applied(scene, workload(replicas=10), beta(window={"replicas": "50%"}))
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.replicas() == 5)
        await asyncio.to_thread(through_v1alpha1, 3)
        await run.until(lambda: scene.replicas() == 3)
        await asyncio.to_thread(through_v1alpha1, 1)
        await run.until(lambda: scene.replicas() == 1)
