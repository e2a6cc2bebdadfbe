"""EC2 instances: stopped, and started again where they ran.

Not touched are those that auto-scaling groups and Karpenter manage, which would only replace them. Nor
those that AWS cannot stop: one-time spot instances, and those without a disk of their own. AWS forgets a
terminated instance after about an hour, so one of several ids that leads nowhere is skipped with a note.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Final

from hibernator.api.parameters import Ec2Parameters, Ec2Selector
from hibernator.api.planstatus import Rest
from hibernator.decisions.sleepmark import CLUSTER, TAG, SleepMark, from_tags, to_tags
from hibernator.executors.aws.account import (
    AwsAccount,
    AwsAccounts,
    AwsRefusedError,
    Document,
    tag_list,
    tags_of,
)
from hibernator.executors.aws.sizes import Shapes, shapes, total
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

_GONE: Final = {"shutting-down", "terminated"}
_ASLEEP: Final = {"stopping", "stopped"}
_OF_OTHERS: Final = {"aws:autoscaling:groupName", "karpenter.sh/nodepool", "karpenter.sh/provisioner-name"}
_PAUSE: Final = 10.0  # seconds until an instance in the middle of something is looked at again
_IDS: Final = 200  # values that AWS takes in one filter
_UNKNOWN: Final = "does not exist: terminated, or of another region or account"


class Ec2(Executor):
    lingers: ClassVar[float | None] = LINGERS

    def __init__(self, accounts: AwsAccounts) -> None:
        self._accounts = accounts

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = parameters_as(job, Ec2Parameters).selector
        account = await self._accounts.aws(job)
        every = [one for query in _queries(wanted) for one in await _instances(account, **query)]
        found = [one for one in every if _is_ours(one)]
        known = await shapes(account, (one["InstanceType"] for one in found))
        unknown = await _unknown(account, wanted, {one["InstanceId"] for one in every})
        return (
            *(_item(one, known, job) for one in found),
            *(Item(key=id_, note=_UNKNOWN) for id_ in unknown),
        )

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        return of_plan(await _marked(await self._accounts.aws(job), TAG, job.uid), job)

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        account = await self._accounts.aws(job)
        found = await _marked(account, CLUSTER, account.cluster) if account.cluster else ()
        return of_cluster(found, account.cluster)

    async def sleep(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        instance = await _read(account, item)
        if instance is None:
            return
        state = instance["State"]["Name"]
        if state == "pending":
            raise Underway(f"{item.key} is still starting.", retry_after=_PAUSE)
        if state in _ASLEEP and is_of_another(_mark(instance), job):
            return
        await _tag(account, job, item, instance)
        if state == "running":
            await account.write("ec2", "stop_instances", InstanceIds=[item.key])

    async def wake(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        instance = await _read(account, item)
        if instance is None or is_of_another(mark := _mark(instance), job):
            return
        if asleep := (state := instance["State"]["Name"]) in _ASLEEP:
            check_may_wake(mark, job, item)
            if state == "stopping":
                raise Underway(f"{item.key} is still stopping.", retry_after=_PAUSE)
            await account.write("ec2", "start_instances", InstanceIds=[item.key])
        if mark:
            with marking(item.key, again=asleep):
                keys = [{"Key": key} for key in borne(tags_of(instance))]
                await account.write("ec2", "delete_tags", Resources=[item.key], Tags=keys)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        instance = await _read(await self._accounts.aws(job), item)
        return instance is None or instance["State"]["Name"] == ("stopped" if rest == "Asleep" else "running")


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


async def _marked(account: AwsAccount, tag: str, value: str) -> list[Marked]:
    found = await _instances(account, Filters=[tag_filter(tag, value)])
    return [
        Marked(
            Item(key=one["InstanceId"], restore=_restore(one), asleep=True),
            mark,
            one["State"]["Name"] in _ASLEEP,
        )
        for one in found
        if one["State"]["Name"] not in _GONE and (mark := _mark(one))
    ]


async def _read(account: AwsAccount, item: Saved) -> Document | None:
    """The instance; None when it is gone, which its id never comes back from."""
    try:
        found = await _instances(account, InstanceIds=[item.key])
    except AwsRefusedError as error:
        if error.code == "InvalidInstanceID.NotFound":
            return None
        raise
    return next((one for one in found if one["State"]["Name"] not in _GONE), None)


async def _tag(account: AwsAccount, job: Job, item: Saved, instance: Document) -> None:
    tags = to_tags(mark_for(job, item, item.key, {}, account.cluster))
    if not tags.items() <= tags_of(instance).items():
        with marking(item.key):
            await account.write("ec2", "create_tags", Resources=[item.key], Tags=tag_list(tags))


def _mark(instance: Document) -> SleepMark | None:
    return from_tags(tags_of(instance), instance["InstanceId"])


def _is_ours(instance: Document) -> bool:
    if instance["State"]["Name"] in _GONE or tags_of(instance).keys() & _OF_OTHERS:
        return False
    stays = instance.get("InstanceLifecycle") != "spot"
    return stays and instance.get("RootDeviceType", "ebs") == "ebs"


def _item(instance: Document, known: Shapes, job: Job) -> Item:
    key, state, restore = instance["InstanceId"], instance["State"]["Name"], _restore(instance)
    saving = total(known, [instance["InstanceType"]])
    if state in _ASLEEP:
        return sleeper(key, _mark(instance), job, restore, saving, f"was {state} already")
    return Item(key=key, restore=restore, saving=saving)


def _restore(instance: Document) -> Mapping[str, Any]:
    """All that is needed is shown by a stopped instance, too."""
    return {
        "state": "running",
        "type": instance["InstanceType"],
        "name": tags_of(instance).get("Name", ""),
    }
