"""Nights of plans that reach into every cloud, by the operator as it runs."""

from typing import Any

from hibernator.api.hibernateplan import PLANS
from hibernator.cli.plan_preview import preview_lines
from hibernator.kube import credentials
from hibernator.kube.client import Client
from support.aws import IMAGE, SLOW_DOWN, AwsInTest, Fault
from support.clock import ManualClock
from support.connector_scenes import ConnectorScene
from support.gcp import Google
from support.plan_scenes import EVENING, MORNING, plan

AFTERNOON = "2026-03-02T19:00:00Z"
MIDNIGHT = "2026-03-03T00:00:00Z"
STATES = ("running", "stopped")
SCALING = {"enabled": True, "minNodeCount": 1, "maxNodeCount": 5}


def target(name: str, provider: str = "aws", **parameters: Any) -> dict[str, Any]:
    where = {"kind": "CloudProvider", "name": provider}
    return {"name": name, "type": name, "connectorRef": where, "parameters": parameters}


def furnish(aws: AwsInTest, google: Google) -> None:
    """One of everything, and something that sleeps already."""
    ec2, scaling, rds, eks = (aws.boto(name) for name in ("ec2", "autoscaling", "rds", "eks"))
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "web"}]}]
    machine = {"ImageId": IMAGE, "InstanceType": "m5.large"}
    made = ec2.run_instances(MinCount=2, MaxCount=2, TagSpecifications=tags, **machine)
    ec2.stop_instances(InstanceIds=[made["Instances"][0]["InstanceId"]])
    scaling.create_launch_configuration(LaunchConfigurationName="small", **machine)
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="workers",
        LaunchConfigurationName="small",
        MinSize=1,
        MaxSize=4,
        DesiredCapacity=2,
        AvailabilityZones=["eu-central-1a"],
    )
    rds.create_db_instance(
        DBInstanceIdentifier="orders", Engine="postgres", DBInstanceClass="db.m5.large", AllocatedStorage=20
    )
    role = "arn:aws:iam::123456789012:role/eks"
    eks.create_cluster(name="staging", roleArn=role, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    eks.create_nodegroup(
        clusterName="staging",
        nodegroupName="general",
        scalingConfig={"minSize": 1, "maxSize": 3, "desiredSize": 2},
        subnets=["subnet-1"],
        nodeRole=role,
    )
    google.pool("scaled", 2, 2, **SCALING)
    google.database("orders")


def look(aws: AwsInTest, google: Google) -> dict[str, Any]:
    """Everything about all of it that a night must not change."""
    machines = aws.boto("ec2").describe_instances(Filters=[{"Name": "tag-key", "Values": ["team"]}])
    groups = aws.boto("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    databases = aws.boto("rds").describe_db_instances()["DBInstances"]
    nodes = aws.boto("eks").describe_nodegroup(clusterName="staging", nodegroupName="general")
    return {
        "ec2": sorted(
            (one["InstanceId"], one["State"]["Name"])
            for each in machines["Reservations"]
            for one in each["Instances"]
        ),
        "asg": [(one["MinSize"], one["MaxSize"], one["DesiredCapacity"]) for one in groups],
        "rds": [(one["DBInstanceIdentifier"], one["DBInstanceStatus"]) for one in databases],
        "eks": nodes["nodegroup"]["scalingConfig"],
        "gke": (google.sizes("scaled"), google.pools["scaled"]["autoscaling"]),
        "cloudsql": google.databases["orders"]["settings"]["activationPolicy"],
    }


EVERYTHING = (
    target("ec2", selector={"tags": {"team": "web"}}),
    target("asg", selector={"names": ["workers"]}),
    target("rds", selector={"instanceIds": ["orders"]}),
    target("eks", clusterName="staging"),
    target("gke", "google", clusterName="staging", location="europe-west3"),
    target("cloudsql", "google", instanceName="orders"),
)


async def test_a_night_of_everything_ends_as_it_began(
    scene: ConnectorScene, aws: AwsInTest, google: Google
) -> None:
    furnish(aws, google)
    before = look(aws, google)
    scene.keys()
    scene.aws_provider(aws, "aws")
    scene.secret("google", **{"key.json": google.key_file()})
    scene.gcp_provider(google, "google")
    scene.create(plan(*EVERYTHING))
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        assert set(scene.target_states().values()) == {"Completed"}
        asleep = look(aws, google)
        assert {state for _, state in asleep["ec2"]} == {"stopped"}
        assert asleep["asg"] == [(0, 4, 0)]
        assert asleep["rds"] == [("orders", "stopped")]
        assert asleep["eks"] == {"minSize": 0, "maxSize": 3, "desiredSize": 0}
        assert asleep["gke"] == ([0, 0], {})
        assert asleep["cloudsql"] == "NEVER"
        await run.advance_to(MORNING)
        await run.until(lambda: scene.phase() == "Active")
        assert look(aws, google) == before
        assert scene.restore_data() != []  # as long as something that was sent may still come
        await run.advance(310)
        await run.until(lambda: scene.restore_data() == [])
    assert look(aws, google) == before
    assert scene.plan_status()["savings"]["cpuCoreHours"] > 0


def plan_for_a_database(scene: ConnectorScene, aws: AwsInTest, google: Google) -> None:
    furnish(aws, google)
    scene.keys()
    scene.aws_provider(aws, "aws")
    scene.create(plan(target("rds", selector={"instanceIds": ["orders"]})))


async def test_a_database_that_aws_starts_in_the_night_is_stopped_within_the_hour(
    scene: ConnectorScene, aws: AwsInTest, google: Google
) -> None:
    plan_for_a_database(scene, aws, google)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
        aws.boto("rds").start_db_instance(DBInstanceIdentifier="orders")
        await run.advance(3700)
        await run.until(lambda: look(aws, google)["rds"] == [("orders", "stopped")])
        await run.advance_to(MORNING)
        await run.until(lambda: scene.phase() == "Active")
    assert look(aws, google)["rds"] == [("orders", "available")]


async def test_an_operator_that_starts_in_the_night_looks_at_once_for_databases_that_aws_has_started(
    scene: ConnectorScene, aws: AwsInTest, google: Google
) -> None:
    plan_for_a_database(scene, aws, google)
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        await run.until(lambda: scene.phase() == "Hibernated")
    aws.boto("rds").start_db_instance(DBInstanceIdentifier="orders")
    async with scene.operator(ManualClock(MIDNIGHT)) as run:
        await run.until(lambda: look(aws, google)["rds"] == [("orders", "stopped")])


async def test_throttling_costs_time_a_refusal_fails_the_target_and_the_rest_sleeps_and_wakes(
    scene: ConnectorScene, aws: AwsInTest, google: Google
) -> None:
    furnish(aws, google)
    before = look(aws, google)
    scene.keys()
    scene.aws_provider(aws, "aws")
    aws.proxy.fail("StopInstances", SLOW_DOWN, times=2)
    aws.proxy.fail("UpdateAutoScalingGroup", Fault(403, "AccessDenied", "not you"))
    behavior = {"mode": "BestEffort", "retries": 0}
    scene.create(plan(*EVERYTHING[:2], behavior=behavior))
    async with scene.operator(ManualClock(AFTERNOON)) as run:
        await run.advance_to(EVENING)
        for _ in range(4):
            await run.advance(10)
        await run.until(lambda: scene.target_states() == {"ec2": "Completed", "asg": "Failed"})
        states = {one["name"]: one for one in scene.plan_status()["targets"]}
        assert states["ec2"]["attempts"] == 1
        assert "not you" in states["asg"]["message"]
        await run.advance_to(MORNING)
        await run.until(lambda: look(aws, google) == before)


async def test_a_look_ahead_lists_what_would_sleep_with_what_it_would_save(
    scene: ConnectorScene, aws: AwsInTest, google: Google
) -> None:
    furnish(aws, google)
    scene.keys()
    scene.aws_provider(aws, "aws")
    scene.create(plan(*EVERYTHING[:3], target("eks", "nowhere", clusterName="staging")))
    async with Client(credentials.find(str(scene.cluster.kubeconfig))) as client:
        lines, unseen = await preview_lines(client, await client.get(PLANS, "nights", scene.namespace))
    running, stopped = (
        next(one for one, is_ in look(aws, google)["ec2"] if is_ == state) for state in STATES
    )
    assert f"ec2  {running}  saves 2 cores, 8 GiB" in lines
    assert f"ec2  {stopped}  was stopped already" in lines
    assert "asg  workers  saves 4 cores, 16 GiB" in lines
    assert "rds  instance/orders  saves 2 cores, 8 GiB" in lines
    there = f"There is no CloudProvider nowhere in the namespace {scene.namespace}."
    assert unseen == [f"eks cannot be looked at: {there}"]
    assert lines[-1] == "Together an hour asleep saves 8 cores and 32 GiB."
    assert aws.proxy.changes() == []
