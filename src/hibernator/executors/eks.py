"""Managed node groups of an EKS cluster: scaled to no nodes, and back to the sizes that they had.

EKS does not accept a greatest size of zero, so that stays as it is. While a group is being changed it takes
no other change, which is waited for.
"""

from typing import Any, ClassVar, Final, Protocol

from hibernator.api.parameters import EksParameters
from hibernator.api.planstatus import Rest
from hibernator.executors.asg import groups
from hibernator.executors.aws import AwsAccount, AwsRefusedError, Document
from hibernator.executors.aws_shapes import Shapes, shapes, total
from hibernator.executors.aws_sizes import Size, saved_size, still_asleep
from hibernator.executors.protocol import Executor, Item, Job, Permanent, Saved, Underway, parameters_as

_PAUSE: Final = 15.0  # seconds until a group in the middle of something is looked at again
_GONE: Final = {"DELETING", "CREATE_FAILED"}
_NOT_FOUND: Final = "ResourceNotFoundException"


class EksClusters(Protocol):
    """Where the executor finds the cluster of a target."""

    async def eks(self, job: Job) -> tuple[AwsAccount, str]:
        """The account, in the right region, and the cluster's name."""


class Eks(Executor):
    identity: ClassVar[str] = "arn"

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
        return tuple(_item(group, known) for group in there)

    async def sleep(self, job: Job, item: Saved) -> None:
        account, cluster = await self._clusters.eks(job)
        group = await _read(account, cluster, item)
        if group and not (size := _size(group)).asleep:
            await _resize(account, cluster, group, Size(0, max(size.max, 1), 0))

    async def wake(self, job: Job, item: Saved) -> None:
        account, cluster = await self._clusters.eks(job)
        group, before = await _read(account, cluster, item), saved_size(item.restore)
        if group and still_asleep(_size(group), before):
            await _resize(account, cluster, group, before)

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
    """The machines below it, which stay for a while after the group has been told to shrink."""
    below = [one["name"] for one in (group.get("resources") or {}).get("autoScalingGroups") or ()]
    found = await groups(account, AutoScalingGroupNames=below) if below else []
    return [node for one in found for node in one["Instances"]]


def _item(group: Document, known: Shapes) -> Item:
    size, key = _size(group), group["nodegroupName"]
    if size.asleep:
        return Item(key=key, note="wanted no nodes already")
    types = group.get("instanceTypes") or ()
    # Which of several types its nodes are of is AWS's choice: the first is a fair guess.
    saving = total(known, list(types[:1] or ("",)) * size.desired)
    return Item(key=key, restore={"arn": group["nodegroupArn"], **size.document()}, saving=saving)


def _size(group: Document) -> Size:
    wanted = group["scalingConfig"]
    return Size(int(wanted["minSize"]), int(wanted["maxSize"]), int(wanted["desiredSize"]))
