"""Databases asleep and awake, on moto."""

from typing import Any

import pytest

from hibernator.executors.aws.rds import Rds
from hibernator.executors.protocol import Permanent, Retryable, Saved, Throttled, Underway
from support.aws import BROKEN, SLOW_DOWN, AwsInTest, Fault, Lost, One
from support.cloud import awake, fall_asleep, job, wake_up

EVERYTHING = {"includeAll": True, "discoverInstances": True, "discoverClusters": True}
WORK = job("rds", {"selector": EVERYTHING})


@pytest.fixture
def executor(aws: AwsInTest) -> Rds:
    return Rds(One(aws.account()))


def instance(aws: AwsInTest, name: str, **more: Any) -> None:
    tags = [{"Key": key, "Value": value} for key, value in more.pop("tags", {}).items()]
    aws.boto("rds").create_db_instance(
        DBInstanceIdentifier=name,
        Engine=more.pop("Engine", "postgres"),
        DBInstanceClass="db.m5.large",
        Tags=tags,
        **({"AllocatedStorage": 20} | more if "DBClusterIdentifier" not in more else more),
    )


def cluster(aws: AwsInTest, name: str, members: int = 2) -> None:
    aws.boto("rds").create_db_cluster(
        DBClusterIdentifier=name,
        Engine="aurora-postgresql",
        MasterUsername="root",
        MasterUserPassword="not-a-secret",
    )
    for number in range(members):
        instance(aws, f"{name}-{number}", Engine="aurora-postgresql", DBClusterIdentifier=name)


def states(aws: AwsInTest) -> dict[str, str]:
    rds = aws.boto("rds")
    instances = rds.describe_db_instances()["DBInstances"]
    clusters = rds.describe_db_clusters()["DBClusters"]
    return {
        **{
            one["DBInstanceIdentifier"]: one["DBInstanceStatus"]
            for one in instances
            if "DBClusterIdentifier" not in one
        },
        **{one["DBClusterIdentifier"]: one["Status"] for one in clusters},
    }


def snapshots(aws: AwsInTest) -> list[str]:
    rds = aws.boto("rds")
    return sorted(
        [
            one["DBSnapshotIdentifier"]
            for one in rds.describe_db_snapshots(SnapshotType="manual")["DBSnapshots"]
        ]
        + [
            one["DBClusterSnapshotIdentifier"]
            for one in rds.describe_db_cluster_snapshots(SnapshotType="manual")["DBClusterSnapshots"]
        ]
    )


async def test_instances_and_clusters_stop_and_start_and_what_was_stopped_stays_stopped(
    aws: AwsInTest, executor: Rds
) -> None:
    instance(aws, "orders")
    instance(aws, "off")
    aws.boto("rds").stop_db_instance(DBInstanceIdentifier="off")
    cluster(aws, "ledger")
    before = states(aws)
    found = {item.key: item for item in await executor.discover(WORK)}
    assert set(found) == {"instance/orders", "instance/off", "cluster/ledger"}
    assert found["instance/off"].restore is None
    assert found["instance/orders"].saving.cpu_cores == 2.0
    assert all("/db." in name for name in found["instance/orders"].saving.machines)
    assert found["instance/orders"].saving.machines
    assert found["cluster/ledger"].saving.cpu_cores == 4.0

    items = await fall_asleep(executor, WORK)
    assert states(aws) == {"orders": "stopped", "off": "stopped", "ledger": "stopped"}
    assert all([await executor.settled(WORK, item, "Asleep") for item in items])
    await wake_up(executor, WORK, items)
    assert states(aws) == before
    assert all([await executor.settled(WORK, item, "Awake") for item in items])


