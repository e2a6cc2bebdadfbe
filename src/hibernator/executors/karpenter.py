"""Karpenter's NodePools: with limits of zero Karpenter makes no more nodes, and takes away the empty ones.

The pool itself stays, and so do nodes on which something still runs: Karpenter drains them by its own rules
for disruption. What the workloads do is another target's business, and that one comes first in the order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hibernator.api.kind import Kind, partial
from hibernator.api.parameters import KarpenterParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.scaling import ObjectRef, Patch
from hibernator.decisions.sleepmark import LABEL, TRACE, SleepMark, from_metadata, read_mark, to_metadata
from hibernator.executors.connections import Clusters
from hibernator.executors.insist import insist, typed
from hibernator.executors.protocol import Executor, Item, Job, Permanent, Saved, parameters
from hibernator.executors.workloads.kinds import AnyObject, quantity
from hibernator.executors.workloads.scaler import selector_text
from hibernator.kube import errors
from hibernator.kube.client import Client

NODE_POOLS: Final = Kind(AnyObject, "karpenter.sh", "v1", "NodePool", "nodepools", namespaced=False)
_ZERO: Final = {"cpu": "0", "memory": "0"}


class Karpenter(Executor):
    identity: ClassVar[str] = "uid"

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = _parameters(job)
        client = await self._clusters.client(job)
        with typed():
            try:
                found = await client.list(NODE_POOLS, label_selector=selector_text(wanted.selector))
            except errors.NotFound as error:
                raise Permanent("This cluster has no NodePools: Karpenter is not installed in it.") from error
        names = set(wanted.node_pools)
        if missing := names - {pool.metadata.name for pool in found}:
            raise Permanent(f"nodePools: there is no NodePool {', '.join(sorted(missing))}.")
        return tuple(_item(pool, job.owner) for pool in found if not names or pool.metadata.name in names)

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        client = await self._clusters.client(job)
        with typed():
            found = await client.list(NODE_POOLS, label_selector=LABEL)
        return tuple(
            Item(key=pool.key, restore=pool.mark.was, asleep=True, seen=pool)
            for pool in map(pool_of, found)
            if pool.mark
            and pool.mark.was
            and (pool.mark.plan, pool.mark.target) == (job.owner, job.target.name)
        )

    async def sleep(self, job: Job, item: Saved) -> None:
        client = await self._clusters.client(job)

        async def act(pool: NodePool) -> None:
            if not pool.asleep:
                await _write(client, pool, to_metadata(job.mark(item)), {"limits": _ZERO})

        await insist(item.key, item.seen, lambda: _read(client, item), act)

    async def wake(self, job: Job, item: Saved) -> None:
        client = await self._clusters.client(job)
        limits = _limits(item.restore)

        async def act(pool: NodePool) -> None:
            if pool.mark and pool.mark.plan != job.owner:
                return
            if pool.mark is None and pool.trace == job.trace:
                return
            awake = pool.mark is None and not pool.asleep
            if not item.covered and not (pool.mark and pool.mark.uid == job.uid):
                if awake:  # the entry may be forged: what the plan does not cover is not written to
                    return
                raise item.foreign
            await _write(client, pool, from_metadata(job.trace), {} if awake else {"limits": limits})

        await insist(item.key, item.seen, lambda: _read(client, item), act)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        client = await self._clusters.client(job)
        with typed():
            pool = await _read(client, item)
        return pool is None or rest == "Awake" or pool.nodes == 0


@dataclass(frozen=True, slots=True)
class NodePool:
    """What there is to know of a NodePool before it is put to sleep or woken."""

    name: str
    uid: str
    version: str
    limits: Mapping[str, Any] | None
    nodes: int
    mark: SleepMark | None
    trace: str

    @property
    def key(self) -> str:
        return f"NodePool/{self.name}"

    @property
    def asleep(self) -> bool:
        limits = self.limits or {}
        return "cpu" in limits and quantity(limits["cpu"]) == 0


def pool_of(found: AnyObject) -> NodePool:
    metadata = found.metadata
    return NodePool(
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        limits=found.spec.get("limits"),
        nodes=int(quantity((found.status.get("resources") or {}).get("nodes", 0))),
        mark=read_mark(metadata.annotations),
        trace=metadata.annotations.get(TRACE, ""),
    )


def _limits(was: Mapping[str, Any]) -> dict[str, Any] | None:
    """The limits as they were, as a merge patch: without those that only the sleep had brought."""
    before = was.get("limits")
    return None if before is None else {**dict.fromkeys(_ZERO), **before}


def waking(pool: NodePool) -> Patch:
    """The write that brings a pool back to what its mark says."""
    mark = pool.mark or SleepMark(plan="")
    body: dict[str, Any] = {"metadata": from_metadata(mark.trace)}
    if pool.asleep:
        body["spec"] = {"limits": _limits(mark.was or {})}
    place = ObjectRef(
        resource=NODE_POOLS.resource, namespace="", name=pool.name, resource_version=pool.version
    )
    return Patch(place=place, body=body)


async def _read(client: Client, item: Saved) -> NodePool | None:
    try:
        found = await client.get(NODE_POOLS, item.key.partition("/")[2])
    except errors.NotFound:
        return None
    return pool_of(found) if found.metadata.uid == item.restore.get("uid") else None


async def _write(
    client: Client, pool: NodePool, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> None:
    body = {"metadata": metadata, "spec": spec} if spec else {"metadata": metadata}
    await client.patch(partial(NODE_POOLS), pool.name, "", body, resource_version=pool.version)


def _item(found: AnyObject, owner: str) -> Item:
    pool = pool_of(found)
    if pool.asleep and pool.mark and pool.mark.plan == owner and pool.mark.was:
        return Item(key=pool.key, restore=pool.mark.was, asleep=True, seen=pool)
    if pool.asleep:
        return Item(key=pool.key, note="its limits were zero already", seen=pool)
    used = found.status.get("resources") or {}
    memory = round(quantity(used.get("memory", 0)) / 2**30, 6)
    saving = Saving(quantity(used.get("cpu", 0)), memory, pool.nodes)
    return Item(key=pool.key, restore={"uid": pool.uid, "limits": pool.limits}, saving=saving, seen=pool)


def _parameters(job: Job) -> KarpenterParameters:
    found = parameters(job.target)
    if not isinstance(found, KarpenterParameters):
        raise Permanent(f"The target {job.target.name} is not of type karpenter.")
    return found
