"""EC2 instances asleep and awake, on moto."""

from collections.abc import Callable
from typing import Any

import pytest

from hibernator.executors.aws.account import AwsRefusedError
from hibernator.executors.aws.ec2 import Ec2
from hibernator.executors.protocol import Permanent, Retryable, Saved, Throttled
from support.aws import BROKEN, IMAGE, SLOW_DOWN, AwsInTest, Fault, Lost, One
from support.cloud import awake, fall_asleep, job, wake_up

TEAM = {"team": "web"}
WORK = job("ec2", {"selector": {"tags": TEAM}})


@pytest.fixture
def executor(aws: AwsInTest) -> Ec2:
    return Ec2(One(aws.account()))


@pytest.fixture
def run(aws: AwsInTest) -> Callable[..., list[str]]:
    def start(number: int = 1, **tags: str) -> list[str]:
        chosen = [{"Key": key, "Value": value} for key, value in tags.items()]
        made = aws.boto("ec2").run_instances(
            ImageId=IMAGE,
            MinCount=number,
            MaxCount=number,
            InstanceType="m5.large",
            **({"TagSpecifications": [{"ResourceType": "instance", "Tags": chosen}]} if chosen else {}),
        )
        return [one["InstanceId"] for one in made["Instances"]]

    return start


def states(aws: AwsInTest) -> dict[str, Any]:
    found = aws.boto("ec2").describe_instances()["Reservations"]
    return {one["InstanceId"]: one["State"]["Name"] for each in found for one in each["Instances"]}


async def test_instances_stop_and_start_again_and_what_was_stopped_stays_stopped(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    running, other = run(3, team="web"), run(team="db")
    off = run(team="web")
    aws.boto("ec2").stop_instances(InstanceIds=off)
    before = states(aws)
    found = {item.key: item for item in await executor.discover(WORK)}
    assert set(found) == {*running, *off}
    assert found[off[0]].restore is None
    assert found[running[0]].restore == {"state": "running", "type": "m5.large", "name": ""}
    assert (found[running[0]].saving.cpu_cores, found[running[0]].saving.memory_gib) == (2.0, 8.0)
    assert found[running[0]].saving.machines == {"eu-central-1/m5.large": 1.0}

    items = await fall_asleep(executor, WORK)
    assert states(aws) == {**dict.fromkeys([*running, *off], "stopped"), other[0]: "running"}
    assert all([await executor.settled(WORK, item, "Asleep") for item in items])
    assert all(item.asleep for item in await executor.discover(WORK) if item.key in running)

    await wake_up(executor, WORK, items)
    assert states(aws) == before
    assert all([await executor.settled(WORK, item, "Awake") for item in items])


async def test_doing_it_again_after_a_crash_changes_nothing_more(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    run(2, team="web")
    items = await fall_asleep(executor, WORK)
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    asleep, again = ["CreateTags", "StopInstances"], ["StartInstances", "DeleteTags"]
    assert aws.proxy.changes() == asleep * 2 + again * 2


@pytest.mark.parametrize("tag", ["aws:autoscaling:groupName", "karpenter.sh/nodepool"])
async def test_what_someone_else_looks_after_is_left_alone(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]], tag: str
) -> None:
    mine, theirs = run(team="web"), run(team="web")
    if tag.startswith("aws:"):
        _grouped(aws, theirs[0])
    else:
        aws.boto("ec2").create_tags(Resources=theirs, Tags=[{"Key": tag, "Value": "default"}])
    assert [item.key for item in await executor.discover(WORK)] == mine


def _grouped(aws: AwsInTest, instance: str) -> None:
    """Have an auto-scaling group take the instance in, which tags it as its own."""
    group = aws.boto("autoscaling")
    group.create_auto_scaling_group(
        AutoScalingGroupName="others",
        InstanceId=instance,
        MinSize=0,
        MaxSize=2,
        AvailabilityZones=["eu-central-1a"],
    )
    group.attach_instances(AutoScalingGroupName="others", InstanceIds=[instance])


GONE = "i-0123456789abcdef0"


