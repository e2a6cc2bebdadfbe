"""What `kubectl get -o yaml` prints, converted and applied on the real API server, through a night."""

import re
import shlex
from typing import Any

import pytest

from cli.offline import samples
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.plan_scenes import EVENING, MORNING, PlanScene
from support.scaler_scenes import workload

HOURS = "Mon-Fri 06:00-20:00 UTC"
APPLIES = [(), ("--server-side", "--force-conflicts")]


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def annotated(name: str, **annotations: str) -> dict[str, Any]:
    made = workload(name=name)
    made["metadata"]["annotations"] = {f"downscaler/{key}": text for key, text in annotations.items()}
    return made


def exported(scene: PlanScene) -> str:
    kubectl = scene.cluster.kubectl
    space = kubectl("get", f"namespace/{scene.namespace}", "-o", "yaml").stdout
    return space + "---\n" + kubectl("get", "deployments", "-n", scene.namespace, "-o", "yaml").stdout


def converted(text: str, *more: str) -> Ran:
    return hibernator("convert", "-f", "-", "--to", "off-hours", *more, stdin=text)


def annotations(scene: PlanScene, *resource: str) -> dict[str, str]:
    found: dict[str, str] = scene.get(*resource)["metadata"].get("annotations", {})
    return {key: text for key, text in found.items() if not key.startswith(("kubectl", "deployment."))}


@pytest.mark.parametrize("how", APPLIES)
async def test_excluded_workloads_stay_awake_and_no_annotation_of_the_old_program_is_left(
    scene: PlanScene, how: tuple[str, ...]
) -> None:
    scene.apply(workload(replicas=3), annotated("pay", exclude="true"), workload(name="search"))
    kubectl = scene.cluster.kubectl
    kubectl("annotate", "namespace", scene.namespace, f"downscaler/uptime={HOURS}", "owner=shop")
    kubectl("annotate", "deployment", "search", "-n", scene.namespace, "downscaler/exclude=true")
    ran = converted(exported(scene))
    assert ran.code == 0, ran.err
    assert "1 object from the cluster needs no conversion and was left out." in ran.err
    kubectl("label", "deployment/pay", "-n", scene.namespace, "new=yes")  # a newer version is no obstacle
    assert f"note: kubectl annotate namespace/{scene.namespace} downscaler/uptime-" in ran.err
    assert "deployment.apps/pay" not in ran.err  # what an apply wrote, the next one removes
    async with scene.operator() as run:
        kubectl("apply", *how, "-f", "-", input=ran.out)
        for command in re.findall("note: kubectl (annotate .*)", ran.err):
            kubectl(*shlex.split(command))
        await run.advance_to(EVENING)
        assert [scene.replicas(name) for name in ("web", "pay", "search")] == [0, 2, 2]
        await run.advance_to(MORNING)
        assert [scene.replicas(name) for name in ("web", "pay", "search")] == [3, 2, 2]
    for name in ("pay", "search"):
        assert annotations(scene, "deployments", name) == {"hibernator.ardikabs.com/exclude": "true"}
    assert annotations(scene, "namespaces", scene.namespace) == {"owner": "shop"}


async def test_plans_come_after_everything_that_they_must_leave_alone(scene: PlanScene) -> None:
    scene.apply(annotated("pay", exclude="true"), annotated("batch", uptime="Mon-Fri 05:00-21:00 UTC"))
    scene.cluster.kubectl("annotate", "namespace", scene.namespace, f"downscaler/uptime={HOURS}")
    documents = samples.read(converted(exported(scene)).out)
    assert [each["kind"] for each in documents] == ["Namespace", *["Deployment"] * 2, *["HibernatePlan"] * 2]
    for each in documents:
        assert "status" not in each
        assert not {"uid", "resourceVersion", "generation", "managedFields"} & set(each["metadata"])


async def test_with_keep_going_a_namespace_with_a_mistake_stays_as_it_is_and_the_others_are_converted(
    scene: PlanScene,
) -> None:
    scene.apply(workload(), annotated("odd", uptme=HOURS))
    scene.cluster.kubectl("annotate", "namespace", scene.namespace, f"downscaler/uptime={HOURS}")
    other = samples.text(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "other", "annotations": {"downscaler/uptime": HOURS}},
        }
    )
    whole = f"{exported(scene)}---\n{other}"
    assert converted(whole).out == ""
    ran = converted(whole, "--keep-going")
    assert ran.code == 1
    assert [(each["kind"], each["metadata"]["name"]) for each in samples.read(ran.out)] == [
        ("Namespace", "other"),
        ("HibernatePlan", "downscaler"),
    ]
    assert "Did you mean downscaler/uptime?" in ran.err
    assert "error: 1 mistake, and what it concerns was left out." in ran.err
