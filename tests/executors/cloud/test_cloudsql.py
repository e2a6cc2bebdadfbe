"""Cloud SQL asleep and awake, against Google's published API."""

from dataclasses import dataclass

import pytest

from hibernator.executors.gcp.cloudsql import CloudSql
from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.protocol import Job, Permanent, Retryable, Throttled
from support.cloud import awake, fall_asleep, job, wake_up
from support.gcp import Google, Refused

WORK = job("cloudsql", {"instanceName": "orders"})


@dataclass(frozen=True)
class Dev:
    project: GcpProject

    async def gcp(self, _job: Job) -> GcpProject:
        return self.project


@pytest.fixture
def executor(project: GcpProject) -> CloudSql:
    return CloudSql(Dev(project))


def settings(google: Google) -> dict[str, str]:
    found = dict(google.databases["orders"]["settings"])
    del found["settingsVersion"]  # which counts the changes
    found.pop("userLabels", None)
    return found


@pytest.mark.parametrize("policy", ["ALWAYS", "ON_DEMAND"])
async def test_an_instance_stops_and_starts_with_the_policy_that_it_had(
    google: Google, executor: CloudSql, policy: str
) -> None:
    google.database("orders", policy)
    before = settings(google)
    (found,) = await executor.discover(WORK)
    assert (found.saving.cpu_cores, found.saving.memory_gib) == (2.0, 7.5)
    assert found.saving.machines == {}
    items = await fall_asleep(executor, WORK)
    assert settings(google) == {**before, "activationPolicy": "NEVER"}
    assert await executor.settled(WORK, items[0], "Asleep")
    assert not await executor.settled(WORK, items[0], "Awake")
    for item in items:
        await executor.sleep(WORK, item)
    await wake_up(executor, WORK, items * 2)
    assert settings(google) == before
    assert await executor.settled(WORK, items[0], "Awake")
    assert google.changes() == ["patch", "patch"]


async def test_what_was_stopped_stays_stopped(google: Google, executor: CloudSql) -> None:
    google.database("orders", "NEVER")
    assert [item.restore for item in await executor.discover(WORK)] == [None]


@pytest.mark.parametrize("forbidden", [True, False])
async def test_an_instance_that_is_gone_is_left_so_however_google_says_it(
    google: Google, executor: CloudSql, *, forbidden: bool
) -> None:
    google.missing_is_forbidden = forbidden
    google.database("orders")
    items = await fall_asleep(executor, WORK)
    del google.databases["orders"]
    await wake_up(executor, WORK, items)
    assert await executor.settled(WORK, items[0], "Awake")
    with pytest.raises(Permanent, match="there is no instance orders in the project dev"):
        await executor.discover(WORK)
    google.database("orders", "NEVER", createTime="2026-03-02T23:00:00Z")
    await wake_up(executor, WORK, items)
    assert settings(google)["activationPolicy"] == "NEVER"


async def test_an_instance_that_may_not_be_seen_is_not_taken_for_gone(
    google: Google, executor: CloudSql
) -> None:
    google.database("orders")
    google.fail("sql.instances.get", Refused(403, "Not you.", "PERMISSION_DENIED"))
    with pytest.raises(Permanent, match="Not you"):
        await executor.discover(WORK)


async def test_a_read_replica_is_refused_with_what_to_do(google: Google, executor: CloudSql) -> None:
    google.database("orders", instanceType="READ_REPLICA_INSTANCE")
    (item,) = await awake(executor, WORK)
    with pytest.raises(Permanent, match="Name its primary"):
        await executor.sleep(WORK, item)


async def test_someone_elses_change_at_the_same_time_is_not_undone(
    google: Google, executor: CloudSql
) -> None:
    google.database("orders")
    (item,) = await awake(executor, WORK)
    google.fail("sql.instances.patch", Refused(412, "Condition does not match.", reason="staleData"))
    with pytest.raises(Retryable, match="changed at the same time"):
        await executor.sleep(WORK, item)
    await executor.sleep(WORK, item)
    assert settings(google)["activationPolicy"] == "NEVER"


async def test_throttling_lost_answers_and_failed_operations(google: Google, executor: CloudSql) -> None:
    google.database("orders")
    (item,) = await awake(executor, WORK)
    google.fail("sql.instances.patch", Refused(409, "Busy.", reason="operationInProgress"))
    with pytest.raises(Throttled, match="Busy"):
        await executor.sleep(WORK, item)
    google.fail("sql.instances.patch", None)
    with pytest.raises(Retryable):
        await executor.sleep(WORK, item)
    await executor.sleep(WORK, item)
    google.operations.clear()
    google.operation_error = {"errors": [{"code": "INTERNAL", "message": "No disk."}]}
    with pytest.raises(Retryable, match="No disk"):
        await executor.wake(WORK, item)
    assert google.changes() == ["patch", "patch", "patch"]


@pytest.mark.parametrize("name", ["..", "a/../b", "x?y"])
async def test_a_name_leads_nowhere_else(google: Google, executor: CloudSql, name: str) -> None:
    google.database("orders")
    with pytest.raises(Permanent):
        await executor.discover(job("cloudsql", {"instanceName": name}))
    assert all(call in {"sql.instances.get", "sql.instances.list"} for call in google.calls)
