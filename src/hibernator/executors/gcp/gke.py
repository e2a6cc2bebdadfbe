"""Node pools of a GKE cluster: resized to nothing with autoscaling off, and back to what they were.

How many nodes a pool has is known only to the instance groups below it, one for each zone; a size that is set
counts for each of them. A cluster takes one change at a time: the second one waits.

Waking sets autoscaling before the size. A pool without nodes counts as asleep, so that a run that ends here
finds the pool asleep, and what was written down about it stays true.

A pool bears no mark: Google creates its nodes again whenever its labels change. So the restore data in the
ConfigMap is the only way back, and only a pool that the plan still covers is woken by it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

from hibernator.api.parameters import GkeParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.executors.cloudmarks import LINGERS, check_may_wake
from hibernator.executors.gcp.project import Document, GcpProject, GcpRefusedError, part
from hibernator.executors.protocol import (
    Executor,
    ExecutorError,
    Item,
    Job,
    Permanent,
    Saved,
    parameters_as,
)
from hibernator.kube.together import together

_GROUP: Final = re.compile(r"projects/([\w.:-]+)/zones/([\w-]+)/instanceGroupManagers/[\w-]+$")


@dataclass(frozen=True, slots=True)
class GkePlace:
    """A cluster, and the project that the operator reaches it through."""

    project: GcpProject
    home: str  # the project that it is in
    location: str
    cluster: str

    @property
    def around(self) -> str:
        return f"v1/projects/{part(self.home)}/locations/{part(self.location)}"

    @property
    def path(self) -> str:
        return f"{self.around}/clusters/{part(self.cluster)}"


class GkeClusters(Protocol):
    """Where the executor finds the cluster of a target."""

    async def gke(self, job: Job) -> GkePlace: ...


@dataclass(frozen=True, slots=True)
class _Pool:
    found: Document
    sizes: tuple[int, ...]  # of each zone

    @property
    def name(self) -> str:
        return str(self.found["name"])

    @property
    def autoscaling(self) -> dict[str, Any]:
        return dict(self.found.get("autoscaling") or {})

    @property
    def groups(self) -> list[str]:
        return sorted(url.rpartition("/")[2] for url in self.found.get("instanceGroupUrls") or ())

    @property
    def asleep(self) -> bool:
        return not any(self.sizes)


class Gke(Executor):
    identity: ClassVar[str] = "instanceGroups"
    lingers: ClassVar[float | None] = LINGERS

    def __init__(self, clusters: GkeClusters) -> None:
        self._clusters = clusters

    async def discover(self, job: Job) -> tuple[Item, ...]:
        place = await self._clusters.gke(job)
        names = set(parameters_as(job, GkeParameters).node_pools)
        found = await _pools(place)
        if missing := names - {one["name"] for one in found}:
            raise Permanent(
                f"nodePools: the cluster {place.cluster} has no node pool {', '.join(sorted(missing))}."
            )
        chosen = [one for one in found if not names or one["name"] in names]
        pools = [await _sized(place, one) for one in chosen if one.get("status") != "STOPPING"]
        return tuple([await _item(place, pool) for pool in pools])

    async def sleep(self, job: Job, item: Saved) -> None:
        place = await self._clusters.gke(job)
        pool = await _read(place, item)
        if pool is None:
            return
        if pool.autoscaling.get("enabled"):
            await _change(place, item, "setAutoscaling", {"autoscaling": {"enabled": False}})
        if not pool.asleep:
            await _change(place, item, "setSize", {"nodeCount": 0})

    async def wake(self, job: Job, item: Saved) -> None:
        place = await self._clusters.gke(job)
        pool = await _read(place, item)
        if pool is None:
            return
        before: Mapping[str, Any] = item.restore["autoscaling"]
        scales = before.get("enabled") and not pool.autoscaling.get("enabled")
        if scales or pool.asleep:
            check_may_wake(None, job, item)
        if scales:
            await _change(place, item, "setAutoscaling", {"autoscaling": dict(before)})
        if pool.asleep:
            await _change(place, item, "setSize", {"nodeCount": int(item.restore["nodeCount"])})

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        place = await self._clusters.gke(job)
        pool = await _read(place, item)
        if pool is None:
            return True
        return pool.found.get("status") == "RUNNING" and pool.asleep == (rest == "Asleep")


async def _change(place: GkePlace, item: Saved, what: str, body: Document) -> None:
    path = f"{place.path}/nodePools/{part(item.key)}:{what}"
    operation = await place.project.write("container", "POST", path, body)
    await place.project.finish("container", place.around, operation)


async def _pools(place: GkePlace) -> list[Document]:
    try:
        answer = await place.project.read("container", f"{place.path}/nodePools")
    except GcpRefusedError as error:
        if error.not_found:
            raise Permanent(f"There is no GKE cluster {place.cluster} in {place.location}.") from error
        raise
    return list(answer.get("nodePools") or ())


async def _read(place: GkePlace, item: Saved) -> _Pool | None:
    """The very pool that was saved, if it is still there: one with any of the same instance groups."""
    try:
        found = await place.project.read("container", f"{place.path}/nodePools/{part(item.key)}")
    except GcpRefusedError as error:
        if error.not_found:
            return None
        raise
    pool = await _sized(place, found)
    known = set(item.restore["instanceGroups"])
    return pool if not known or known & set(pool.groups) else None


async def _sized(place: GkePlace, found: Document) -> _Pool:
    urls = [one for url in found.get("instanceGroupUrls") or () if (one := _GROUP.search(url))]
    paths = [f"compute/v1/{one[0]}" for one in urls]
    answers = await together(place.project.read("compute", path) for path in paths)
    return _Pool(found, tuple(int(one.get("targetSize", 0)) for one in answers))


async def _item(place: GkePlace, pool: _Pool) -> Item:
    if pool.asleep:
        return Item(key=pool.name, note="had no nodes already")
    restore = {
        "nodeCount": max(pool.sizes),
        "autoscaling": pool.autoscaling,
        "instanceGroups": pool.groups,
    }
    return Item(key=pool.name, restore=restore, saving=await _saving(place, pool))


async def _saving(place: GkePlace, pool: _Pool) -> Saving:
    """What its machines have. An estimate is worth no failure."""
    nodes = sum(pool.sizes)
    type_ = (pool.found.get("config") or {}).get("machineType")
    url = _GROUP.search((pool.found.get("instanceGroupUrls") or ("",))[0])
    if not type_ or not url:
        return Saving(nodes=nodes)
    machines = {f"{url[2].rpartition('-')[0]}/{type_}": float(nodes)}
    path = f"compute/v1/projects/{url[1]}/zones/{url[2]}/machineTypes/{part(type_)}"
    try:
        machine = await place.project.read("compute", path)
    except ExecutorError:
        return Saving(nodes=nodes, machines=machines)
    cpus, memory = machine.get("guestCpus", 0), machine.get("memoryMb", 0) / 1024
    return Saving(cpus * nodes, memory * nodes, nodes, machines)
