"""EC2 instances: stopped, and started again where they ran.

Not touched are those that auto-scaling groups and Karpenter look after, which would only replace them. Nor
those that AWS cannot stop: one-time spot instances, and those without a disk of their own. AWS forgets a
terminated instance after about an hour, so one of several ids that leads nowhere is skipped with a note.
"""

from collections.abc import Collection, Iterable, Sequence
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
_IDS: Final = 200  # values that AWS takes in one filter
_UNKNOWN: Final = "does not exist: terminated, or of another region or account"


class Ec2(Executor):
    def __init__(self, accounts: AwsAccounts) -> None:
        self._accounts = accounts

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = parameters_as(job, Ec2Parameters).selector
        account = await self._accounts.aws(job)
        every = [one for query in _queries(wanted) for one in await _instances(account, **query)]
        found = [one for one in every if _is_ours(one)]
        known = await shapes(account, (one["InstanceType"] for one in found))
        unknown = await _unknown(account, wanted, {one["InstanceId"] for one in every})
        return (*(_item(one, known) for one in found), *(Item(key=id_, note=_UNKNOWN) for id_ in unknown))

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


def _queries(wanted: Ec2Selector) -> list[dict[str, Any]]:
    """A filter by id, unlike a list of ids, is answered with those that exist instead of an error."""
    if not wanted.instance_ids and not wanted.tags:
        raise Permanent("selector: no instances are selected. Set tags or instanceIds.")
    tags = [tag_filter(key, value) for key, value in sorted(wanted.tags.items())]
    if not wanted.instance_ids:
        return [{"Filters": tags}]
    return [{"Filters": [*tags, one]} for one in _id_filters(wanted.instance_ids)]


def _id_filters(ids: Sequence[str]) -> list[dict[str, Any]]:
    starts = range(0, len(ids), _IDS)
    return [{"Name": "instance-id", "Values": list(ids[start : start + _IDS])} for start in starts]


async def _unknown(account: AwsAccount, wanted: Ec2Selector, found: Collection[str]) -> list[str]:
    """Which of the ids AWS does not know; a mistake if it knows none of them."""
    missing = [id_ for id_ in dict.fromkeys(wanted.instance_ids) if id_ not in found]
    if wanted.tags:  # an id without the tags is known, and only not selected
        queries = [{"Filters": [one]} for one in _id_filters(missing)]
        known = {one["InstanceId"] for query in queries for one in await _instances(account, **query)}
        missing = [id_ for id_ in missing if id_ not in known]
    if missing and len(missing) == len(set(wanted.instance_ids)):
        raise Permanent(
            f"instanceIds: AWS knows none of {', '.join(missing)} in {account.region}. Look at the ids, the "
            "region and the account of the connector."
        )
    return missing


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
