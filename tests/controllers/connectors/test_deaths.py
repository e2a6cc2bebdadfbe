"""The operator dies after each of its writes, in the cluster and at AWS; nothing is lost or done twice."""

import json
from typing import Any

from hibernator.kube.controller import Key
from support.aws import IMAGE, AwsInTest
from support.clock import ManualClock
from support.connector_scenes import ConnectorScene
from support.plan_lives import Killed, live
from support.plan_scenes import EVENING, MORNING, plan, workloads
from support.scaler_scenes import workload


def mixed(namespace: str, name: str) -> dict[str, Any]:
    machines = {
        "name": "machines",
        "type": "ec2",
        "connectorRef": {"kind": "CloudProvider", "name": "dev"},
        "parameters": {"selector": {"tags": {"team": "web"}}},
    }
    execution = {"strategy": {"type": "DAG", "dependencies": [{"from": "web", "to": "machines"}]}}
    return plan(workloads("web", namespace), machines, name=name, execution=execution)


def machines(aws: AwsInTest) -> dict[str, str]:
    found = aws.boto("ec2").describe_instances()["Reservations"]
    return {one["InstanceId"]: one["State"]["Name"] for each in found for one in each["Instances"]}


async def night(scene: ConnectorScene, aws: AwsInTest, name: str, last: int | None) -> tuple[Any, bool, int]:
    """What was to be seen in the evening and in the morning, whether somebody died, and how many writes."""
    scene.create(mixed(scene.namespace, name))
    key, seen, died, writes = Key(scene.namespace, name), [], False, 0
    for moment in (EVENING, MORNING):
        left = None if last is None or died else last - writes
        try:
            writes += await live(scene.cluster.kubeconfig, key, ManualClock(moment), last=left)
        except Killed:
            died = True
            await live(scene.cluster.kubeconfig, key, ManualClock(moment))
        kept = [found["data"]["items.json"] for found in scene.restore_data()]
        status = scene.plan_status(name)
        targets = sorted((one["name"], one["state"], one.get("attempts")) for one in status["targets"])
        seen += [scene.workloads(), machines(aws), kept, status["phase"], targets]
    return json.loads(json.dumps(seen).replace(f"/{name}", "/nights")), died, writes


async def test_killed_after_any_write_here_or_at_aws_it_goes_on_as_if_nothing_had_happened(
    scene: ConnectorScene, aws: AwsInTest
) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "team", "Value": "web"}]}]
    started = aws.boto("ec2").run_instances(
        ImageId=IMAGE, MinCount=3, MaxCount=3, InstanceType="m5.large", TagSpecifications=tags
    )
    aws.boto("ec2").stop_instances(InstanceIds=[started["Instances"][0]["InstanceId"]])
    scene.keys()
    scene.aws_provider(aws)
    scene.create(workload(name="web", replicas=3))
    before = scene.workloads(), machines(aws)
    reference, _, writes = await night(scene, aws, "undisturbed", None)
    assert (reference[5], reference[6]) == before
    assert set(reference[1].values()) == {"stopped"}
    for last in range(1, writes + 2):
        seen, died, _ = await night(scene, aws, f"nights-{last}", last)
        assert seen == reference, f"killed after write {last}"
        assert died is (last <= writes)
    nights = writes + 2
    awake = 2
    changes = sorted(aws.proxy.changes())
    assert changes == ["StartInstances"] * awake * nights + ["StopInstances"] * awake * nights
