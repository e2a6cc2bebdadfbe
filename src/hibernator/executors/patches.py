"""Objects of any kind that sleep by a JSON patch, and wake by what the patch has changed.

The patch is applied here, to the object as it was listed, and not by the API server: so the fields that it
changes are known before the write, and the write that changes them also carries what they were. Waking brings
each field back, unless others have changed it since.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import msgspec
import structlog

from hibernator.api.kind import Kind
from hibernator.api.meta import ObjectMeta
from hibernator.api.parameters import PatchesParameters
from hibernator.api.patching import Operation, operations
from hibernator.api.plan_checks import check_parameters
from hibernator.api.planstatus import Rest
from hibernator.api.structural import show
from hibernator.decisions import patched
from hibernator.decisions.jsonpatch import PatchError, applied
from hibernator.decisions.patched import LARGEST, PATCHED, Managed, fields_of
from hibernator.decisions.scaling import ObjectRef, Patch
from hibernator.decisions.sleepmark import (
    LABEL,
    TRACE,
    SleepMark,
    from_metadata,
    is_usable,
    read_mark,
    to_metadata,
)
from hibernator.decisions.staying import EXCLUDE, problem, stay
from hibernator.executors.connections import Clusters
from hibernator.executors.insist import insist, typed
from hibernator.executors.protocol import (
    PATIENCE,
    Executor,
    Item,
    Job,
    Permanent,
    Retryable,
    Saved,
    check_count,
    parameters_as,
)
from hibernator.executors.reach import Reach
from hibernator.executors.workloads.kinds import AnyObject
from hibernator.executors.workloads.scaler import selector_text
from hibernator.executors.workloads.writes import parts_of, write
from hibernator.kube import errors
from hibernator.kube.client import Client
from hibernator.kube.patch import merge_patch
from hibernator.kube.together import together

log = structlog.get_logger(__name__)

VERBS: Final = ("get", "list", "watch", "patch")  # that the operator needs on the resource
_LISTS: Final = 8  # at the same time


class _WrittenMeta(ObjectMeta):
    managed_fields: tuple[Managed, ...] = ()


class Written(AnyObject):
    """An object of any kind, and who wrote which of its fields. Only for the moment of a look."""

    metadata: _WrittenMeta = _WrittenMeta()


def written(kind: Kind[Any]) -> Kind[Written]:
    return Kind(Written, kind.group, kind.version, kind.kind, kind.plural, kind.namespaced)


def kind_named(api_version: str, resource: str) -> Kind[Written]:
    group, _, version = api_version.rpartition("/")
    return Kind(Written, group, version, resource, resource)


@dataclass(frozen=True, slots=True)
class Thing:
    """What there is to know of an object before it is put to sleep or woken, by one restore document."""

    place: ObjectRef
    mark: SleepMark | None
    trace: str
    asleep: bool
    sleeping: dict[str, Any] | None  # what the write says that puts it to sleep; None: it has no place for it
    waking: dict[str, Any]
    theirs: tuple[str, ...]  # the fields that others have changed, which stay

    def to_wake(self, trace: str) -> Patch:
        return Patch(place=self.place, body=_with(self.waking, from_metadata(trace)))


def thing_of(kind: Kind[Any], found: Written, was: dict[str, Any]) -> Thing:
    """The object as a restore document sees it. Raises ValueError if that cannot be used."""
    fields, document, managed = fields_of(was), _document(found), found.metadata.managed_fields
    awake, theirs = patched.to_wake(document, fields, managed)
    sleeping = None
    try:
        sleeping = merge_patch(document, patched.to_sleep(document, fields))
    except PatchError as error:
        log.info("object has no place for a patch any more", item=_key(kind, found), why=str(error))
    return Thing(
        place=ObjectRef(
            resource=kind.resource,
            namespace=found.metadata.namespace,
            name=found.metadata.name,
            resource_version=found.metadata.resource_version,
        ),
        mark=read_mark(found.metadata.annotations),
        trace=found.metadata.annotations.get(TRACE, ""),
        asleep=patched.asleep(document, fields, managed),
        sleeping=sleeping,
        waking=merge_patch(document, awake),
        theirs=theirs,
    )


class Patches(Executor):
    identity: ClassVar[str] = "uid"
    usual_patience: ClassVar[float] = PATIENCE

    def __init__(self, clusters: Clusters, reach: Reach) -> None:
        self._clusters = clusters
        self._reach = reach

    async def discover(self, job: Job) -> tuple[Item, ...]:
        wanted = _parameters(job)
        steps = operations(wanted.patch)
        found = await self._listed(job, selector_text(wanted.selector), asks=True)
        kind = _kind(wanted)
        items = [
            _item(kind, one, steps, job)
            for one in found
            if one.metadata.annotations.get(EXCLUDE) != "true" and one.metadata.deletion_timestamp is None
        ]
        unfit = [item for item in items if item.trouble]
        if unfit and len(unfit) == len(items):
            raise Permanent(f"{unfit[0].key}: {unfit[0].trouble}")
        return tuple(sorted(items, key=lambda item: item.key))

    async def asleep(self, job: Job) -> tuple[Item, ...]:
        """By the label of sleepers alone: what sleeps is to be woken, whatever its other labels say now."""
        kind = _kind(_parameters(job))
        items = []
        for one in await self._listed(job, LABEL, asks=False):
            mark = _own_mark(one, job)
            if mark and mark.was is not None:
                items.append(
                    Item(
                        key=_key(kind, one),
                        restore=mark.was,
                        asleep=True,
                        seen=thing_of(kind, one, mark.was),
                    )
                )
        return tuple(sorted(items, key=lambda item: item.key))

    async def sleep(self, job: Job, item: Saved) -> None:
        kind, client = _kind(_parameters(job)), await self._clusters.client(job)

        async def act(thing: Thing) -> None:
            if thing.mark and not _is_own(thing.mark, job):
                return
            if thing.asleep and thing.mark:
                return
            if thing.sleeping is None:
                raise Retryable(
                    f"{item.key} has changed since it was looked at, and the patch no longer fits."
                )
            body = _with(thing.sleeping, to_metadata(job.mark(item)))
            await write(client, kind, Patch(place=thing.place, body=body))

        await insist(item.key, item.seen, lambda: self._read(client, kind, item), act)

    async def wake(self, job: Job, item: Saved) -> str | None:
        kind = _kind(_parameters(job))
        if not patched.is_patched(item.restore) or not is_usable(item.restore):
            raise Permanent(f"{item.key}: what the restore data says of it cannot be used. Correct it.")
        resource, namespace, _ = parts_of(item.key)
        if resource != kind.resource or not self._reach.covers(namespace):
            raise Permanent(f"{item.key} is not of this target. Remove it from the restore data.")
        client = await self._clusters.client(job)
        theirs: tuple[str, ...] = ()

        async def act(thing: Thing) -> None:
            nonlocal theirs
            mark = thing.mark
            if (mark is None and thing.trace == job.trace) or (mark and not _is_own(mark, job)):
                return
            if mark is None and not thing.asleep:
                if item.covered:  # what the plan does not cover is not written to: the entry may be forged
                    await write(
                        client, kind, Patch(place=thing.place, body={"metadata": from_metadata(job.trace)})
                    )
                return
            if not item.covered and not (mark and mark.uid == job.uid):
                raise item.foreign
            theirs = thing.theirs
            await write(client, kind, thing.to_wake(job.trace))

        # What `asleep` has read is seen by its mark, which may not be what the restore data says.
        seen = (
            item.seen if item.seen and item.seen.mark and item.seen.mark.was == dict(item.restore) else None
        )
        await insist(item.key, seen, lambda: self._read(client, kind, item), act)
        return f"{item.key}: others have changed {', '.join(theirs)}, which stays." if theirs else None

    async def settled(self, job: Job, item: Saved, rest: Rest) -> bool:
        """What a kind does about a patch is its own business, and so is when it has done it."""
        del job, item, rest
        return True

    async def _read(self, client: Client, kind: Kind[Written], item: Saved) -> Thing | None:
        _, namespace, name = parts_of(item.key)
        try:
            found = await client.get(kind, name, namespace)
        except errors.NotFound:
            return None
        if found.metadata.uid != item.restore.get("uid"):
            mark = read_mark(found.metadata.annotations)
            if mark is None or mark.was != item.restore:  # else a backup has brought it back
                return None
        return thing_of(kind, found, dict(item.restore))

    async def _listed(self, job: Job, selector: str, *, asks: bool) -> list[Written]:
        """The objects of the target in all its namespaces; `asks` whether they may be written, too."""
        wanted = _parameters(job)
        kind, client = _kind(wanted), await self._clusters.client(job)
        turns = asyncio.Semaphore(_LISTS)

        async def one(namespace: str) -> list[Written]:
            async with turns:
                if asks and not await client.may_i("patch", kind, namespace):
                    raise missing_right(kind, namespace)
                found: list[Written] = []
                async for page in client.pages(kind, namespace, label_selector=selector):
                    found += page.items
                    check_count(len(found))
                return found

        with typed():
            try:
                namespaces = await self._reach.namespaces(client, wanted.namespace)
                return [item for items in await together(map(one, namespaces)) for item in items]
            except errors.NotFound as error:
                raise Permanent(
                    f"parameters.resource is {wanted.resource}: this cluster has no {wanted.resource} with "
                    f"namespaces in {wanted.api_version}. Write what `kubectl api-resources` shows."
                ) from error
            except errors.Forbidden as error:
                raise missing_right(kind, "") from error


def missing_right(kind: Kind[Any], namespace: str) -> Permanent:
    place = f" in {namespace}" if namespace else ""
    return Permanent(
        f"The operator may not {', '.join(VERBS)} {kind.resource}{place}. Bind a role with "
        f"apiGroups: [{show(kind.group)}], resources: [{show(kind.plural)}], verbs: {show(list(VERBS))} to "
        "its account."
    )


def _item(kind: Kind[Written], found: Written, steps: Sequence[Operation], job: Job) -> Item:
    annotations = found.metadata.annotations
    item = Item(key=_key(kind, found), trouble=problem(annotations))
    mark = read_mark(annotations)
    if mark and _own_mark(found, job) is None:
        return replace(item, note=f"put to sleep by the target {mark.target} of {mark.plan}")
    if mark and mark.was and (thing := thing_of(kind, found, mark.was)).asleep:
        item = replace(item, restore=mark.was, asleep=True, seen=thing)
        stays = stay([annotations], None, None, job.now)
        return replace(item, awake_until=stays.until, note=stays.why) if stays else item
    created = found.metadata.creation_timestamp
    if stays := stay([annotations], created, job.behavior.grace_for_new, job.now):
        return replace(item, awake_until=stays.until, note=stays.why)
    document = _document(found)
    try:
        fields = patched.changes(document, applied(document, steps))
    except PatchError as error:
        return replace(
            item, note="the patch does not fit", trouble=f"parameters.patch does not fit: {error}."
        )
    if not fields:
        return replace(item, note="the patch changes nothing of it")
    was = {"uid": found.metadata.uid, PATCHED: msgspec.to_builtins(fields)}
    if len(msgspec.json.encode(was)) > LARGEST:
        fix = f"Of what it changes, at most {LARGEST // 1024} KiB can be kept. Change smaller fields."
        return replace(item, note="the patch changes too much", trouble=f"parameters.patch: {fix}")
    woken = mark is not None and (mark.uid, mark.cycle) == (job.uid, job.cycle)
    return replace(item, restore=was, seen=thing_of(kind, found, was), woken=woken)


def _own_mark(found: Written, job: Job) -> SleepMark | None:
    """The mark, if this target of this plan has left it."""
    mark = read_mark(found.metadata.annotations)
    return mark if mark and _is_own(mark, job) else None


def _is_own(mark: SleepMark, job: Job) -> bool:
    """Of an object that several targets of a plan cover, the one that put it to sleep wakes it."""
    return patched.is_patched(mark.was) and (mark.plan, mark.target) == (job.owner, job.target.name)


def _document(found: Written) -> dict[str, Any]:
    """What a patch sees of an object. Of `metadata` it can change no more than labels and annotations."""
    metadata = found.metadata
    return {
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "labels": dict(metadata.labels),
            "annotations": dict(metadata.annotations),
        },
        "spec": dict(found.spec),
        "status": dict(found.status),
    }


def _with(body: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """A write with the mark, or its trace, besides what it changes."""
    metadata = dict(body.get("metadata", {}))
    for part, values in more.items():
        metadata[part] = {**metadata.get(part, {}), **values}
    return {**body, "metadata": metadata}


def _kind(wanted: PatchesParameters) -> Kind[Written]:
    return kind_named(wanted.api_version, wanted.resource)


def _key(kind: Kind[Any], found: AnyObject) -> str:
    return f"{kind.resource}/{found.metadata.namespace}/{found.metadata.name}"


def _parameters(job: Job) -> PatchesParameters:
    """The parameters, once more checked: not everything comes through the webhook."""
    wanted = parameters_as(job, PatchesParameters)
    if job.target.connector_ref:
        raise Permanent(
            "connectorRef: a target of type patches works in the operator's own cluster. Remove it."
        )
    written_down = msgspec.to_builtins(job.target.parameters)
    for one in check_parameters("patches", written_down, {}, "parameters"):
        raise Permanent(f"{one.path} is {show(one.value)}: {one.message}. {one.fix}")
    return wanted
