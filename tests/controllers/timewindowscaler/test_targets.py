"""Whatever can be scaled, and whoever else scales it."""

import json

import pytest

from support.operators import running
from support.scaler_scenes import Scene, hpa, scaler, workload

KEDA = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "scaledobjects.keda.sh"},
    "spec": {
        "group": "keda.sh",
        "scope": "Namespaced",
        "names": {"kind": "ScaledObject", "plural": "scaledobjects", "singular": "scaledobject"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}


async def test_under_an_hpa_its_minimum_follows_the_windows(scene: Scene) -> None:
    scene.apply(workload(replicas=2), hpa(minimum=2), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: scene.get("hpa", "web")["spec"]["minReplicas"] == 4)
        assert scene.replicas() == 2
        await run.until(lambda: scene.condition("Autoscaled").get("reason") == "HorizontalPodAutoscaler")
        scene.delete("hpa", "web")
        await run.until(lambda: scene.replicas() == 4)
        await run.until(lambda: scene.condition("Autoscaled").get("status") == "False")


async def test_an_hpa_that_comes_later_is_used_from_then_on(scene: Scene) -> None:
    scene.apply(workload(replicas=1), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        scene.apply(hpa(minimum=3))
        await run.until(lambda: scene.get("hpa", "web")["spec"]["minReplicas"] == 1)


@pytest.fixture
def keda(scene: Scene) -> None:
    scene.cluster.kubectl("apply", "-f", "-", input=json.dumps(KEDA))
    scene.cluster.until_established()


async def test_a_keda_scaled_object_is_paused_at_the_number(scene: Scene, keda: None) -> None:
    scaled = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"name": "web"}},
    }
    scene.apply(workload(replicas=2), scaled, scaler(defaultReplicas=0))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(
            lambda: (
                scene.get("scaledobjects", "web")["metadata"]
                .get("annotations", {})
                .get("autoscaling.keda.sh/paused-replicas")
                == "0"
            )
        )
        assert scene.replicas() == 2
        await run.advance(2)  # nobody plays KEDA here, so that the target never follows
        await run.until(lambda: scene.condition("Autoscaled").get("reason") == "ScaledObject")


async def test_of_two_scalers_on_one_target_the_older_works_and_the_younger_names_it(scene: Scene) -> None:
    scene.apply(workload(), scaler("older"))
    scene.cluster.kubectl("wait", "--for=create", "tws/older", "-n", scene.namespace)
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready", "older").get("status") == "True")
        scene.apply(scaler("younger", defaultReplicas=5))
        await run.until(lambda: scene.condition("Degraded", "younger").get("reason") == "TargetClaimed")
        assert "older" in scene.condition("Degraded", "younger")["message"]
        assert scene.replicas() == 1
        scene.delete("tws", "older")
        await run.until(lambda: scene.replicas() == 5)
        await run.until(lambda: scene.condition("Degraded", "younger").get("status") == "False")


async def test_kubectl_shows_and_waits_for_a_scaler(scene: Scene) -> None:
    scene.apply(workload(), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: scene.condition("Ready").get("status") == "True")
        kubectl = scene.cluster.kubectl
        kubectl("wait", "--for=condition=Ready", "tws/hours", "-n", scene.namespace, "--timeout=10s")
        head, row = kubectl("get", "tws", "-n", scene.namespace).stdout.splitlines()
        assert head.split() == ["NAME", "TARGET", "WINDOW", "REPLICAS", "NEXT", "CHANGE", "READY", "AGE"]
        assert row.split()[:6] == ["hours", "web", "OffHours", "1", "2026-03-02T09:00:00Z", "True"]
        wide = kubectl("get", "tws", "-n", scene.namespace, "-o", "wide").stdout
        assert "TIMEZONE" in wide
        assert "no window covers this time" in wide


def minimum(scene: Scene) -> int:
    return int(scene.get("hpa", "web")["spec"]["minReplicas"])


async def test_an_hpa_is_as_it_was_once_no_scaler_has_its_target_any_more(scene: Scene) -> None:
    scene.apply(workload(replicas=7), hpa(minimum=7), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.advance_to("2026-03-02T09:00:00Z")
        await run.until(lambda: minimum(scene) == 4)
        await run.advance_to("2026-03-02T17:00:00Z")
        await run.until(lambda: minimum(scene) == 1)
        scene.delete("tws", "hours")
        await run.until(lambda: minimum(scene) == 7)
        annotations = scene.get("hpa", "web")["metadata"].get("annotations", {})
        assert not [name for name in annotations if name.startswith("kyklos.io/")]


async def test_an_hpa_is_put_back_also_if_its_scaler_went_while_no_operator_ran(scene: Scene) -> None:
    scene.apply(workload(replicas=7), hpa(minimum=7), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: minimum(scene) == 1)
    scene.delete("tws", "hours")
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: minimum(scene) == 7)
        await run.until(lambda: any(r == "AutoscalerRestored" for r, _, _ in scene.events("web")))


async def test_a_scaler_that_takes_another_target_lets_go_of_the_autoscaler(scene: Scene) -> None:
    scene.apply(workload(replicas=7), workload(name="other", replicas=3), hpa(minimum=7), scaler())
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: minimum(scene) == 1)
        scene.apply(scaler(targetRef={"kind": "Deployment", "name": "other"}))
        await run.until(lambda: minimum(scene) == 7)
        await run.until(lambda: scene.replicas("other") == 1)


async def test_a_pause_of_keda_goes_with_the_scaler(scene: Scene, keda: None) -> None:
    scaled = {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"name": "web"}},
    }

    def annotations() -> dict[str, str]:
        found: dict[str, str] = scene.get("scaledobjects", "web")["metadata"].get("annotations", {})
        return found

    scene.apply(workload(replicas=2), scaled, scaler(defaultReplicas=0))
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        await run.until(lambda: annotations().get("autoscaling.keda.sh/paused-replicas") == "0")
        scene.delete("tws", "hours")
        await run.until(lambda: "autoscaling.keda.sh/paused-replicas" not in annotations())
