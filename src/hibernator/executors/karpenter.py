"""Karpenter's NodePools: with limits of zero Karpenter makes no more nodes, and takes away the empty ones.

The pool itself stays, and so do nodes on which something still runs: Karpenter drains them by its own rules
for disruption. What the workloads do is another target's business, and that one comes first in the order.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from hibernator.api.kind import Kind
from hibernator.api.parameters import KarpenterParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.scaling import ASLEEP_MARK
from hibernator.executors.clusters import Clusters
from hibernator.executors.protocol import Executor, Item, Job, Permanent, Retryable, Saved, parameters
from hibernator.executors.workloadscaler import selector_text, typed
from hibernator.executors.workloadscaler_kinds import Anything, quantity
from hibernator.kube import errors
from hibernator.kube.client import Client

NODE_POOLS: Final = Kind(Anything, "karpenter.sh", "v1", "NodePool", "nodepools", namespaced=False)
_ZERO: Final = {"cpu": "0", "memory": "0"}
_TRIES: Final = 6


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
        return tuple(_item(pool) for pool in found if not names or pool.metadata.name in names)

    async def sleep(self, job: Job, item: Saved) -> None:
        client = await self._clusters.client(job)
        with typed():
            for _ in range(_TRIES):
                pool = await _read(client, item)
                if pool is None or _is_asleep(pool):
                    return
                if await _write(client, pool, _ZERO, job.owner):
                    return
        raise Retryable(f"{item.key} was changed by others each time it was about to be written.")

    async def wake(self, job: Job, item: Saved) -> None:
        client = await self._clusters.client(job)
        with typed():
            for _ in range(_TRIES):
                pool = await _read(client, item)
                if pool is None or not _may_wake(pool, job.owner):
                    return
                before = item.restore["limits"]
                limits = None if before is None else {**dict.fromkeys(_ZERO), **before}
                if await _write(client, pool, limits, None):
                    return
        raise Retryable(f"{item.key} was changed by others each time it was about to be written.")

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        client = await self._clusters.client(job)
        with typed():
            pool = await _read(client, item)
        if pool is None or rest == "Awake":
            return True
        return int(quantity((pool.status.get("resources") or {}).get("nodes", 0))) == 0


async def _read(client: Client, item: Saved) -> Anything | None:
    try:
        pool = await client.get(NODE_POOLS, item.key.partition("/")[2])
    except errors.NotFound:
        return None
    return pool if pool.metadata.uid == item.restore["uid"] else None


async def _write(client: Client, pool: Anything, limits: Mapping[str, Any] | None, mark: str | None) -> bool:
    """Whether it was written; not when the pool has changed since it was read."""
    body = {"metadata": {"annotations": {ASLEEP_MARK: mark}}, "spec": {"limits": limits}}
    version = pool.metadata.resource_version
    try:
        await client.patch(NODE_POOLS, pool.metadata.name, "", body, resource_version=version)
    except errors.Conflict:
        return False
    except errors.NotFound:
        pass
    return True


def _item(pool: Anything) -> Item:
    key = f"NodePool/{pool.metadata.name}"
    if _is_asleep(pool):
        return Item(key=key, note="its limits were zero already")
    used = pool.status.get("resources") or {}
    saving = Saving(quantity(used.get("cpu", 0)), round(quantity(used.get("memory", 0)) / 2**30, 6))
    return Item(key=key, restore={"uid": pool.metadata.uid, "limits": pool.spec.get("limits")}, saving=saving)


def _limits(pool: Anything) -> dict[str, Any]:
    return dict(pool.spec.get("limits") or {})


def _is_asleep(pool: Anything) -> bool:
    limits = _limits(pool)
    return "cpu" in limits and quantity(limits["cpu"]) == 0


def _may_wake(pool: Anything, owner: str) -> bool:
    mark = pool.metadata.annotations.get(ASLEEP_MARK)
    return mark == owner or (mark is None and _is_asleep(pool))


def _parameters(job: Job) -> KarpenterParameters:
    found = parameters(job.target)
    if not isinstance(found, KarpenterParameters):
        raise Permanent(f"The target {job.target.name} is not of type karpenter.")
    return found
