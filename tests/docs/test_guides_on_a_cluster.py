"""What the guides say about clusters happens on one, in a namespace of the test's own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import hibernator
from support.plan_scenes import PlanScene
from support.scaler_scenes import workload

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def block(page: str, words: str, namespace: str, instead_of: str = "shop") -> str:
    text = (GUIDES / page).read_text(encoding="utf-8")
    found = re.search(rf"^```{words}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    return re.sub(rf"\b{instead_of}\b", namespace, found[1])


async def test_a_deployment_follows_the_office_hours_of_the_guide(scene: PlanScene, tmp_path: Path) -> None:
    scene.apply(workload())
    (tmp_path / "web-hours.yaml").write_text(block("office-hours.md", "yaml web-hours.yaml", scene.namespace))
    typed(block("office-hours.md", "sh", scene.namespace), scene, tmp_path)
    thursday = ManualClock("2026-03-05T16:30:00Z")  # 17:30 in Berlin
    async with scene.operator(thursday) as run:
        await run.until(lambda: scene.replicas() == 6)
        await run.advance_to("2026-03-05T20:05:00Z")
        assert scene.replicas() == 6  # the grace period
        await run.advance_to("2026-03-05T20:10:00Z")
        await run.until(lambda: scene.replicas() == 1)


async def test_what_was_converted_from_kube_downscaler_puts_to_sleep_what_it_should(scene: PlanScene) -> None:
    page = block("migrating.md", "yaml downscaled.yaml", scene.namespace)
    documents = [each for each in yaml.safe_load_all(page) if each["kind"] != "Namespace"]
    bare = workload(name="plain", replicas=3)
    bare["metadata"]["namespace"] = scene.namespace
    for each in documents:
        each["spec"] = workload(replicas=each.get("spec", {}).get("replicas", 2))["spec"]
    whole = yaml.safe_dump_all([next(yaml.safe_load_all(page)), *documents, bare])
    converted = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=whole)
    assert converted.code == 0, converted.err
    scene.cluster.kubectl("apply", "-f", "-", input=converted.out)
    evening = ManualClock("2026-03-05T19:29:00Z")  # 20:29 in Berlin, a Thursday
    async with scene.operator(evening) as run:
        await run.until(lambda: scene.replicas("web") == 4)
        await run.advance_to("2026-03-05T19:31:00Z")
        await run.until(lambda: (scene.replicas("web"), scene.replicas("plain")) == (1, 0))
        assert scene.replicas("pay") == 2
        await run.advance_to("2026-03-06T06:31:00Z")
        await run.until(lambda: (scene.replicas("web"), scene.replicas("plain")) == (4, 3))


def test_what_was_converted_from_kube_green_is_taken_by_the_api_server(scene: PlanScene) -> None:
    page = block("migrating.md", "yaml sleepinfo.yaml", scene.namespace, instead_of="stage")
    converted = hibernator("convert", "-f", "-", "--to", "off-hours", stdin=page)
    scene.cluster.kubectl("apply", "-f", "-", input=converted.out)
    assert scene.get("hibernateplans", "working-hours")["spec"]["schedule"]["timezone"] == "Europe/Rome"


def typed(commands: str, scene: PlanScene, folder: Path) -> None:
    binaries = Path(scene.cluster.kubectl("version", "--client").args[0]).parent
    settings = dict(os.environ) | {
        "KUBECONFIG": str(scene.cluster.kubeconfig),
        "PATH": f"{Path(sys.executable).parent}:{binaries}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", commands], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
