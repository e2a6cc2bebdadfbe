"""Managed node groups of an EKS cluster: scaled to no nodes, and back to the sizes that they had.

EKS does not accept a greatest size of zero, so that stays as it is. While a group is being changed it takes
no other change, which is waited for.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Protocol

from hibernator.api.parameters import EksParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.sleepmark import SleepMark, from_tags, to_tags
from hibernator.executors.aws.account import AwsAccount, AwsRefusedError, Document
from hibernator.executors.aws.asg import groups
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
from hibernator.executors.protocol import (
    Executor,
    Item,
    Job,
    Marked,
    Permanent,
    Saved,
    Underway,
    parameters_as,
)

_PAUSE: Final = 15.0  # seconds until a group in the middle of something is looked at again
_GONE: Final = {"DELETING", "CREATE_FAILED"}
_NOT_FOUND: Final = "ResourceNotFoundException"


class EksClusters(Protocol):
    """Where the executor finds the cluster of a target."""

    async def eks(self, job: Job) -> tuple[AwsAccount, str]:
        """The account, in the right region, and the cluster's name."""


class Eks(Executor):
    identity: ClassVar[str] = "arn"
    lingers: ClassVar[float | None] = LINGERS

    def __init__(self, clusters: EksClusters) -> None:
        self._clusters = clusters

    async def discover(self, job: Job) -> tuple[Item, ...]:
        account, cluster = await self._clusters.eks(job)
        names = [one.name for one in parameters_as(job, EksParameters).node_groups]
        if not names:
            names = await _names(account, cluster)
        found = [(name, await _describe(account, cluster, name)) for name in names]
        if missing := sorted(name for name, group in found if group is None):
            raise Permanent(f"nodeGroups: the cluster {cluster} has no node group {', '.join(missing)}.")
        there = [group for _, group in found if group and group["status"] not in _GONE]
        known = await shapes(
            account, (type_ for group in there for type_ in group.get("instanceTypes") or ())
        )
        return tuple(_item(group, known, job) for group in there)

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        return of_plan(await _marked(*await self._clusters.eks(job)), job)

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        account, cluster = await self._clusters.eks(job)
        return of_cluster(await _marked(account, cluster) if account.cluster else (), account.cluster)

    async def sleep(self, job: Job, item: Saved) -> None:
        account, cluster = await self._clusters.eks(job)
        group = await _read(account, cluster, item)
        if group is None or (_size(group).asleep and is_of_another(_mark(group), job)):
            return
        await _tag(account, job, item, group)
        if not (size := _size(group)).asleep:
            await _resize(account, cluster, group, Size(0, max(size.max, 1), 0))

    async def wake(self, job: Job, item: Saved) -> None:
        account, cluster = await self._clusters.eks(job)
        group, before = await _read(account, cluster, item), saved_size(item.restore)
        if group is None or is_of_another(mark := _mark(group), job):
            return
        if asleep := still_asleep(_size(group), before):
            check_may_wake(mark, job, item)
            await _resize(account, cluster, group, before)
        if mark:
            with marking(item.key, again=asleep):
                keys = borne(group["tags"])
                await account.write("eks", "untag_resource", resourceArn=group["nodegroupArn"], tagKeys=keys)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        account, cluster = await self._clusters.eks(job)
        group = await _read(account, cluster, item)
        if group is None:
            return True
        if group["status"] != "ACTIVE":
            return False
        nodes = await _nodes(account, group)
        return not nodes if rest == "Asleep" else len(nodes) >= _size(group).desired


async def _names(account: AwsAccount, cluster: str) -> list[str]:
    try:
        found: list[Any] = await account.pages("eks", "list_nodegroups", "nodegroups", clusterName=cluster)
    except AwsRefusedError as error:
        if error.code == _NOT_FOUND:
            raise Permanent(f"There is no EKS cluster {cluster} in {account.region}.") from error
        raise
    return sorted(found)


async def _describe(account: AwsAccount, cluster: str, name: str) -> Document | None:
    try:
        answer = await account.read("eks", "describe_nodegroup", clusterName=cluster, nodegroupName=name)
    except AwsRefusedError as error:
        if error.code == _NOT_FOUND:
            return None
        raise
    group: Document = answer["nodegroup"]
    return group


async def _marked(account: AwsAccount, cluster: str) -> list[Marked]:
    found = [await _describe(account, cluster, name) for name in await _names(account, cluster)]
    return [
        Marked(
            Item(key=one["nodegroupName"], restore=_restore(one, size), asleep=True),
            mark,
            still_asleep(_size(one), size),
        )
        for one in found
        if one and one["status"] not in _GONE
        if (mark := _mark(one)) and (size := marked_size(mark))
    ]


async def _read(account: AwsAccount, cluster: str, item: Saved) -> Document | None:
    """The very group that was saved, if it is still there."""
    group = await _describe(account, cluster, item.key)
    same = group is not None and group["nodegroupArn"] == item.restore["arn"]
    return group if group and same and group["status"] not in _GONE else None


async def _resize(account: AwsAccount, cluster: str, group: Document, size: Size) -> None:
    name = group["nodegroupName"]
    if group["status"] in {"CREATING", "UPDATING"}:
        raise Underway(f"The node group {name} is being changed.", retry_after=_PAUSE)
    await account.write(
        "eks",
        "update_nodegroup_config",
        clusterName=cluster,
        nodegroupName=name,
        scalingConfig={"minSize": size.min, "maxSize": size.max, "desiredSize": size.desired},
    )


async def _nodes(account: AwsAccount, group: Document) -> list[Document]:
    """The machines below it, which stay for a while after the group has begun to shrink."""
    below = [one["name"] for one in (group.get("resources") or {}).get("autoScalingGroups") or ()]
    found = await groups(account, AutoScalingGroupNames=below) if below else []
    return [node for one in found for node in one["Instances"]]


async def _tag(account: AwsAccount, job: Job, item: Saved, group: Document) -> None:
    arn = group["nodegroupArn"]
    tags = to_tags(mark_for(job, item, arn, saved_size(item.restore).document(), account.cluster))
    if not tags.items() <= (group.get("tags") or {}).items():
        with marking(item.key):
            await account.write("eks", "tag_resource", resourceArn=arn, tags=tags)


def _mark(group: Document) -> SleepMark | None:
    return from_tags(group.get("tags") or {}, group["nodegroupArn"])


def _item(group: Document, known: Shapes, job: Job) -> Item:
    size, key, mark = _size(group), group["nodegroupName"], _mark(group)
    was = marked_size(mark)
    types = group.get("instanceTypes") or ()
    if size.asleep or (was and still_asleep(size, was)):
        restore = _restore(group, was) if was else None
        return sleeper(key, mark, job, restore, _saving(known, types, was), "wanted no nodes already")
    return Item(key=key, restore=_restore(group, size), saving=_saving(known, types, size))


def _restore(group: Document, size: Size) -> dict[str, Any]:
    return {"arn": group["nodegroupArn"], **size.document()}


def _saving(known: Shapes, types: Sequence[str], size: Size | None) -> Saving:
    """Which of several types its nodes are of is AWS's choice: the first is a fair guess."""
    return total(known, list(types[:1] or ("",)) * (size.desired if size else 0))


def _size(group: Document) -> Size:
    wanted = group["scalingConfig"]
    return Size(int(wanted["minSize"]), int(wanted["maxSize"]), int(wanted["desiredSize"]))
