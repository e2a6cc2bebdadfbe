"""EC2 instances: stopped, and started again where they ran.

Not touched are those that somebody else looks after, who would only replace them: auto-scaling groups and
Karpenter. Nor those that AWS cannot stop: one-time spot instances, and those without a disk of their own.
"""

from collections.abc import Iterable
from typing import Any, Final

from hibernator.api.parameters import Ec2Parameters, Ec2Selector
from hibernator.api.planstatus import Rest
from hibernator.executors.aws import AwsAccount, AwsAccounts, AwsRefusedError, Document
from hibernator.executors.aws_shapes import Shapes, shapes, total
from hibernator.executors.protocol import (
    Executor,
    Item,
    Job,
    Permanent,
    Saved,
    Underway,
    parameters_as,
)

_GONE: Final = {"shutting-down", "terminated"}
_ASLEEP: Final = {"stopping", "stopped"}
_OF_OTHERS: Final = ("aws:autoscaling:groupName", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name")
_PAUSE: Final = 10.0  # seconds until an instance in the middle of something is looked at again


class Ec2(Executor):
    def __init__(self, accounts: AwsAccounts) -> None:
        self._accounts = accounts

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = parameters_as(job, Ec2Parameters).selector
        account = await self._accounts.aws(job)
        found = [one for one in await _instances(account, **_query(wanted)) if _is_ours(one)]
        known = await shapes(account, (one["InstanceType"] for one in found))
        return tuple(_item(one, known) for one in found)

    async def sleep(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        match await _state(account, item):
            case "running":
                await account.write("ec2", "stop_instances", InstanceIds=[item.key])
            case "pending":
                raise Underway(f"{item.key} is still starting.", retry_after=_PAUSE)

    async def wake(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        match await _state(account, item):
            case "stopped":
                await account.write("ec2", "start_instances", InstanceIds=[item.key])
            case "stopping":
                raise Underway(f"{item.key} is still stopping.", retry_after=_PAUSE)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        state = await _state(await self._accounts.aws(job), item)
        return state is None or state == ("stopped" if rest == "Asleep" else "running")


def _query(wanted: Ec2Selector) -> dict[str, Any]:
    query: dict[str, Any] = {}
    if wanted.instance_ids:
        query["InstanceIds"] = list(wanted.instance_ids)
    if wanted.tags:
        query["Filters"] = [tag_filter(key, value) for key, value in sorted(wanted.tags.items())]
    if not query:
        raise Permanent("selector: no instances are selected. Set tags or instanceIds.")
    return query


def tag_filter(key: str, value: str) -> dict[str, Any]:
    """A tag as EC2 and auto-scaling are asked for it; an empty value stands for any."""
    return {"Name": f"tag:{key}", "Values": [value]} if value else {"Name": "tag-key", "Values": [key]}


async def _instances(account: AwsAccount, **query: Any) -> list[Document]:
    reservations = await account.pages("ec2", "describe_instances", "Reservations", **query)
    return [one for reservation in reservations for one in reservation["Instances"]]


async def _state(account: AwsAccount, item: Saved) -> str | None:
    """What it is doing; None when it is gone, which its id never comes back from."""
    try:
        found = await _instances(account, InstanceIds=[item.key])
    except AwsRefusedError as error:
        if error.code == "InvalidInstanceID.NotFound":
            return None
        raise
    state = str(found[0]["State"]["Name"]) if found else ""
    return state if state and state not in _GONE else None


def _is_ours(instance: Document) -> bool:
    if instance["State"]["Name"] in _GONE or _tags(instance, _OF_OTHERS):
        return False
    stays = instance.get("InstanceLifecycle") != "spot"
    return stays and instance.get("RootDeviceType", "ebs") == "ebs"


def _tags(instance: Document, keys: Iterable[str]) -> list[str]:
    return [tag["Value"] for tag in instance.get("Tags") or () if tag["Key"] in keys]


def _item(instance: Document, known: Shapes) -> Item:
    state = instance["State"]["Name"]
    if state in _ASLEEP:
        return Item(key=instance["InstanceId"], note=f"was {state} already")
    type_ = instance["InstanceType"]
    restore = {"state": "running", "type": type_, "name": "".join(_tags(instance, ("Name",)))}
    return Item(key=instance["InstanceId"], restore=restore, saving=total(known, [type_]))
