"""Auto-scaling groups: with nothing wanted and nothing needed AWS takes the instances away.

The greatest size stays as it is: it costs nothing, and the group shows in the night what it is meant to be.
"""

from typing import Any, ClassVar, Final

from hibernator.api.parameters import AsgParameters, AsgSelector
from hibernator.api.planstatus import Rest
from hibernator.decisions.sleepmark import CLUSTER, TAG, SleepMark, from_tags, to_tags
from hibernator.executors.aws.account import AwsAccount, AwsAccounts, Document, tag_list, tags_of
from hibernator.executors.aws.ec2 import tag_filter
from hibernator.executors.aws.sizes import Shapes, Size, marked_size, saved_size, shapes, still_asleep, total
from hibernator.executors.cloudmarks import (
    LINGERS,
    borne,
    check_may_wake,
    is_of_another,
    mark_for,
    marking,
    of_cluster,
    of_plan,
    sleeper,
)
from hibernator.executors.protocol import Executor, Item, Job, Marked, Permanent, Saved, parameters_as

_DELETING: Final = "Delete in progress"
_NAMES: Final = 50  # that AWS takes in one question


class Asg(Executor):
    identity: ClassVar[str] = "arn"
    lingers: ClassVar[float | None] = LINGERS

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
        return tuple(_item(one, known, job) for one in found)

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        return of_plan(await _marked(await self._accounts.aws(job), TAG, job.uid), job)

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        account = await self._accounts.aws(job)
        found = await _marked(account, CLUSTER, account.cluster) if account.cluster else ()
        return of_cluster(found, account.cluster)

    async def sleep(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        group = await _read(account, item)
        if group is None or (_size(group).asleep and is_of_another(_mark(group), job)):
            return
        await _tag(account, job, item, group)
        if not _size(group).asleep:
            await _resize(account, item, MinSize=0, DesiredCapacity=0)

    async def wake(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        group, before = await _read(account, item), saved_size(item.restore)
        if group is None or is_of_another(mark := _mark(group), job):
            return
        if asleep := still_asleep(_size(group), before):
            check_may_wake(mark, job, item)
            await _resize(
                account, item, MinSize=before.min, MaxSize=before.max, DesiredCapacity=before.desired
            )
        if mark:
            with marking(item.key, again=asleep):
                tags = [_tag_of(item, Key=key) for key in borne(tags_of(group))]
                await account.write("autoscaling", "delete_tags", Tags=tags)

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


async def _marked(account: AwsAccount, tag: str, value: str) -> list[Marked]:
    return [
        Marked(
            Item(key=one["AutoScalingGroupName"], restore=_restore(one, size), asleep=True),
            mark,
            still_asleep(_size(one), size),
        )
        for one in await groups(account, Filters=[tag_filter(tag, value)])
        if (mark := _mark(one)) and (size := marked_size(mark))
    ]


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


async def _tag(account: AwsAccount, job: Job, item: Saved, group: Document) -> None:
    was = saved_size(item.restore).document()
    tags = to_tags(mark_for(job, item, group["AutoScalingGroupARN"], was, account.cluster))
    if not tags.items() <= tags_of(group).items():
        each = [_tag_of(item, **tag, PropagateAtLaunch=False) for tag in tag_list(tags)]
        with marking(item.key):
            await account.write("autoscaling", "create_or_update_tags", Tags=each)


def _tag_of(item: Saved, **tag: Any) -> dict[str, Any]:
    return {"ResourceId": item.key, "ResourceType": "auto-scaling-group", **tag}


def _mark(group: Document) -> SleepMark | None:
    return from_tags(tags_of(group), group["AutoScalingGroupARN"])


def _item(group: Document, known: Shapes, job: Job) -> Item:
    size, key, mark = _size(group), group["AutoScalingGroupName"], _mark(group)
    was = marked_size(mark)
    saving = total(known, (one["InstanceType"] for one in group["Instances"]))
    if size.asleep or (was and still_asleep(size, was)):
        restore = _restore(group, was) if was else None
        return sleeper(key, mark, job, restore, saving, "wanted no instances already")
    return Item(key=key, restore=_restore(group, size), saving=saving)


def _restore(group: Document, size: Size) -> dict[str, Any]:
    return {"arn": group["AutoScalingGroupARN"], **size.document()}


def _size(group: Document) -> Size:
    return Size(group["MinSize"], group["MaxSize"], group["DesiredCapacity"])