async def test_instances_by_id_sleep_and_one_that_is_unknown_is_skipped_with_a_note(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    chosen, other = run(2)
    work = job("ec2", {"selector": {"instanceIds": [chosen, GONE]}})
    mine, gone = await executor.discover(work)
    assert (mine.key, mine.restore is None) == (chosen, False)
    assert (gone.key, gone.restore) == (GONE, None)
    assert gone.note == "does not exist: terminated, or of another region or account"
    items = await fall_asleep(executor, work)
    assert states(aws) == {chosen: "stopped", other: "running"}
    await wake_up(executor, work, items)
    assert states(aws) == {chosen: "running", other: "running"}


async def test_ids_of_which_none_is_known_are_a_mistake_and_named(executor: Ec2) -> None:
    work = job("ec2", {"selector": {"instanceIds": [GONE]}})
    with pytest.raises(Permanent, match=f"none of {GONE} in eu-central-1"):
        await executor.discover(work)


async def test_an_id_without_the_tags_is_neither_selected_nor_called_unknown(
    executor: Ec2, run: Callable[..., list[str]]
) -> None:
    (mine,), (other,) = run(team="web"), run(team="db")
    work = job("ec2", {"selector": {"instanceIds": [mine, other, GONE], "tags": TEAM}})
    assert [(item.key, item.restore is None) for item in await executor.discover(work)] == [
        (mine, False),
        (GONE, True),
    ]


async def test_more_ids_than_fit_into_one_filter_are_asked_for_in_parts(
    executor: Ec2, run: Callable[..., list[str]]
) -> None:
    (mine,) = run()
    ids = [f"i-{number:017x}" for number in range(250)]
    found = await executor.discover(job("ec2", {"selector": {"instanceIds": [*ids, mine]}}))
    assert [item.key for item in found if item.restore is not None] == [mine]
    assert len(found) == 251


async def test_a_tag_without_a_value_stands_for_any_value(
    executor: Ec2, run: Callable[..., list[str]]
) -> None:
    one, other = run(team="web"), run(team="db")
    run(owner="x")
    work = job("ec2", {"selector": {"tags": {"team": ""}}})
    assert {item.key for item in await executor.discover(work)} == {*one, *other}


async def test_an_empty_selector_never_means_everything(executor: Ec2, run: Callable[..., list[str]]) -> None:
    run(team="web")
    with pytest.raises(Permanent, match="Set tags or instanceIds"):
        await executor.discover(job("ec2", {"selector": {}}))


async def test_what_was_terminated_in_the_night_is_woken_no_more(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    run(team="web")
    items = await fall_asleep(executor, WORK)
    aws.boto("ec2").terminate_instances(InstanceIds=[items[0].key])
    await wake_up(executor, WORK, items)
    assert await executor.settled(WORK, items[0], "Awake")
    await executor.wake(WORK, Saved(key="i-0123456789abcdef0", restore={}))
    assert "StartInstances" not in aws.proxy.calls


async def test_what_fails_halfway_is_told_and_the_rest_is_asleep(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    running = run(3, team="web")
    items = await awake(executor, WORK)
    aws.proxy.fail("StopInstances", Fault(403, "UnauthorizedOperation", "not you"), about=running[1])
    failed = []
    for item in items:
        try:
            await executor.sleep(WORK, item)
        except Permanent as error:
            failed.append((item.key, str(error)))
    assert failed == [(running[1], "AWS refused it. StopInstances: not you")]
    assert sorted(states(aws).values()) == ["running", "stopped", "stopped"]
    await wake_up(executor, WORK, items)
    assert set(states(aws).values()) == {"running"}


async def test_being_asked_to_slow_down_costs_a_pause_and_nothing_else(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    run(team="web")
    (item,) = await awake(executor, WORK)
    for action in ("StopInstances", "DescribeInstances"):
        aws.proxy.fail(action, SLOW_DOWN)
        with pytest.raises(Throttled) as caught:
            await executor.sleep(WORK, item)
        assert caught.value.retry_after == 5.0
    await executor.sleep(WORK, item)
    assert set(states(aws).values()) == {"stopped"}


async def test_reading_is_tried_again_and_a_change_is_not(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    run(team="web")
    aws.proxy.fail("DescribeInstances", BROKEN, times=2)
    (item,) = await awake(executor, WORK)
    aws.proxy.fail("StopInstances", BROKEN)
    with pytest.raises(Retryable):
        await executor.sleep(WORK, item)
    assert aws.proxy.changes() == ["CreateTags", "StopInstances"]


async def test_a_change_whose_answer_was_lost_is_found_done(
    aws: AwsInTest, executor: Ec2, run: Callable[..., list[str]]
) -> None:
    run(team="web")
    (item,) = await awake(executor, WORK)
    aws.proxy.fail("StopInstances", Lost())
    with pytest.raises(Retryable):
        await executor.sleep(WORK, item)
    assert set(states(aws).values()) == {"stopped"}
    await executor.sleep(WORK, item)
    assert aws.proxy.changes() == ["CreateTags", "StopInstances"]


async def test_without_the_lease_nothing_is_changed(aws: AwsInTest, run: Callable[..., list[str]]) -> None:
    run(team="web")

    class NotLeading(Exception):  # noqa: N818 — as in kube.election, for any fence
        pass

    def fence() -> float:
        raise NotLeading

    executor = Ec2(One(aws.account(fence=fence)))
    (item,) = await awake(executor, WORK)
    with pytest.raises(NotLeading):
        await executor.sleep(WORK, item)
    assert aws.proxy.changes() == []


async def test_a_lease_that_runs_out_ends_the_wait_for_an_answer(
    aws: AwsInTest, run: Callable[..., list[str]]
) -> None:
    run(team="web")
    executor = Ec2(One(aws.account(fence=lambda: 0.0)))
    (item,) = await awake(executor, WORK)
    with pytest.raises(Retryable, match="did not answer"):
        await executor.sleep(WORK, item)


async def test_refused_keys_are_not_repeated_in_the_message(aws: AwsInTest, executor: Ec2) -> None:
    said = "The Canonical String was: host:x x-amz-security-token:SECRET"
    aws.proxy.fail("DescribeInstances", Fault(403, "SignatureDoesNotMatch", said))
    with pytest.raises(AwsRefusedError, match="give it valid ones") as caught:
        await executor.discover(WORK)
    assert "SECRET" not in str(caught.value)
    assert caught.value.code == "SignatureDoesNotMatch"


async def test_the_role_is_taken_on_once_and_used_for_everything(
    aws: AwsInTest, run: Callable[..., list[str]]
) -> None:
    account = aws.account(role="arn:aws:iam::123456789012:role/hibernator")
    for _ in range(2):
        who = await account.read("sts", "get_caller_identity")
        assert who["Arn"] == "arn:aws:sts::123456789012:assumed-role/hibernator/hibernator"
    assert aws.proxy.calls.count("AssumeRole") == 1
