"""Workloads of a cluster: put to zero, suspended or kept off every node, and brought back as they were.

It lists and reads from the API server itself, not from caches: it comes only at the two ends of a night, its
cluster may be another one, and what is written down before the sleep must not be older than the sleep.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hibernator.api.autoscaling import SCALED_OBJECTS, ScaledObject
from hibernator.api.core import NAMESPACES
from hibernator.api.parameters import LabelSelector, WorkloadScalerParameters
from hibernator.api.planstatus import Rest
from hibernator.decisions.scaling import (
    ASLEEP_MARK,
    KEDA_PAUSED_REPLICAS,
    Keda,
    Patch,
    Place,
    to_sleep,
    to_unpause,
    to_wake,
)
from hibernator.executors.clusters import Clusters
from hibernator.executors.protocol import (
    PATIENCE,
    Executor,
    Item,
    Job,
    Permanent,
    Retryable,
    Saved,
    Throttled,
    parameters,
)
from hibernator.executors.workloadscaler_kinds import (
    Anything,
    Sort,
    is_finished,
    ready,
    saving_of,
    sort_of,
    workload_of,
)
from hibernator.kube import errors
from hibernator.kube.client import Client

EXCLUDE: Final = "hibernator.ardikabs.com/exclude"
UNTOUCHABLE: Final = "kube-system"
_LISTS: Final = 8  # at the same time
_TRIES: Final = 6  # a busy object gets a new version several times a second


@dataclass(frozen=True, slots=True)
class _Thing:
    """An item as it is right now."""

    sort: Sort
    found: Anything
    scaled: ScaledObject | None

    @property
    def mark(self) -> str | None:
        return (self.scaled or self.found).metadata.annotations.get(ASLEEP_MARK)

    @property
    def keda(self) -> Keda | None:
        return _keda(self.scaled) if self.scaled else None

    @property
    def asleep(self) -> bool:
        return self.keda.paused_at == 0 if self.keda else workload_of(self.sort, self.found).replicas == 0


class WorkloadScaler(Executor):
    identity: ClassVar[str] = "uid"
    usual_patience: ClassVar[float] = PATIENCE

    def __init__(self, clusters: Clusters, *, own_namespace: str, only_namespace: str = "") -> None:
        self._clusters = clusters
        self._own_namespace = own_namespace
        self._only_namespace = only_namespace

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = _parameters(job)
        client = await self._clusters.client(job)
        turns = asyncio.Semaphore(_LISTS)

        async def look(namespace: str, sorts: Iterable[Sort]) -> list[Item]:
            async with turns:
                return await _items(client, namespace, sorts, selector_text(wanted.workload_selector))

        with typed():
            sorts = dict.fromkeys([await sort_of(client, name) for name in wanted.included_groups])
            namespaces = await self._namespaces(client, wanted)
            found = await asyncio.gather(*(look(namespace, sorts) for namespace in namespaces))
        return tuple(sorted((item for items in found for item in items), key=lambda item: item.key))

    async def sleep(self, job: Job, item: Saved) -> None:
        def step(thing: _Thing) -> Patch | None:
            return to_sleep(workload_of(thing.sort, thing.found), thing.keda, job.owner)

        await self._act(job, item, step)

    async def wake(self, job: Job, item: Saved) -> None:
        def step(thing: _Thing) -> Patch | None:
            # Without a mark somebody may have taken it off, or woken the thing; it tells by itself which.
            if not (thing.mark == job.owner or (thing.mark is None and thing.asleep)):
                return None
            if thing.keda:
                return to_unpause(thing.keda, item.restore.get("pausedReplicas"))
            return to_wake(workload_of(thing.sort, thing.found), int(item.restore.get("replicas", 1)))

        await self._act(job, item, step)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        client = await self._clusters.client(job)
        with typed():
            thing = await _read(client, item)
        if thing is None:
            return True
        if rest == "Asleep":
            return workload_of(thing.sort, thing.found).running == 0
        return thing.scaled is not None or ready(thing.sort, thing.found)

    async def _act(self, job: Job, item: Saved, step: Callable[[_Thing], Patch | None]) -> None:
        """Look, and write what the look asks for, if it still holds; look again where it does not."""
        client = await self._clusters.client(job)
        with typed():
            for _ in range(_TRIES):
                thing = await _read(client, item)
                patch = step(thing) if thing else None
                if thing is None or patch is None:
                    return
                try:
                    await _write(client, thing.sort, patch)
                except errors.Conflict:
                    continue
                except errors.NotFound:
                    pass
                return
        raise Retryable(f"{item.key} was changed by others each time it was about to be written.")

    async def _namespaces(self, client: Client, wanted: WorkloadScalerParameters) -> list[str]:
        names = set(wanted.namespace.literals)
        if wanted.namespace.selector:
            chosen = ",".join(f"{key}={value}" for key, value in sorted(wanted.namespace.selector.items()))
            names |= {found.metadata.name for found in await client.list(NAMESPACES, label_selector=chosen)}
        # Also in other clusters, of which one may be our own by another name.
        allowed = {
            name
            for name in names - {self._own_namespace, UNTOUCHABLE}
            if not self._only_namespace or name == self._only_namespace
        }
        if wanted.namespace.literals and not allowed:
            raise Permanent(
                f"namespace: none of {', '.join(sorted(names))} may be touched: not {UNTOUCHABLE}, not the "
                "operator's own, and only the one that it watches. Name others."
            )
        return sorted(allowed)


async def _items(client: Client, namespace: str, sorts: Iterable[Sort], selector: str) -> list[Item]:
    scaled = {_scales(one): one for one in await _scaled_objects(client, namespace)}
    return [
        _item(sort, found, scaled.get((sort.kind.group, sort.kind.kind, found.metadata.name)))
        for sort in sorts
        for found in await client.list(sort.kind, namespace, label_selector=selector)
        if found.metadata.annotations.get(EXCLUDE) != "true"
        and found.metadata.deletion_timestamp is None
        and not is_finished(sort, found)
    ]


async def _scaled_objects(client: Client, namespace: str) -> list[ScaledObject]:
    try:
        return await client.list(SCALED_OBJECTS, namespace)
    except errors.NotFound:  # there is no KEDA here
        return []


def _scales(scaled: ScaledObject) -> tuple[str, str, str]:
    ref = scaled.spec.scale_target_ref
    return ref.api_version.rpartition("/")[0], ref.kind, ref.name


def _item(sort: Sort, found: Anything, scaled: ScaledObject | None) -> Item:
    metadata = found.metadata
    key = f"{sort.label}/{metadata.namespace}/{metadata.name}"
    thing = _Thing(sort, found, scaled)
    if thing.asleep:
        note = f"put to sleep by {thing.mark}" if thing.mark else "was asleep already"
        return Item(key=key, note=note)
    return Item(key=key, restore=_restore(thing), saving=saving_of(sort, found))


def _restore(thing: _Thing) -> dict[str, Any]:
    workload = workload_of(thing.sort, thing.found)
    kept: dict[str, Any] = {"uid": thing.found.metadata.uid}
    if thing.sort.by == "replicas":
        kept["replicas"] = workload.replicas
    if thing.scaled:
        kept["scaledObject"] = thing.scaled.metadata.name
        kept["pausedReplicas"] = thing.scaled.metadata.annotations.get(KEDA_PAUSED_REPLICAS)
    return kept


async def _read(client: Client, item: Saved) -> _Thing | None:
    """The very thing that was saved, if it is still there."""
    label, namespace, name = item.key.split("/")
    sort = await sort_of(client, label)
    try:
        found = await client.get(sort.kind, name, namespace)
    except errors.NotFound:
        return None
    if found.metadata.uid != item.restore["uid"]:
        return None
    scaled = None
    if by := item.restore.get("scaledObject"):
        with suppress(errors.NotFound):  # gone, it left the workload as it was: that sleeps and wakes now
            scaled = await client.get(SCALED_OBJECTS, by, namespace)
    return _Thing(sort, found, scaled)


async def _write(client: Client, sort: Sort, patch: Patch) -> None:
    place = patch.place
    name, namespace, version = place.name, place.namespace, place.resource_version
    if place.resource == SCALED_OBJECTS.resource:
        await client.patch(SCALED_OBJECTS, name, namespace, patch.body, resource_version=version)
    else:
        await client.patch(sort.kind, name, namespace, patch.body, resource_version=version)


def _keda(scaled: ScaledObject) -> Keda:
    paused = scaled.metadata.annotations.get(KEDA_PAUSED_REPLICAS, "")
    place = Place(
        resource=SCALED_OBJECTS.resource,
        namespace=scaled.metadata.namespace,
        name=scaled.metadata.name,
        resource_version=scaled.metadata.resource_version,
    )
    return Keda(place=place, paused_at=int(paused) if paused.isdecimal() else None)


def _parameters(job: Job) -> WorkloadScalerParameters:
    found = parameters(job.target)
    if not isinstance(found, WorkloadScalerParameters):
        raise Permanent(f"The target {job.target.name} is not of type workloadscaler.")
    return found


def selector_text(wanted: LabelSelector | None) -> str:
    """A selector as the API server reads it in a request."""
    if wanted is None:
        return ""
    parts = [f"{key}={value}" for key, value in sorted(wanted.match_labels.items())]
    for one in wanted.match_expressions:
        match one.operator:
            case "In" | "NotIn":
                parts.append(f"{one.key} {one.operator.lower()} ({','.join(one.values)})")
            case "Exists":
                parts.append(one.key)
            case "DoesNotExist":
                parts.append(f"!{one.key}")
    return ",".join(parts)


@contextmanager
def typed() -> Iterator[None]:
    """Errors of the API server as what follows from them."""
    try:
        yield
    except errors.Throttled as error:
        raise Throttled(error.message, retry_after=error.retry_after) from error
    except (errors.Forbidden, errors.Invalid) as error:
        raise Permanent(f"The API server refused it: {error.message}") from error
    except (errors.ApiError, TimeoutError, OSError) as error:
        raise Retryable(f"The API server did not do it: {error}") from error
