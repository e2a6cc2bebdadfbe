"""RDS: database instances, and Aurora clusters with all their members, stopped and started again.

AWS starts by itself what was stopped for seven days. So what sleeps is looked at every hour, and what runs is
stopped again. With `snapshotBeforeStop` there is one snapshot a night of each database, whose name is the
same however often the attempt is repeated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hibernator.api.parameters import RdsParameters, RdsSelector
from hibernator.api.planstatus import Rest
from hibernator.decisions.sleepmark import SleepMark, from_tags, to_tags
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


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    label: str  # the first part of an item's key
    words: str
    id: str
    arn: str
    resource_id: str
    state: str
    list: str
    things: str
    stop: str
    start: str
    take_snapshot: str
    list_snapshots: str
    snapshots: str
    snapshot_id: str
    stops_with_snapshot: bool  # in one call
    not_found: frozenset[str]

    def name_of(self, thing: Document) -> str:
        return str(thing[self.id])

    def state_of(self, thing: Document) -> str:
        return str(thing.get(self.state, ""))


INSTANCE: Final = DatabaseKind(
    label="instance",
    words="database instance",
    id="DBInstanceIdentifier",
    arn="DBInstanceArn",
    resource_id="DbiResourceId",
    state="DBInstanceStatus",
    list="describe_db_instances",
    things="DBInstances",
    stop="stop_db_instance",
    start="start_db_instance",
    take_snapshot="create_db_snapshot",
    list_snapshots="describe_db_snapshots",
    snapshots="DBSnapshots",
    snapshot_id="DBSnapshotIdentifier",
    stops_with_snapshot=True,
    not_found=frozenset({"DBInstanceNotFound", "DBInstanceNotFoundFault"}),
)
CLUSTER: Final = DatabaseKind(
    label="cluster",
    words="database cluster",
    id="DBClusterIdentifier",
    arn="DBClusterArn",
    resource_id="DbClusterResourceId",
    state="Status",
    list="describe_db_clusters",
    things="DBClusters",
    stop="stop_db_cluster",
    start="start_db_cluster",
    take_snapshot="create_db_cluster_snapshot",
    list_snapshots="describe_db_cluster_snapshots",
    snapshots="DBClusterSnapshots",
    snapshot_id="DBClusterSnapshotIdentifier",
    stops_with_snapshot=False,
    not_found=frozenset({"DBClusterNotFound", "DBClusterNotFoundFault"}),
)

_HOPELESS: Final = {
    "failed",
    "inaccessible-encryption-credentials",
    "incompatible-create",
    "incompatible-network",
    "incompatible-option-group",
    "incompatible-parameters",
    "incompatible-restore",
    "insufficient-capacity",
    "restore-error",
    "storage-full",
}


def why_never(kind: DatabaseKind, thing: Document) -> str:
    """Why AWS will not stop this one, as the rest of a sentence; empty when it will."""
    if (state := kind.state_of(thing)) in _HOPELESS:
        return f"is {state}, in which AWS stops nothing. Repair it first."
    if kind is CLUSTER:
        return _why_never_cluster(thing)
    if source := thing.get("ReadReplicaSourceDBInstanceIdentifier"):
        return f"is a read replica of {source}, which AWS does not stop. Leave it out of the selector."
    if replicas := thing.get("ReadReplicaDBInstanceIdentifiers"):
        return (
            f"has the read replicas {', '.join(replicas)}; AWS does not stop it while they are there. "
            "Leave it out of the selector, or remove them."
        )
    if thing.get("MultiAZ") and str(thing.get("Engine", "")).startswith("sqlserver"):
        return "is an SQL Server in several zones, which AWS does not stop. Leave it out of the selector."
    return ""


def _why_never_cluster(thing: Document) -> str:
    if (mode := thing.get("EngineMode", "")) in {"serverless", "multimaster"}:
        return f"runs in the engine mode {mode}, in which AWS stops nothing. Leave it out of the selector."
    if thing.get("GlobalClusterIdentifier"):
        return "belongs to a global database, which AWS does not stop. Leave it out of the selector."
    if source := thing.get("ReplicationSourceIdentifier"):
        return f"is a replica of {source}, which AWS does not stop. Leave it out of the selector."
    return ""


_PAUSE: Final = 15.0  # seconds until a database in the middle of something is looked at again
_ASLEEP: Final = {"stopping", "stopped"}
_TAGS: Final = "TagList"
_GONE: Final = {"deleting", "deleted"}
_OTHER_ENGINES: Final = ("docdb", "neptune")  # which RDS lists, too


class Rds(Executor):
    identity: ClassVar[str] = "resourceId"
    check_every: ClassVar[float | None] = 3600.0
    lingers: ClassVar[float | None] = LINGERS

    def __init__(self, accounts: AwsAccounts) -> None:
        self._accounts = accounts

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = parameters_as(job, RdsParameters).selector
        account = await self._accounts.aws(job)
        instances = await _all(account, INSTANCE)
        clusters = await _all(account, CLUSTER) if wanted.cluster_ids or wanted.discover_clusters else []
        chosen = [
            *((INSTANCE, one) for one in _chosen_instances(wanted, instances)),
            *((CLUSTER, one) for one in _chosen(wanted, CLUSTER, clusters)),
        ]
        machines = {INSTANCE.name_of(one): _machines(one) for one in instances}
        known = await shapes(account, (type_ for types in machines.values() for type_ in types))
        return tuple(_item(kind, one, machines, known, job) for kind, one in chosen)

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        return of_plan(await _marked(await self._accounts.aws(job)), job)

    async def asleep_for_cluster(self, job: Job) -> tuple[Marked, ...]:
        account = await self._accounts.aws(job)
        return of_cluster(await _marked(account) if account.cluster else (), account.cluster)

    async def sleep(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        kind, name = _place(item)
        found = await _read(account, item)
        if found is None:
            return
        if (state := kind.state_of(found)) in _ASLEEP:
            if not is_of_another(_mark(kind, found), job):
                await _tag(account, job, item, found)
            return
        if never := why_never(kind, found):
            raise Permanent(f"{item.key} {never}")
        if state != "available":
            raise Underway(
                f"{item.key} is {state}; it can be stopped once it is available.", retry_after=_PAUSE
            )
        await _tag(account, job, item, found)
        if parameters_as(job, RdsParameters).snapshot_before_stop:
            await _stop_with_snapshot(account, kind, name, _snapshot_name(job, name))
        else:
            await account.write("rds", kind.stop, **{kind.id: name})

    async def wake(self, job: Job, item: Saved) -> None:
        account = await self._accounts.aws(job)
        kind, name = _place(item)
        found = await _read(account, item)
        if found is None or is_of_another(mark := _mark(kind, found), job):
            return
        if asleep := (state := kind.state_of(found)) in _ASLEEP:
            check_may_wake(mark, job, item)
            if state == "stopping":
                raise Underway(f"{item.key} is still stopping.", retry_after=_PAUSE)
            await account.write("rds", kind.start, **{kind.id: name})
        if mark:
            with marking(item.key, again=asleep):
                keys = borne(tags_of(found, _TAGS))
                await account.write(
                    "rds", "remove_tags_from_resource", ResourceName=found[kind.arn], TagKeys=keys
                )

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        found = await _read(await self._accounts.aws(job), item)
        wanted = "stopped" if rest == "Asleep" else "available"
        return found is None or _place(item)[0].state_of(found) == wanted


async def _tag(account: AwsAccount, job: Job, item: Saved, found: Document) -> None:
    kind, _ = _place(item)
    tags = to_tags(mark_for(job, item, found[kind.resource_id], {}, account.cluster))
    if not tags.items() <= tags_of(found, _TAGS).items():
        with marking(item.key):
            await account.write(
                "rds", "add_tags_to_resource", ResourceName=found[kind.arn], Tags=tag_list(tags)
            )


async def _stop_with_snapshot(account: AwsAccount, kind: DatabaseKind, name: str, snapshot: str) -> None:
    """Stop it once the snapshot of this night is there, which it may be from an earlier attempt."""
    made = await account.pages(
        "rds", kind.list_snapshots, kind.snapshots, **{kind.id: name, "SnapshotType": "manual"}
    )
    mine = next((one for one in made if one[kind.snapshot_id] == snapshot), None)
    if mine is None and kind.stops_with_snapshot:
        await account.write("rds", kind.stop, **{kind.id: name, kind.snapshot_id: snapshot})
        return
    if mine is None:
        mine = {"Status": "creating"}
        await account.write("rds", kind.take_snapshot, **{kind.id: name, kind.snapshot_id: snapshot})
    if mine["Status"] == "creating":
        raise Underway(f"The snapshot {snapshot} is being taken.", retry_after=_PAUSE)
    if mine["Status"] != "available":
        raise Permanent(
            f"The snapshot {snapshot} is {mine['Status']}, so {name} is not stopped. Delete it and retry."
        )
    await account.write("rds", kind.stop, **{kind.id: name})


def _snapshot_name(job: Job, name: str) -> str:
    return f"hibernator-{name}-{job.uid[:8]}-{job.cycle}"


async def _all(account: AwsAccount, kind: DatabaseKind, **query: Any) -> list[Document]:
    found = await account.pages("rds", kind.list, kind.things, **query)
    return [
        one
        for one in found
        if kind.state_of(one) not in _GONE and not str(one.get("Engine", "")).startswith(_OTHER_ENGINES)
    ]


async def _marked(account: AwsAccount) -> list[Marked]:
    """RDS takes no tags in its questions, but shows them in its answers."""
    return [
        Marked(
            Item(key=_key(kind, one), restore=_restore(kind, one), asleep=True),
            mark,
            kind.state_of(one) in _ASLEEP,
        )
        for kind in (INSTANCE, CLUSTER)
        for one in await _all(account, kind)
        if (mark := _mark(kind, one))
    ]


async def _read(account: AwsAccount, item: Saved) -> Document | None:
    """The very database that was saved, if it is still there."""
    kind, name = _place(item)
    try:
        found = await _all(account, kind, **{kind.id: name})
    except AwsRefusedError as error:
        if error.code in kind.not_found:
            return None
        raise
    return next((one for one in found if one[kind.resource_id] == item.restore["resourceId"]), None)


def _place(item: Saved) -> tuple[DatabaseKind, str]:
    kind, _, name = item.key.partition("/")
    return (INSTANCE if kind == INSTANCE.label else CLUSTER), name


def _chosen_instances(wanted: RdsSelector, found: Iterable[Document]) -> list[Document]:
    """Members of a cluster sleep with it, and not alone."""
    chosen = _chosen(wanted, INSTANCE, found)
    for one in chosen:
        cluster = one.get("DBClusterIdentifier")
        if cluster and INSTANCE.name_of(one) in wanted.instance_ids:
            raise Permanent(
                f"instanceIds: {INSTANCE.name_of(one)} belongs to the cluster {cluster} and sleeps only with "
                "it. Name the cluster in clusterIds instead."
            )
    return [one for one in chosen if not one.get("DBClusterIdentifier")]


def _chosen(wanted: RdsSelector, kind: DatabaseKind, found: Iterable[Document]) -> list[Document]:
    names = wanted.instance_ids if kind is INSTANCE else wanted.cluster_ids
    searched = wanted.discover_instances if kind is INSTANCE else wanted.discover_clusters
    by_name = {kind.name_of(one): one for one in found}
    if names:
        if missing := set(names) - by_name.keys():
            raise Permanent(f"There is no {kind.words} {', '.join(sorted(missing))} here.")
        return [by_name[name] for name in sorted(set(names))]
    if not searched:
        return []
    return [one for one in by_name.values() if _is_chosen(wanted, tags_of(one, _TAGS))]


def _is_chosen(wanted: RdsSelector, tags: Mapping[str, str]) -> bool:
    if wanted.include_all:
        return True
    if wanted.tags:
        return all(_has(tags, key, value) for key, value in wanted.tags.items())
    return bool(wanted.exclude_tags) and not any(
        _has(tags, key, value) for key, value in wanted.exclude_tags.items()
    )


def _has(tags: Mapping[str, str], key: str, value: str) -> bool:
    return key in tags and value in {"", tags[key]}


def _machines(instance: Document) -> list[str]:
    """The machines below it. Their types are those of EC2, with a `db.` in front."""
    type_ = str(instance.get("DBInstanceClass", "")).removeprefix("db.")
    return [type_] * (2 if instance.get("MultiAZ") else 1)


def _item(
    kind: DatabaseKind, thing: Document, machines: Mapping[str, list[str]], known: Shapes, job: Job
) -> Item:
    key, state, restore = _key(kind, thing), kind.state_of(thing), _restore(kind, thing)
    members = thing.get("DBClusterMembers") or ()
    below = [kind.name_of(thing)] if kind is INSTANCE else [one["DBInstanceIdentifier"] for one in members]
    saving = total(known, (type_ for one in below for type_ in machines.get(one, ())), prefix="db.")
    if state in _ASLEEP:
        return sleeper(key, _mark(kind, thing), job, restore, saving, f"was {state} already")
    return Item(key=key, restore=restore, saving=saving)


def _key(kind: DatabaseKind, thing: Document) -> str:
    return f"{kind.label}/{kind.name_of(thing)}"


def _restore(kind: DatabaseKind, thing: Document) -> dict[str, Any]:
    """All that is needed is shown by a stopped database, too."""
    return {"resourceId": thing[kind.resource_id], "engine": thing.get("Engine", "")}


def _mark(kind: DatabaseKind, thing: Document) -> SleepMark | None:
    return from_tags(tags_of(thing, _TAGS), thing[kind.resource_id])
