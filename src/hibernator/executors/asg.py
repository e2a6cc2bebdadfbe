"""Auto-scaling groups: with nothing wanted and nothing needed AWS takes the instances away.

The greatest size stays as it is: it costs nothing, and whoever looks at the group in the night sees what it
is meant to be.
"""

from typing import Any, ClassVar, Final

from hibernator.api.parameters import AsgParameters, AsgSelector
from hibernator.api.planstatus import Rest
from hibernator.executors.aws import AwsAccount, AwsAccounts, Document
from hibernator.executors.aws_shapes import Shapes, shapes, total
from hibernator.executors.aws_sizes import Size, saved_size, still_asleep
from hibernator.executors.ec2 import tag_filter
from hibernator.executors.protocol import Executor, Item, Job, Permanent, Saved, parameters_as

_DELETING: Final = "Delete in progress"
_NAMES: Final = 50  # that AWS takes in one question


class Asg(Executor):
    identity: ClassVar[str] = "arn"

    def __init__(self, accounts: AwsAccounts) -> None:
        self._accounts = accounts

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = parameters_as(job, AsgParameters).selector
        account = await self._accounts.aws(job)
        found = [one for query in _queries(wanted) for one in await groups(account, **query)]
        if missing := set(wanted.names) - {one["AutoScalingGroupName"] for one in found}:
            raise Permanent(f"names: there is no auto-scaling group {', '.join(sorted(missing))} here.")
        types = (one["InstanceType"] for group in found for one in group["Instances"])
        known = await shapes(account, types)
        return tuple(_item(one, known) for one in found)

    async def sleep(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        group = await _read(account, item)
        if group and not _size(group).asleep:
            await _resize(account, item, MinSize=0, DesiredCapacity=0)

    async def wake(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        group, before = await _read(account, item), saved_size(item.restore)
        if group and still_asleep(_size(group), before):
            await _resize(
                account, item, MinSize=before.min, MaxSize=before.max, DesiredCapacity=before.desired
            )

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        group = await _read(await self._accounts.aws(job), item)
        if group is None:
            return True
        if rest == "Asleep":
            return not group["Instances"]
        serving = [one for one in group["Instances"] if one["LifecycleState"] == "InService"]
        return len(serving) >= _size(group).desired


async def groups(account: AwsAccount, **query: Any) -> list[Document]:
    """The groups that are there and stay."""
    found = await account.pages("autoscaling", "describe_auto_scaling_groups", "AutoScalingGroups", **query)
    return [one for one in found if one.get("Status") != _DELETING]


async def _read(account: AwsAccount, item: Saved) -> Document | None:
    """The very group that was saved, if it is still there."""
    found = await groups(account, AutoScalingGroupNames=[item.key])
    return next((one for one in found if one["AutoScalingGroupARN"] == item.restore["arn"]), None)


async def _resize(account: AwsAccount, item: Saved, **sizes: int) -> None:
    await account.write("autoscaling", "update_auto_scaling_group", AutoScalingGroupName=item.key, **sizes)


def _queries(wanted: AsgSelector) -> list[dict[str, Any]]:
    if not wanted.names and not wanted.tags:
        raise Permanent("selector: no groups are selected. Set tags or names.")
    tags = [tag_filter(key, value) for key, value in sorted(wanted.tags.items())]
    query = {"Filters": tags} if tags else {}
    if not wanted.names:
        return [query]
    return [
        {**query, "AutoScalingGroupNames": list(wanted.names[start : start + _NAMES])}
        for start in range(0, len(wanted.names), _NAMES)
    ]


def _item(group: Document, known: Shapes) -> Item:
    size, key = _size(group), group["AutoScalingGroupName"]
    if size.asleep:
        return Item(key=key, note="wanted no instances already")
    saving = total(known, (one["InstanceType"] for one in group["Instances"]))
    return Item(key=key, restore={"arn": group["AutoScalingGroupARN"], **size.document()}, saving=saving)


def _size(group: Document) -> Size:
    return Size(group["MinSize"], group["MaxSize"], group["DesiredCapacity"])
