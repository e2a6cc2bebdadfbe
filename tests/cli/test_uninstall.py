"""The way out: nothing is left asleep, and nothing hangs. On a cluster of its own, because all of it goes."""

import asyncio
import json
from collections.abc import Iterator

import msgspec
import pytest

from hibernator.api.crd import to_yaml
from hibernator.api.timewindowscaler import TimeWindowScaler
from hibernator.cli import uninstalling
from hibernator.cli.exits import Exit
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running as control_plane
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.operator.manifests import policies
from hibernator.operator.roles import Home
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.command import Ran, hibernator
from support.plan_scenes import EVENING, PlanScene, plan, workloads
from support.scaler_scenes import scaler, workload


@pytest.fixture(scope="module")
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterInTest]:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with control_plane(tmp_path_factory.mktemp("own") / "cluster", binaries) as up:
        cluster = ClusterInTest(up.layout, up.state)
        cluster.install_crds()
        yield cluster


@pytest.fixture
def scene(own_cluster: ClusterInTest) -> PlanScene:
    scene = PlanScene(own_cluster, own_cluster.create_namespace())
    scene.create(workload(replicas=3))
    scene.create(plan(workloads("shop", scene.namespace)))
    return scene


def uninstall(scene: PlanScene, *options: str) -> Ran:
    return hibernator("uninstall", *options, f"--kubeconfig={scene.cluster.kubeconfig}")


def replicas(scene: PlanScene) -> int:
    return int(scene.one("Deployment", "web")["spec"]["replicas"])


async def test_an_operator_that_runs_wakes_everything_first(scene: PlanScene) -> None:
    async with scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: scene.phase() == "Hibernated")
        async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
            seen = await uninstalling.look(client)
            led = uninstalling.Seen("hibernator-system", seen.plans, seen.scalers, seen.sleepers)
            assert next(uninstalling.steps(led)).endswith(f"all that sleeps: {scene.namespace}/nights")
            said: list[str] = []
            await uninstalling.remove(client, led, 60.0, said.append)
    assert said[0] == "Gone: 1 HibernatePlan."
    assert replicas(scene) == 3
    assert scene.listed("HibernatePlan") == []
    assert "run this again" in uninstalling.what_stays(led)


def test_what_a_scaler_has_at_zero_is_said_to_stay_there_with_how_to_start_it() -> None:
    made = scaler() | {"status": {"effectiveReplicas": 0, "baselineReplicas": 4}}
    made["metadata"] |= {"namespace": "shop"}
    seen = uninstalling.Seen("", (), (msgspec.convert(made, TimeWindowScaler),), ())
    start = "`kubectl scale deployment web -n shop --replicas=4` starts it"
    assert f"leave at 0 replicas what a scaler has there: {start}" in uninstalling.steps(seen)


async def test_without_an_operator_everything_is_woken_from_its_marks(scene: PlanScene) -> None:
    shipped = [to_yaml(each) for each in policies(Home("hibernator-system", "hibernator"))]
    scene.cluster.kubectl("apply", "--server-side", "-f", "-", input="---\n".join(shipped))
    async with scene.operator(ManualClock(EVENING)) as run:
        await run.until(lambda: scene.phase() == "Hibernated")
    assert replicas(scene) == 0
    would = await asyncio.to_thread(uninstall, scene, "--dry-run")
    assert (would.code, replicas(scene)) == (Exit.OK, 0)
    assert "would wake 1 workload with the mark of a plan" in would.out
    done = await asyncio.to_thread(uninstall, scene, "--yes")
    assert done.code == Exit.OK, done.err
    assert replicas(scene) == 3
    assert scene.listed("HibernatePlan") == []
    left = scene.cluster.kubectl("get", "validatingadmissionpolicies", "-o", "name")
    assert "hibernator" not in left.stdout
    again = await asyncio.to_thread(uninstall, scene, "--yes")
    assert again.code == Exit.OK, again.err


async def test_what_sleeps_outside_of_the_cluster_is_not_abandoned(scene: PlanScene) -> None:
    reference = {"kind": "CloudProvider", "name": "aws"}
    chosen = {"selector": {"instanceIds": ["i-0123456789abcdef0"]}}
    scene.create(
        plan({"name": "vms", "type": "ec2", "connectorRef": reference, "parameters": chosen}, name="cloud")
    )
    asleep = {"history": [{"cycle": 1, "sleep": {"startedAt": EVENING}}]}
    scene.cluster.kubectl(
        *("patch", "hplan", "cloud", "-n", scene.namespace, "--subresource=status", "--type=merge"),
        *("-p", json.dumps({"status": asleep})),
    )
    refused = await asyncio.to_thread(uninstall, scene, "--yes")
    assert refused.code == Exit.FOUND
    assert "has things asleep outside of this cluster (vms)" in refused.err
    assert len(scene.listed("HibernatePlan")) == 2
