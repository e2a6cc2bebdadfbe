"""The operator dies after each of its writes, here and at a cloud; nothing is lost or done twice."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hibernator.kube.controller import Key
from support.aws import IMAGE, AwsInTest
from support.clock import ManualClock
from support.connector_scenes import ConnectorScene
from support.foreign_kinds import install
from support.gcp import Google
from support.plan_lives import Killed, live
from support.plan_scenes import EVENING, LATER, MORNING, plan, workloads
from support.scaler_scenes import workload

ROLE = "arn:aws:iam::123456789012:role/eks"
POOLS = "/apis/karpenter.sh/v1/nodepools"


@dataclass(frozen=True)
class World:
    """What sleeps, how it looks, and what was changed in it so far."""

    scene: ConnectorScene
    targets: tuple[dict[str, Any], ...]
    look: Callable[[], Any]
    changes: Callable[[], list[str]]


@dataclass(frozen=True)
class Night:
    evening: Any
    morning: Any
    rest: Any  # what a plan and its restore data say that does not depend on how often somebody died
    writes: int
    died: bool


def target(type_: str, **parameters: Any) -> dict[str, Any]:
    where = {"kind": "CloudProvider", "name": "dev"}
    return {"name": type_, "type": type_, "connectorRef": where, "parameters": parameters}


async def night(world: World, name: str, last: int | None) -> Night:
    scene, key, died, writes = world.scene, Key(world.scene.namespace, name), False, 0
    scene.create(plan(*world.targets, name=name, behavior={"mode": "Strict", "retries": 0}))
    seen: list[Any] = []
    for moment in (EVENING, MORNING, LATER):
        clock = ManualClock(moment)
        left = None if last is None or died else last - writes
        try:
            writes += await live(scene.cluster.kubeconfig, key, clock, last=left)
        except Killed:
            died = True
            await live(scene.cluster.kubeconfig, key, clock)
        seen.append((world.look(), _told(scene, name)))
    evening, morning, later = (look for look, _ in seen)
    assert later == morning
    return Night(evening, morning, [told for _, told in seen], writes, died)


def _told(scene: ConnectorScene, name: str) -> Any:
    status = scene.plan_status(name)
    targets = sorted((one["name"], one["state"], one.get("attempts")) for one in status["targets"])
    return [status["phase"], targets, [found["data"]["items.json"] for found in scene.restore_data()]]


async def nights(world: World) -> Night:
    """One night without deaths, and then one for each write after which somebody can die."""
    before = world.look()
    reference = await night(world, "undisturbed", None)
    once = Counter(world.changes())
    assert reference.morning == before
    assert reference.evening != before
    for last in range(1, reference.writes + 2):
        seen = await night(world, f"nights-{last}", last)
        why = f"killed after write {last}"
        assert (seen.evening, seen.morning) == (reference.evening, before), why
        assert seen.rest == reference.rest, why
        assert seen.died is (last <= reference.writes), why
    assert Counter(world.changes()) == {act: times * (reference.writes + 2) for act, times in once.items()}
    return reference


@pytest.fixture
def at_aws(scene: ConnectorScene, aws: AwsInTest) -> ConnectorScene:
    scene.keys()
    scene.aws_provider(aws)
    return scene


async def test_workloads_and_machines(at_aws: ConnectorScene, aws: AwsInTest) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "web"}]}]
    ec2 = aws.boto("ec2")
    started = ec2.run_instances(
        ImageId=IMAGE, MinCount=3, MaxCount=3, InstanceType="m5.large", TagSpecifications=tags
    )
    ec2.stop_instances(InstanceIds=[started["Instances"][0]["InstanceId"]])
    at_aws.create(workload(name="web", replicas=3))

    def look() -> Any:
        found = [one for each in ec2.describe_instances()["Reservations"] for one in each["Instances"]]
        marks = json.dumps(at_aws.workloads())  # of each plan its own
        machines = [(one["InstanceId"], one["State"]["Name"], len(one["Tags"])) for one in found]
        return marks.count("asleep"), machines

    targets = workloads("web", at_aws.namespace), target("ec2", selector={"tags": {"team": "web"}})
    reference = await nights(World(at_aws, targets, look, aws.proxy.changes))
    assert {state for _, state, _ in reference.evening[1]} == {"stopped"}


async def test_auto_scaling_groups_and_node_groups(at_aws: ConnectorScene, aws: AwsInTest) -> None:
    scaling, eks = aws.boto("autoscaling"), aws.boto("eks")
    scaling.create_launch_configuration(
        LaunchConfigurationName="small", ImageId=IMAGE, InstanceType="m5.large"
    )
    for name, low, high, desired in (("workers", 1, 4, 2), ("off", 0, 3, 0)):
        scaling.create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchConfigurationName="small",
            MinSize=low,
            MaxSize=high,
            DesiredCapacity=desired,
            AvailabilityZones=["eu-central-1a"],
        )
    eks.create_cluster(name="staging", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    eks.create_nodegroup(
        clusterName="staging",
        nodegroupName="general",
        scalingConfig={"minSize": 1, "maxSize": 3, "desiredSize": 2},
        subnets=["subnet-1"],
        nodeRole=ROLE,
    )

    def look() -> Any:
        groups = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["workers", "off"])
        nodes = eks.describe_nodegroup(clusterName="staging", nodegroupName="general")
        sizes = [
            (one["MinSize"], one["MaxSize"], one["DesiredCapacity"], len(one["Tags"]))
            for one in groups["AutoScalingGroups"]
        ]
        return sizes, nodes["nodegroup"]["scalingConfig"], len(nodes["nodegroup"].get("tags", {}))

    targets = target("asg", selector={"names": ["workers", "off"]}), target("eks", clusterName="staging")
    await nights(World(at_aws, targets, look, aws.proxy.changes))


async def test_databases_with_a_snapshot_each_night(at_aws: ConnectorScene, aws: AwsInTest) -> None:
    rds = aws.boto("rds")
    rds.create_db_instance(
        DBInstanceIdentifier="orders", Engine="postgres", DBInstanceClass="db.m5.large", AllocatedStorage=20
    )
    rds.create_db_cluster(
        DBClusterIdentifier="ledger",
        Engine="aurora-postgresql",
        MasterUsername="root",
        MasterUserPassword="not-a-secret",
    )

    def look() -> Any:
        (instance,) = rds.describe_db_instances()["DBInstances"]
        (cluster,) = rds.describe_db_clusters()["DBClusters"]
        tags = len(instance["TagList"]), len(cluster["TagList"])
        return instance["DBInstanceStatus"], cluster["Status"], tags

    selector = {"includeAll": True, "discoverInstances": True, "discoverClusters": True}
    targets = (target("rds", selector=selector, snapshotBeforeStop=True),)
    reference = await nights(World(at_aws, targets, look, aws.proxy.changes))
    taken = rds.describe_db_snapshots(SnapshotType="manual")["DBSnapshots"]
    taken += rds.describe_db_cluster_snapshots(SnapshotType="manual")["DBClusterSnapshots"]
    assert len(taken) == 2 * (reference.writes + 2)


@pytest.fixture
def node_pool(scene: ConnectorScene) -> Iterator[str]:
    install(scene.cluster)
    name = f"pool-{scene.namespace}"
    spec = {"limits": {"cpu": "100", "nvidia.com/gpu": "2"}, "template": {}}
    body = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}
    scene.cluster.request("POST", POOLS, body)
    yield name
    scene.cluster.request("DELETE", f"{POOLS}/{name}")


async def test_node_pools_and_databases_of_google_and_of_karpenter(
    scene: ConnectorScene, google: Google, node_pool: str
) -> None:
    google.slow = 0  # nobody who lives is there to see the end of what the dead have begun
    google.pool("scaled", 2, 2, enabled=True, minNodeCount=1, maxNodeCount=5)
    google.database("orders")
    scene.secret("google", **{"key.json": google.key_file()})
    scene.gcp_provider(google)

    def pool() -> Any:
        return scene.cluster.request("GET", f"{POOLS}/{node_pool}")

    def look() -> Any:
        settings = google.databases["orders"]["settings"]
        database = settings["activationPolicy"], len(settings.get("userLabels", {}))
        return google.sizes("scaled"), google.pools["scaled"]["autoscaling"], database, pool()["spec"]

    def changes() -> list[str]:
        return google.changes() + ["NodePool"] * (pool()["metadata"]["generation"] - 1)

    targets = (
        {"name": "karpenter", "type": "karpenter", "parameters": {"nodePools": [node_pool]}},
        target("gke", clusterName="staging", location="europe-west3"),
        target("cloudsql", instanceName="orders"),
    )
    await nights(World(scene, targets, look, changes))
