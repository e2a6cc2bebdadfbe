"""One thing of each kind at the clouds: how it looks, which marks it bears, and how people stop it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hibernator.decisions.sleepmark import LABELS, TAGS
from hibernator.executors.aws.account import AwsAccount
from hibernator.executors.aws.asg import Asg
from hibernator.executors.aws.ec2 import Ec2
from hibernator.executors.aws.eks import Eks
from hibernator.executors.aws.rds import Rds
from hibernator.executors.gcp.cloudsql import CloudSql
from hibernator.executors.gcp.gke import Gke, GkePlace
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.protocol import Executor, Job
from support.aws import IMAGE, AwsInTest, One
from support.gcp import PROJECT, Google

ROLE = "arn:aws:iam::123456789012:role/eks"
CLUSTER = "staging"
MINE = "0c0c0c0c-0000-0000-0000-000000000000"  # the cluster of the operator


@dataclass(frozen=True)
class CloudThing:
    type: str
    executor: Executor
    parameters: Mapping[str, Any]
    look: Callable[[], Any]
    marks: Callable[[], Mapping[str, str]]  # ours alone
    stop: Callable[[], Any]  # by hand
    sleeps_by: str = ""  # what AWS is asked for
    tags_by: str = ""
    untags_by: str = ""


@dataclass(frozen=True)
class Places:
    """Every target is here."""

    account: AwsAccount
    project: GcpProject

    async def eks(self, _job: Job) -> tuple[AwsAccount, str]:
        return self.account, CLUSTER

    async def gke(self, _job: Job) -> GkePlace:
        return GkePlace(self.project, PROJECT, "europe-west3", CLUSTER)

    async def gcp(self, _job: Job) -> GcpProject:
        return self.project


def furnish(type_: str, aws: AwsInTest, google: Google, project: GcpProject) -> CloudThing:
    places = _places(aws, project, MINE)
    if type_ in {"gke", "cloudsql"}:
        return {"gke": _pool, "cloudsql": _cloudsql}[type_](google, places)
    made = {"ec2": _instance, "asg": _group, "rds": _database, "cluster": _cluster, "eks": _nodes}
    return made[type_](aws, places)


def elsewhere(thing: CloudThing, aws: AwsInTest, project: GcpProject, cluster: str) -> Executor:
    """The same executor as the operator of another cluster has it."""
    places = _places(aws, project, cluster)
    made: Any = type(thing.executor)
    found: Executor = made(One(places.account) if thing.type in {"ec2", "asg", "rds"} else places)
    return found


def _places(aws: AwsInTest, project: GcpProject, cluster: str) -> Places:
    account = aws.account()
    account.cluster = cluster
    return Places(account, replace(project, cluster=cluster))


def _ours(tags: Any) -> dict[str, str]:
    listed = tags if isinstance(tags, dict) else {tag["Key"]: tag["Value"] for tag in tags}
    return {key: value for key, value in listed.items() if key in TAGS}


def _instance(aws: AwsInTest, places: Places) -> CloudThing:
    ec2 = aws.boto("ec2")
    made = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="m5.large")
    id_ = made["Instances"][0]["InstanceId"]

    def find() -> Any:
        return ec2.describe_instances(InstanceIds=[id_])["Reservations"][0]["Instances"][0]

    return CloudThing(
        "ec2",
        Ec2(One(places.account)),
        {"selector": {"instanceIds": [id_]}},
        lambda: find()["State"]["Name"],
        lambda: _ours(find().get("Tags", [])),
        lambda: ec2.stop_instances(InstanceIds=[id_]),
        *("StopInstances", "CreateTags", "DeleteTags"),
    )


def _group(aws: AwsInTest, places: Places) -> CloudThing:
    scaling = aws.boto("autoscaling")
    scaling.create_launch_configuration(
        LaunchConfigurationName="small", ImageId=IMAGE, InstanceType="m5.large"
    )
    scaling.create_auto_scaling_group(
        AutoScalingGroupName="workers",
        LaunchConfigurationName="small",
        MinSize=1,
        MaxSize=4,
        DesiredCapacity=2,
        AvailabilityZones=["eu-central-1a"],
    )

    def find() -> Any:
        return scaling.describe_auto_scaling_groups()["AutoScalingGroups"][0]

    def marks() -> dict[str, str]:
        tags = find()["Tags"]
        assert not any(tag["PropagateAtLaunch"] for tag in tags)
        return _ours(tags)

    return CloudThing(
        "asg",
        Asg(One(places.account)),
        {"selector": {"names": ["workers"]}},
        lambda: tuple(find()[key] for key in ("MinSize", "MaxSize", "DesiredCapacity")),
        marks,
        lambda: scaling.update_auto_scaling_group(
            AutoScalingGroupName="workers", MinSize=0, DesiredCapacity=0
        ),
        *("UpdateAutoScalingGroup", "CreateOrUpdateTags", "DeleteTags"),
    )


def _database(aws: AwsInTest, places: Places) -> CloudThing:
    rds = aws.boto("rds")
    rds.create_db_instance(
        DBInstanceIdentifier="orders", Engine="postgres", DBInstanceClass="db.m5.large", AllocatedStorage=20
    )

    def find() -> Any:
        return rds.describe_db_instances()["DBInstances"][0]

    return CloudThing(
        "rds",
        Rds(One(places.account)),
        {"selector": {"instanceIds": ["orders"]}},
        lambda: find()["DBInstanceStatus"],
        lambda: _ours(find()["TagList"]),
        lambda: rds.stop_db_instance(DBInstanceIdentifier="orders"),
        *("StopDBInstance", "AddTagsToResource", "RemoveTagsFromResource"),
    )


def _cluster(aws: AwsInTest, places: Places) -> CloudThing:
    rds = aws.boto("rds")
    rds.create_db_cluster(
        DBClusterIdentifier="ledger",
        Engine="aurora-postgresql",
        MasterUsername="root",
        MasterUserPassword="not-a-secret",
    )

    def find() -> Any:
        return rds.describe_db_clusters()["DBClusters"][0]

    return CloudThing(
        "rds",
        Rds(One(places.account)),
        {"selector": {"clusterIds": ["ledger"]}},
        lambda: find()["Status"],
        lambda: _ours(find()["TagList"]),
        lambda: rds.stop_db_cluster(DBClusterIdentifier="ledger"),
        *("StopDBCluster", "AddTagsToResource", "RemoveTagsFromResource"),
    )


def _nodes(aws: AwsInTest, places: Places) -> CloudThing:
    eks = aws.boto("eks")
    eks.create_cluster(name=CLUSTER, roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]})
    eks.create_nodegroup(
        clusterName=CLUSTER,
        nodegroupName="general",
        scalingConfig={"minSize": 1, "maxSize": 3, "desiredSize": 2},
        subnets=["subnet-1"],
        nodeRole=ROLE,
    )
    name = {"clusterName": CLUSTER, "nodegroupName": "general"}

    def find() -> Any:
        return eks.describe_nodegroup(**name)["nodegroup"]

    return CloudThing(
        "eks",
        Eks(places),
        {"clusterName": CLUSTER},
        lambda: find()["scalingConfig"],
        lambda: _ours(find().get("tags", {})),
        lambda: eks.update_nodegroup_config(
            **name, scalingConfig={"minSize": 0, "maxSize": 3, "desiredSize": 0}
        ),
        *("UpdateNodegroupConfig", "TagResource", "UntagResource"),
    )


def _pool(google: Google, places: Places) -> CloudThing:
    google.pool("scaled", 2, 2, enabled=True, minNodeCount=1, maxNodeCount=5)

    def stop() -> None:
        google.groups = dict.fromkeys(google.groups, 0)

    return CloudThing(
        "gke",
        Gke(places),
        {"clusterName": CLUSTER, "location": "europe-west3"},
        lambda: (google.sizes("scaled"), google.pools["scaled"]["autoscaling"]),
        dict,
        stop,
        "container.projects.locations.clusters.nodePools.setSize",
    )


def _cloudsql(google: Google, places: Places) -> CloudThing:
    google.database("orders")

    def settings() -> dict[str, Any]:
        found: dict[str, Any] = google.databases["orders"]["settings"]
        return found

    def marks() -> dict[str, str]:
        labels = settings().get("userLabels", {})
        return {key: value for key, value in labels.items() if key.startswith(LABELS)}

    return CloudThing(
        "cloudsql",
        CloudSql(places),
        {"instanceName": "orders"},
        lambda: settings()["activationPolicy"],
        marks,
        lambda: settings().update(activationPolicy="NEVER"),
        "sql.instances.patch",
    )
