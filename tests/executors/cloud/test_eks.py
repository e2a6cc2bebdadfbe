"""Managed node groups asleep and awake, on moto."""

from dataclasses import dataclass
from typing import Any

import pytest

from hibernator.executors.aws.account import AwsAccount
from hibernator.executors.aws.eks import Eks
from hibernator.executors.protocol import Job, Permanent, Retryable, Throttled
from support.aws import BROKEN, AwsInTest, Fault, Lost
from support.cloud import awake, fall_asleep, job, wake_up

WORK = job("eks", {"clusterName": "staging"})
ROLE = "arn:aws:iam::123456789012:role/eks"


@dataclass(frozen=True)
class Staging:
    account: AwsAccount
    name: str = "staging"

    async def eks(self, _job: Job) -> tuple[AwsAccount, str]:
        return self.account, self.name


@pytest.fixture
def executor(aws: AwsInTest) -> Eks:
    aws.boto("eks").create_cluster(
        name="staging", roleArn=ROLE, resourcesVpcConfig={"subnetIds": ["subnet-1"]}
    )
    return Eks(Staging(aws.account()))


def group(aws: AwsInTest, name: str, low: int, high: int, desired: int) -> None:
    aws.boto("eks").create_nodegroup(
        clusterName="staging",
        nodegroupName=name,
        scalingConfig={"minSize": low, "maxSize": high, "desiredSize": desired},
        subnets=["subnet-1"],
        nodeRole=ROLE,
        instanceTypes=["m5.large"],
    )


def sizes(aws: AwsInTest) -> dict[str, Any]:
    eks = aws.boto("eks")
    names = eks.list_nodegroups(clusterName="staging")["nodegroups"]
    found = (eks.describe_nodegroup(clusterName="staging", nodegroupName=name) for name in names)
    return {one["nodegroup"]["nodegroupName"]: one["nodegroup"]["scalingConfig"] for one in found}


async def test_node_groups_shrink_to_nothing_and_get_back_their_sizes(aws: AwsInTest, executor: Eks) -> None:
    group(aws, "system", 1, 4, 2)
    group(aws, "batch", 0, 9, 3)
    group(aws, "off", 0, 2, 0)
    before = sizes(aws)
    found = {item.key: item for item in await executor.discover(WORK)}
    assert found["off"].restore is None
    assert found["batch"].saving.cpu_cores == 6.0
    items = await fall_asleep(executor, WORK)
    assert sizes(aws) == {
        **before,
        "system": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
        "batch": {"minSize": 0, "maxSize": 9, "desiredSize": 0},
    }
    await wake_up(executor, WORK, items)
    assert sizes(aws) == before


async def test_doing_it_again_after_a_crash_changes_nothing_more(aws: AwsInTest, executor: Eks) -> None:
    group(aws, "system", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    update = "UpdateNodegroupConfig"
    assert aws.proxy.changes() == ["TagResource", update, update, "UntagResource"]


async def test_groups_by_name_and_those_that_are_not_there_are_named(aws: AwsInTest, executor: Eks) -> None:
    group(aws, "system", 1, 4, 2)
    group(aws, "batch", 1, 4, 2)
    work = job("eks", {"nodeGroups": [{"name": "batch"}]})
    assert [item.key for item in await executor.discover(work)] == ["batch"]
    work = job("eks", {"nodeGroups": [{"name": "batch"}, {"name": "gpu"}]})
    with pytest.raises(Permanent, match="staging has no node group gpu"):
        await executor.discover(work)


async def test_a_cluster_that_is_not_there_is_named(aws: AwsInTest) -> None:
    aws.proxy.fail("ListNodegroups", Fault(404, "ResourceNotFoundException"))  # which moto fails to say
    with pytest.raises(Permanent, match="no EKS cluster prod in eu-central-1"):
        await Eks(Staging(aws.account(), "prod")).discover(WORK)


async def test_a_group_that_is_gone_is_left_so(aws: AwsInTest, executor: Eks) -> None:
    group(aws, "system", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    aws.boto("eks").delete_nodegroup(clusterName="staging", nodegroupName="system")
    await wake_up(executor, WORK, items)
    group(aws, "system", 0, 4, 0)  # another one of that name
    await wake_up(executor, WORK, items)
    assert sizes(aws) == {"system": {"minSize": 0, "maxSize": 4, "desiredSize": 0}}
    assert await executor.settled(WORK, items[0], "Awake")


async def test_failures_halfway_throttling_and_lost_answers(aws: AwsInTest, executor: Eks) -> None:
    for name in ("a", "b", "c"):
        group(aws, name, 1, 2, 1)
    before = sizes(aws)
    one, two, three = await awake(executor, WORK)
    update = "UpdateNodegroupConfig"
    aws.proxy.fail(update, Fault(429, "TooManyRequestsException"), about="/a/")
    aws.proxy.fail(update, Fault(409, "ResourceInUseException", "an update is in progress"), about="/b/")
    aws.proxy.fail(update, Lost(), about="/c/")
    for item, expected in ((one, Throttled), (two, Retryable), (three, Retryable)):
        with pytest.raises(expected):
            await executor.sleep(WORK, item)
    for item in (one, two, three):
        await executor.sleep(WORK, item)
    aws.proxy.fail(update, BROKEN, about="/b/")
    with pytest.raises(Retryable):
        await executor.wake(WORK, two)
    await wake_up(executor, WORK, [one, two, three])
    assert sizes(aws) == before