async def test_doing_it_again_after_a_crash_changes_nothing_more(aws: AwsInTest, executor: Rds) -> None:
    instance(aws, "orders")
    cluster(aws, "ledger", 0)
    items = await fall_asleep(executor, WORK)
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    tag, untag = "AddTagsToResource", "RemoveTagsFromResource"
    assert aws.proxy.changes() == [
        *(tag, "StopDBInstance", tag, "StopDBCluster"),
        *("StartDBInstance", untag, "StartDBCluster", untag),
    ]


async def test_what_aws_started_after_seven_days_is_stopped_again(aws: AwsInTest, executor: Rds) -> None:
    instance(aws, "orders")
    items = await fall_asleep(executor, WORK)
    aws.boto("rds").start_db_instance(DBInstanceIdentifier="orders")
    later = job("rds", {"selector": EVERYTHING}, later=7 * 24 * 3600)
    assert executor.check_every == 3600.0
    await executor.sleep(later, items[0])
    assert states(aws) == {"orders": "stopped"}


async def test_one_snapshot_a_night_however_often_it_is_tried(aws: AwsInTest, executor: Rds) -> None:
    instance(aws, "orders")
    work = job("rds", {"selector": EVERYTHING, "snapshotBeforeStop": True}, cycle=4)
    (item,) = await fall_asleep(executor, work)
    expected = ["hibernator-orders-0a1b2c3d-4"]
    assert snapshots(aws) == expected
    aws.boto("rds").start_db_instance(DBInstanceIdentifier="orders")  # by AWS, after seven days
    await executor.sleep(work, item)
    assert states(aws) == {"orders": "stopped"}
    assert snapshots(aws) == expected
    await executor.wake(work, item)
    await fall_asleep(executor, job("rds", {"selector": EVERYTHING, "snapshotBeforeStop": True}, cycle=5))
    assert snapshots(aws) == [*expected, "hibernator-orders-0a1b2c3d-5"]


async def test_a_cluster_is_stopped_when_its_snapshot_is_there(aws: AwsInTest, executor: Rds) -> None:
    cluster(aws, "ledger", 0)
    work = job("rds", {"selector": EVERYTHING, "snapshotBeforeStop": True}, cycle=4)
    (item,) = await awake(executor, work)
    aws.proxy.fail("CreateDBClusterSnapshot", Lost())
    with pytest.raises(Retryable):
        await executor.sleep(work, item)
    assert states(aws) == {"ledger": "available"}
    await executor.sleep(work, item)
    assert states(aws) == {"ledger": "stopped"}
    assert snapshots(aws) == ["hibernator-ledger-0a1b2c3d-4"]


async def test_a_snapshot_that_has_just_been_begun_is_waited_for(aws: AwsInTest, executor: Rds) -> None:
    cluster(aws, "ledger", 0)
    work = job("rds", {"selector": EVERYTHING, "snapshotBeforeStop": True})
    (item,) = await awake(executor, work)
    with pytest.raises(Underway, match="is being taken"):
        await executor.sleep(work, item)
    await executor.sleep(work, item)
    assert states(aws) == {"ledger": "stopped"}


async def test_a_database_in_the_middle_of_something_is_waited_for(aws: AwsInTest, executor: Rds) -> None:
    instance(aws, "orders")
    (item,) = await awake(executor, WORK)
    aws.proxy.rewrite = lambda _action, body: body.replace(b"Status>available<", b"Status>backing-up<")
    with pytest.raises(Underway, match="instance/orders is backing-up"):
        await executor.sleep(WORK, item)
    aws.proxy.rewrite = None
    await executor.sleep(WORK, item)
    assert states(aws) == {"orders": "stopped"}


