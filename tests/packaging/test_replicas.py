"""What the chart's defaults rest on: two replicas, as two processes of one machine, share one SQLite file."""

import json

import pytest

from support.cluster import ClusterInTest
from support.command import hibernator
from support.installation import Installation


@pytest.fixture
def replicas(empty_cluster: ClusterInTest, tmp_path_factory: pytest.TempPathFactory) -> list[Installation]:
    folder = tmp_path_factory.mktemp("replicas")
    return [Installation(empty_cluster, folder), Installation(empty_cluster, folder)]


def asleep(installation: Installation, name: str) -> bool:
    path = f"/apis/hibernator.ardikabs.com/v1alpha1/namespaces/default/hibernateplans/{name}"
    return bool(installation.plane.request("GET", path).get("status", {}).get("phase") == "Hibernated")


def sleep_always(installation: Installation, name: str) -> None:
    days = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
    window = {"start": "00:00", "end": "23:59", "daysOfWeek": days}
    spec = {
        "schedule": {"timezone": "UTC", "offHours": [window]},
        "execution": {"strategy": {"type": "Sequential"}},
        "targets": [{"name": "drill", "type": "noop", "parameters": {}}],
    }
    plan = {"apiVersion": "hibernator.ardikabs.com/v1alpha1", "kind": "HibernatePlan", "spec": spec}
    installation.plane.kubectl(
        "apply", "-n", "default", "-f", "-", input=json.dumps(plan | {"metadata": {"name": name}})
    )
    installation.until(lambda: asleep(installation, name))


def told(installation: Installation) -> set[str]:
    """The plans that the audit trail tells of."""
    ran = hibernator("audit", "list", "--database", installation.database, "-o", "ndjson")
    return {json.loads(line)["resource"]["name"] for line in ran.out.splitlines()}


def test_one_of_them_is_killed_and_the_other_goes_on_with_the_same_trail(
    replicas: list[Installation],
) -> None:
    one, other = replicas
    one.apply()
    try:
        one.start()
        other.start()
        sleep_always(one, "before")
        assert one.process is not None
        one.process.kill()
        one.process.wait()
        one.process = None
        sleep_always(other, "after")
        other.until(lambda: {"before", "after"} <= told(other))
        other.until(lambda: other.findings()[0] == 0)
        (chain,) = other.about("audit chain")
        assert chain["level"] == "ok"
    finally:
        for each in replicas:
            each.stop()
