"""Auto-scaling groups asleep and awake, on moto."""

from typing import Any

import pytest

from hibernator.executors.aws.asg import Asg
from hibernator.executors.protocol import Permanent, Retryable, Throttled
from support.aws import BROKEN, IMAGE, SLOW_DOWN, AwsInTest, Fault, Lost, One
from support.cloud import awake, fall_asleep, job, wake_up

WORK = job("asg", {"selector": {"tags": {"team": "web"}}})


@pytest.fixture
def executor(aws: AwsInTest) -> Asg:
    scaling = aws.boto("autoscaling")
    scaling.create_launch_configuration(
        LaunchConfigurationName="small", ImageId=IMAGE, InstanceType="m5.large"
    )
    return Asg(One(aws.account()))


def group(aws: AwsInTest, name: str, low: int, high: int, desired: int, **tags: str) -> None:
    aws.boto("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=name,
        LaunchConfigurationName="small",
        MinSize=low,
        MaxSize=high,
        DesiredCapacity=desired,
        AvailabilityZones=["eu-central-1a"],
        Tags=[{"Key": key, "Value": value} for key, value in (tags or {"team": "web"}).items()],
    )


def sizes(aws: AwsInTest) -> dict[str, tuple[int, int, int, int]]:
    found: Any = aws.boto("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
    return {
        one["AutoScalingGroupName"]: (
            one["MinSize"],
            one["MaxSize"],
            one["DesiredCapacity"],
            len(one["Instances"]),
        )
        for one in found
    }


async def test_groups_lose_their_instances_and_get_back_exactly_what_they_were(
    aws: AwsInTest, executor: Asg
) -> None:
    group(aws, "web", 1, 4, 2)
    group(aws, "loose", 0, 5, 3)
    group(aws, "off", 0, 3, 0)
    group(aws, "theirs", 1, 1, 1, team="db")
    before = sizes(aws)
    found = {item.key: item for item in await executor.discover(WORK)}
    assert set(found) == {"web", "loose", "off"}
    assert found["off"].restore is None
    assert (found["web"].saving.cpu_cores, found["web"].saving.memory_gib) == (4.0, 16.0)
    assert found["web"].saving.machines == {"eu-central-1/m5.large": 2.0}

    items = await fall_asleep(executor, WORK)
    assert sizes(aws) == {**before, "web": (0, 4, 0, 0), "loose": (0, 5, 0, 0)}
    assert all([await executor.settled(WORK, item, "Asleep") for item in items])

    await wake_up(executor, WORK, items)
    assert sizes(aws) == before
    assert all([await executor.settled(WORK, item, "Awake") for item in items])


async def test_doing_it_again_after_a_crash_changes_nothing_more(aws: AwsInTest, executor: Asg) -> None:
    group(aws, "web", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    assert aws.proxy.changes() == [
        "CreateOrUpdateTags",
        "UpdateAutoScalingGroup",
        "UpdateAutoScalingGroup",
        "DeleteTags",
    ]


async def test_a_group_that_a_scaling_rule_touched_in_the_night_gets_back_its_sizes(
    aws: AwsInTest, executor: Asg
) -> None:
    group(aws, "web", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    aws.boto("autoscaling").set_desired_capacity(AutoScalingGroupName="web", DesiredCapacity=1)
    await wake_up(executor, WORK, items)
    assert sizes(aws)["web"] == (1, 4, 2, 2)


async def test_a_group_that_someone_woke_is_left_as_they_want_it(aws: AwsInTest, executor: Asg) -> None:
    group(aws, "web", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    aws.boto("autoscaling").update_auto_scaling_group(
        AutoScalingGroupName="web", MinSize=3, MaxSize=9, DesiredCapacity=3
    )
    await wake_up(executor, WORK, items)
    assert sizes(aws)["web"] == (3, 9, 3, 3)


async def test_a_new_group_of_the_same_name_is_not_woken_as_the_old_one(
    aws: AwsInTest, executor: Asg
) -> None:
    group(aws, "web", 1, 4, 2)
    items = await fall_asleep(executor, WORK)
    aws.boto("autoscaling").delete_auto_scaling_group(AutoScalingGroupName="web", ForceDelete=True)
    await wake_up(executor, WORK, items)
    group(aws, "web", 0, 2, 0)
    await wake_up(executor, WORK, items)
    assert await executor.settled(WORK, items[0], "Awake")
    assert sizes(aws)["web"] == (0, 2, 0, 0)


async def test_groups_by_name_and_those_that_are_not_there_are_named(aws: AwsInTest, executor: Asg) -> None:
    for number in range(60):  # more than AWS takes in one question
        group(aws, f"web-{number}", 0, 1, 0)
    names = [f"web-{number}" for number in range(60)]
    assert len(await executor.discover(job("asg", {"selector": {"names": names}}))) == 60
    with pytest.raises(Permanent, match="no auto-scaling group api, db here"):
        await executor.discover(job("asg", {"selector": {"names": ["web-1", "db", "api"]}}))


async def test_an_empty_selector_never_means_everything(aws: AwsInTest, executor: Asg) -> None:
    group(aws, "web", 1, 4, 2)
    with pytest.raises(Permanent, match="Set tags or names"):
        await executor.discover(job("asg", {"selector": {}}))


async def test_failures_halfway_throttling_and_lost_answers(aws: AwsInTest, executor: Asg) -> None:
    for name in ("a", "b", "c"):
        group(aws, name, 1, 2, 1)
    before = sizes(aws)
    one, two, three = await awake(executor, WORK)
    aws.proxy.fail("UpdateAutoScalingGroup", SLOW_DOWN, about="=a&")
    aws.proxy.fail("UpdateAutoScalingGroup", BROKEN, about="=b&")
    aws.proxy.fail("UpdateAutoScalingGroup", Lost(), about="=c&")
    for item, expected in ((one, Throttled), (two, Retryable), (three, Retryable)):
        with pytest.raises(expected):
            await executor.sleep(WORK, item)
    asleep = (0, 2, 0, 0)
    assert sizes(aws) == {**before, "c": asleep}
    for item in (one, two, three):
        await executor.sleep(WORK, item)
    assert sizes(aws) == dict.fromkeys("abc", asleep)
    aws.proxy.fail("UpdateAutoScalingGroup", Fault(400, "ValidationError", "no"), about="=b&")
    await executor.wake(WORK, one)
    with pytest.raises(Permanent, match="no"):
        await executor.wake(WORK, two)
    await wake_up(executor, WORK, [one, two, three])
    assert sizes(aws) == before
