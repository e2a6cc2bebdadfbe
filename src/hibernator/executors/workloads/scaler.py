"""Workloads of a cluster: put to zero, suspended or kept off every node, and brought back as they were.

It lists and reads from the API server itself, not from caches: it comes only at the two ends of a night, its
cluster may be another one, and what is written down before the sleep must not be older than the sleep. What a
list brought is written without another look: its version is the precondition.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple
from weakref import WeakKeyDictionary

import structlog

from hibernator.api.core import (
    HORIZONTAL_POD_AUTOSCALERS,
    SCALED_OBJECTS,
    HorizontalPodAutoscaler,
    ScaledObject,
)
from hibernator.api.hibernateplan import Target
from hibernator.api.parameters import LabelSelector, WorkloadScalerParameters
from hibernator.api.planstatus import Rest
from hibernator.api.timewindowscaler_v1beta1 import share
from hibernator.decisions.patched import is_patched
from hibernator.decisions.scaling import Patch, level
from hibernator.decisions.sleepmark import LABEL, SleepMark, asleep_at, is_usable, read_mark
from hibernator.decisions.staying import EXCLUDE, problem, stay
from hibernator.executors.connections import Clusters
from hibernator.executors.insist import insist, typed
from hibernator.executors.protocol import (
    PATIENCE,
    Executor,
    Item,
    Job,
    Permanent,
    Saved,
    check_count,
    parameters,
)
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.kinds import (
    AnyObject,
    UnknownKindError,
    WorkloadKind,
    is_finished,
    ready,
    saving_of,
    workload_kind,
    workload_of,
)
from hibernator.executors.workloads.writes import (
    ODD,
    Thing,
    parts_of,
    read,
    read_whole,
    restore_of,
    thing_of,
    write,
)
from hibernator.kube import errors
from hibernator.kube.client import Client
from hibernator.kube.together import together
from hibernator.kube.wire import Page

_LISTS: Final = 8  # at the same time
_PAGE: Final = 100  # workloads
_PAGES_AT_ONCE: Final = 3  # of one cluster
_AUTOSCALED: Final = (
    "a HorizontalPodAutoscaler scales it, and would undo every number but 0: give it a TimeWindowScaler, "
    "or a target without sleepReplicas"
)
_SHOWN: Final = 200  # characters of what is wrong with a workload

log = structlog.get_logger(__name__)


class Size(NamedTuple):
    """How many replicas of a workload run on while it sleeps."""

    wanted: int | str = 0  # a number, or a share
    autoscaled: bool = False  # a HorizontalPodAutoscaler would undo it


class WorkloadScaler(Executor):
    identity: ClassVar[str] = "uid"
    usual_patience: ClassVar[float] = PATIENCE

    def __init__(self, clusters: Clusters, reach: Reach) -> None:
        self._clusters = clusters
        self._reach = reach
        self._turns: WeakKeyDictionary[Client, asyncio.Semaphore] = WeakKeyDictionary()

    async def discover(self, job: Job) -> tuple[Item, ...]:
        selector = selector_text(parameters_of(job.target).workload_selector)
        return await self._everywhere(
            job, lambda client, namespace, kinds: self._items(client, namespace, kinds, selector, job)
        )

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        """By the label of sleepers alone: what sleeps is to be woken, whatever its other labels say now."""
        return await self._everywhere(
            job, lambda client, namespace, kinds: self._sleepers(client, namespace, kinds, job), asleep=True
        )

    async def sleep(self, job: Job, item: Saved) -> None:
        client = await self._clusters.client(job)

        async def act(thing: Thing) -> None:
            if not thing.patched and (patch := thing.to_sleep(job.mark(item))):
                await write(client, thing.kind.api, patch)

        await insist(item.key, item.seen, lambda: read(client, item.key, item.restore), act)

    async def wake(self, job: Job, item: Saved) -> None:
        if not is_usable(item.restore) or is_patched(item.restore):
            raise Permanent(f"{item.key}: what the restore data says of it cannot be used. Correct it.")
        if not self._reach.covers(parts_of(item.key)[1]):
            raise Permanent(
                f"{item.key} is in a namespace that is never touched. Remove it from the restore data."
            )
        client = await self._clusters.client(job)

        async def act(thing: Thing) -> None:
            if patch := _waking(job, item, thing):
                await write(client, thing.kind.api, patch)

        await insist(item.key, item.seen, lambda: read(client, item.key, item.restore), act)

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        client = await self._clusters.client(job)
        with typed():
            whole = await read_whole(client, item.key, item.restore)
        if whole is None:
            return True
        if rest == "Asleep":
            return workload_of(whole.kind, whole.found).running <= asleep_at(item.restore)
        return whole.scaled is not None or ready(whole.kind, whole.found)

    async def _everywhere(
        self,
        job: Job,
        look: Callable[[Client, str, Sequence[WorkloadKind]], Awaitable[list[Item]]],
        *,
        asleep: bool = False,
    ) -> tuple[Item, ...]:
        """What a look at each namespace of the target finds, in the order of the keys."""
        wanted = parameters_of(job.target)
        client = await self._clusters.client(job)
        turns = asyncio.Semaphore(_LISTS)

        async def one(namespace: str, kinds: Sequence[WorkloadKind]) -> list[Item]:
            async with turns:
                return await look(client, namespace, kinds)

        with typed():
            kinds = await _kinds(client, wanted.included_groups, asleep=asleep)
            namespaces = await self._reach.namespaces(client, wanted.namespace)
            found = await together(one(namespace, kinds) for namespace in namespaces)
        check_count(sum(map(len, found)))
        return tuple(sorted((item for items in found for item in items), key=lambda item: item.key))

    async def _items(
        self, client: Client, namespace: str, kinds: Iterable[WorkloadKind], selector: str, job: Job
    ) -> list[Item]:
        scaled = {_scales(one): one for one in await _scaled_objects(client, namespace)}
        wanted = parameters_of(job.target).sleep_replicas
        sized = await _autoscaled(client, namespace) if wanted else frozenset()
        items: list[Item] = []
        for kind in kinds:
            async for page in self._pages(client, kind, namespace, selector):
                items += [
                    _item(kind, found, scaled.get(of := _scalee(kind, found)), job, Size(wanted, of in sized))
                    for found in page.items
                    if found.metadata.annotations.get(EXCLUDE) != "true"
                    and found.metadata.deletion_timestamp is None
                    and not is_finished(kind, found)
                ]
                check_count(len(items))
                del page
        return items

    async def _sleepers(
        self, client: Client, namespace: str, kinds: Iterable[WorkloadKind], job: Job
    ) -> list[Item]:
        items: list[Item] = []
        for kind in kinds:
            async for page in self._pages(client, kind, namespace, LABEL):
                for found in page.items:
                    thing = _thing(kind, found)
                    mark = read_mark(found.metadata.annotations)
                    if item := _marked(mark, _key(kind, found), job, thing):
                        items.append(item)
                del page
        by_kind = {(kind.api.group, kind.api.kind): kind for kind in kinds}
        for scaled in await _scaled_objects(client, namespace, LABEL):
            group, kind_name, name = _scales(scaled)
            # By what it scales, not by what its mark says: that may name something of others.
            if found_kind := by_kind.get((group, kind_name)):
                mark = read_mark(scaled.metadata.annotations)
                if item := _marked(mark, f"{found_kind.label}/{namespace}/{name}", job, None):
                    items.append(item)
        return items

    async def _pages(
        self, client: Client, kind: WorkloadKind, namespace: str, selector: str
    ) -> AsyncIterator[Page[AnyObject]]:
        """Page by page, a few at a time for all plans: no more of thousands is in memory as a whole."""
        turns = self._turns.setdefault(client, asyncio.Semaphore(_PAGES_AT_ONCE))
        pages = client.pages(kind.api, namespace, label_selector=selector, limit=_PAGE)
        while True:
            async with turns:
                page = await anext(pages, None)
            if page is None:
                return
            yield page
            del page


async def _kinds(client: Client, names: Iterable[str], *, asleep: bool) -> tuple[WorkloadKind, ...]:
    """The kinds, each once. Of one that went in the night nothing sleeps; the others wake all the same."""
    kinds: dict[WorkloadKind, None] = {}
    for name in names:
        try:
            kinds[await workload_kind(client, name)] = None
        except UnknownKindError:
            if not asleep:
                raise
    return tuple(kinds)


def _waking(job: Job, item: Saved, thing: Thing) -> Patch | None:
    """The write that wakes it; None if it was woken in this cycle already, or sleeps for another plan."""
    mark = thing.mark
    if mark is None and thing.trace == job.trace:
        return None
    if mark is None and not thing.sleeps_by(item.restore):
        # What the plan does not cover is not written to: the entry may be forged.
        return thing.to_leave_awake(job.trace) if item.covered else None
    if mark is not None and (mark.plan != job.owner or thing.patched):
        return None
    if not item.covered and not (mark and mark.uid == job.uid):
        raise item.foreign
    return thing.to_wake(item.restore, job.trace)


def _marked(mark: SleepMark | None, key: str, job: Job, thing: Thing | None) -> Item | None:
    """The item as its mark has it, if this plan has put it to sleep for this target."""
    if mark is None or mark.was is None or is_patched(mark.was):
        return None
    if (mark.plan, mark.target) != (job.owner, job.target.name):
        return None
    return Item(key=key, restore=mark.was, asleep=True, seen=thing)


async def _scaled_objects(client: Client, namespace: str, selector: str = "") -> list[ScaledObject]:
    try:
        return await client.list(SCALED_OBJECTS, namespace, label_selector=selector)
    except errors.NotFound:  # there is no KEDA here
        return []
    except errors.Forbidden:  # which is also said to who may not read what is not there
        if await client.serves(SCALED_OBJECTS.group):
            raise
        return []


async def _autoscaled(client: Client, namespace: str) -> frozenset[tuple[str, str, str]]:
    """What a HorizontalPodAutoscaler scales, which leaves alone only what is at zero."""
    return frozenset(map(_scales, await client.list(HORIZONTAL_POD_AUTOSCALERS, namespace)))


def _scalee(kind: WorkloadKind, found: AnyObject) -> tuple[str, str, str]:
    return kind.api.group, kind.api.kind, found.metadata.name


def _scales(scaled: ScaledObject | HorizontalPodAutoscaler) -> tuple[str, str, str]:
    ref = scaled.spec.scale_target_ref
    return ref.api_version.rpartition("/")[0], ref.kind, ref.name


def _thing(kind: WorkloadKind, found: AnyObject) -> Thing | None:
    """The workload; None if its shape is not that of a workload."""
    try:
        return thing_of(kind, found, None)
    except ODD:
        return None


def _key(kind: WorkloadKind, found: AnyObject) -> str:
    return f"{kind.label}/{found.metadata.namespace}/{found.metadata.name}"


def _item(kind: WorkloadKind, found: AnyObject, scaled: ScaledObject | None, job: Job, size: Size) -> Item:
    try:
        return _usual_item(kind, found, scaled, job, size)
    except ODD as error:
        key = _key(kind, found)
        log.warning("workload cannot be read", item=key, why=repr(error)[:_SHOWN])
        return Item(key=key, note="left alone: its replicas or its Pod template cannot be read")


def _usual_item(
    kind: WorkloadKind, found: AnyObject, scaled: ScaledObject | None, job: Job, size: Size
) -> Item:
    thing = thing_of(kind, found, scaled)
    written = [one.metadata.annotations for one in (found, scaled) if one]
    item = Item(key=thing.key, seen=thing, trouble=" ".join(filter(None, map(problem, written))))
    if thing.mark and thing.patched:
        return replace(item, note=f"put to sleep by the target {thing.mark.target} of {thing.mark.plan}")
    if not thing.asleep:
        created = found.metadata.creation_timestamp
        if stays := stay(written, created, job.behavior.grace_for_new, job.now):
            return replace(item, awake_until=stays.until, note=stays.why)
        had = level(thing.workload, thing.keda)
        left = share(size.wanted, had) if kind.by == "replicas" else 0  # what has no number sleeps whole
        if left and size.autoscaled and not scaled:
            return replace(item, note=_AUTOSCALED)
        if 0 < had <= left:
            return replace(item, note=f"all of its replicas would run on: {had}")
        woken = thing.mark is not None and (thing.mark.uid, thing.mark.cycle) == (job.uid, job.cycle)
        saving = saving_of(kind, found, replicas=had, left=left)
        return replace(item, restore=restore_of(thing, scaled, left), saving=saving, woken=woken)
    if thing.mark is None:
        return replace(item, note="was asleep already")
    if thing.mark.plan != job.owner or thing.mark.was is None:
        return replace(item, note=f"put to sleep by {thing.mark.plan}")
    was = thing.mark.was
    saving = saving_of(kind, found, replicas=was.get("replicas"), left=asleep_at(was))
    item = replace(item, restore=was, saving=saving, asleep=True)
    # One that sleeps is no longer new; only its owners wake it before its plan does.
    stays = stay(written, None, None, job.now)
    return replace(item, awake_until=stays.until, note=stays.why) if stays else item


def parameters_of(target: Target) -> WorkloadScalerParameters:
    found = parameters(target)
    if not isinstance(found, WorkloadScalerParameters):
        raise Permanent(f"The target {target.name} is not of type workloadscaler.")
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