async def test_by_tags_without_tags_and_by_name(aws: AwsInTest, executor: Rds) -> None:
    instance(aws, "web", tags={"team": "web"})
    instance(aws, "db", tags={"team": "db"})
    instance(aws, "bare")

    async def found(**selector: Any) -> list[str]:
        return sorted(item.key for item in await executor.discover(job("rds", {"selector": selector})))

    assert await found(tags={"team": "web"}, discoverInstances=True) == ["instance/web"]
    assert await found(tags={"team": ""}, discoverInstances=True) == ["instance/db", "instance/web"]
    assert await found(tags={"team": "web"}, discoverClusters=True) == []
    assert await found(excludeTags={"team": "web"}, discoverInstances=True) == [
        "instance/bare",
        "instance/db",
    ]
    assert await found(excludeTags={"team": ""}, discoverInstances=True) == ["instance/bare"]
    assert await found(instanceIds=["db"]) == ["instance/db"]
    assert await found(discoverInstances=True) == []  # nothing is chosen: nothing is what sleeps
    with pytest.raises(Permanent, match="no database instance api, zoo here"):
        await found(instanceIds=["zoo", "db", "api"])


async def test_a_member_of_a_cluster_sleeps_only_with_it(aws: AwsInTest, executor: Rds) -> None:
    cluster(aws, "ledger")
    assert [item.key for item in await executor.discover(WORK)] == ["cluster/ledger"]
    with pytest.raises(Permanent, match="belongs to the cluster ledger"):
        await executor.discover(job("rds", {"selector": {"instanceIds": ["ledger-0"]}}))


async def test_read_replicas_and_their_sources_are_refused_with_what_to_do(
    aws: AwsInTest, executor: Rds
) -> None:
    instance(aws, "orders")
    aws.boto("rds").create_db_instance_read_replica(
        DBInstanceIdentifier="copy", SourceDBInstanceIdentifier="orders"
    )
    instance(aws, "alone")
    told = {}
    items = await awake(executor, WORK)
    for item in items:
        try:
            await executor.sleep(WORK, item)
        except Permanent as error:
            told[item.key] = str(error)
    assert "is a read replica of orders" in told["instance/copy"]
    assert "has the read replicas copy" in told["instance/orders"]
    assert states(aws) == {"orders": "available", "copy": "available", "alone": "stopped"}
    await wake_up(executor, WORK, items)
    assert set(states(aws).values()) == {"available"}


async def test_what_is_gone_or_is_another_of_the_same_name_is_not_woken(
    aws: AwsInTest, executor: Rds
) -> None:
    instance(aws, "orders")
    (item,) = await fall_asleep(executor, WORK)
    other = Saved(key=item.key, restore={**item.restore, "resourceId": "db-ANOTHER"})
    await executor.wake(WORK, other)
    assert states(aws) == {"orders": "stopped"}
    aws.boto("rds").delete_db_instance(DBInstanceIdentifier="orders", SkipFinalSnapshot=True)
    await executor.wake(WORK, item)
    assert await executor.settled(WORK, item, "Awake")
    await executor.wake(WORK, Saved(key="cluster/gone", restore={"resourceId": "x"}))
    assert "StartDBInstance" not in aws.proxy.calls


async def test_failures_halfway_throttling_and_lost_answers(aws: AwsInTest, executor: Rds) -> None:
    for name in ("a1", "b1", "c1"):
        instance(aws, name)
    one, two, three = await awake(executor, WORK)
    aws.proxy.fail("StopDBInstance", SLOW_DOWN, about="=a1")
    aws.proxy.fail("StopDBInstance", BROKEN, about="=b1")
    aws.proxy.fail("StopDBInstance", Lost(), about="=c1")
    for item, expected in ((one, Throttled), (two, Retryable), (three, Retryable)):
        with pytest.raises(expected):
            await executor.sleep(WORK, item)
    assert states(aws) == {"a1": "available", "b1": "available", "c1": "stopped"}
    for item in (one, two, three):
        await executor.sleep(WORK, item)
    aws.proxy.fail("StartDBInstance", Fault(400, "InvalidDBInstanceState", "modifying"), about="=b1")
    await executor.wake(WORK, one)
    with pytest.raises(Retryable, match="modifying"):
        await executor.wake(WORK, two)
    await wake_up(executor, WORK, [one, two, three])
    assert set(states(aws).values()) == {"available"}
