"""Everything in a cluster that bears the mark of a plan: found and woken by the marks alone.

This needs neither the plans nor their restore data, nor the operator: it is how strays are found, and how
everything is woken when nothing else is left.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import structlog
from whenever import Instant

from hibernator.api.core import (
    CUSTOM_RESOURCE_DEFINITIONS,
    SCALED_OBJECTS,
    CustomResourceDefinition,
    ScaledObject,
)
from hibernator.api.kind import Kind
from hibernator.api.patching import BUILT_IN as PATCHABLE, refusal
from hibernator.decisions.patched import MANAGER, is_patched
from hibernator.decisions.scaling import Patch, is_asleep, to_leave_awake, to_unpause
from hibernator.decisions.sleepmark import LABEL, SleepMark, read_mark
from hibernator.decisions.staying import EXCLUDE, asked_for
from hibernator.executors import karpenter, patches
from hibernator.executors.insist import insist, typed
from hibernator.executors.karpenter import NODE_POOLS
from hibernator.executors.patches import Written, written
from hibernator.executors.workloads.kinds import BUILT_IN, AnyObject, WorkloadKind, scalable
from hibernator.executors.workloads.writes import ODD, keda_of, thing_of, write
from hibernator.kube import errors
from hibernator.kube.client import Client

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Sleeper:
    """Something that bears a mark, as it was read."""

    where: "Where"
    namespace: str
    name: str
    key: str  # as the restore data names it
    mark: SleepMark
    asleep: bool
    excluded: bool  # someone has said in the night that it shall not sleep
    awake_until: Instant | None  # or shall not sleep before then
    waking: Patch  # what brings it back to what its mark says


class WokenBy(NamedTuple):
    """Who has woken something, and when, as far as it is known."""

    manager: str = ""
    at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Where:
    """A kind whose objects can bear marks, and how one of them is read."""

    kind: Kind[Any]
    of: Callable[["Where", Any], Sleeper | None]
    expected: bool = True  # whether the operator has the right to list it: to patched kinds only where given

    @property
    def built_in(self) -> bool:
        """Whether the API server itself has the kind, and answers for it."""
        return self.kind.resource in BUILT_INS


def of_workload_kind(kind: WorkloadKind) -> Where:
    def sleeper(where: Where, found: Written) -> Sleeper | None:
        if is_patched(_was(found)):
            return _of_patched(where, found)
        thing = thing_of(kind, found, None)
        if thing.mark is None or thing.mark.was is None:
            return None
        trace = thing.mark.trace
        waking = thing.to_wake(thing.mark.was, trace) if thing.asleep else thing.to_leave_awake(trace)
        return _sleeper(where, found, thing.key, thing.mark, waking, asleep=thing.asleep)

    return Where(written(kind.api), sleeper)


def of_patched(kind: Kind[Any]) -> Where:
    """A kind of which nothing is known but that patches may put its objects to sleep."""
    return Where(written(kind), _of_patched, expected=False)


def _of_patched(where: Where, found: Written) -> Sleeper | None:
    mark, was = read_mark(found.metadata.annotations), _was(found)
    if mark is None or was is None or not is_patched(was):
        return None
    thing = patches.thing_of(where.kind, found, was)
    key = f"{where.kind.resource}/{found.metadata.namespace}/{found.metadata.name}"
    return _sleeper(where, found, key, mark, thing.to_wake(mark.trace), asleep=thing.asleep)


def _was(found: Written) -> dict[str, Any] | None:
    mark = read_mark(found.metadata.annotations)
    return mark.was if mark else None


def _of_scaled_object(where: Where, found: ScaledObject) -> Sleeper | None:
    mark = read_mark(found.metadata.annotations)
    if mark is None or mark.was is None:
        return None
    keda = keda_of(found)
    asleep = is_asleep(keda, mark.was)
    waking = (
        to_unpause(keda, mark.was.get("pausedReplicas"), mark.trace)
        if asleep
        else to_leave_awake(keda.place, mark.trace)
    )
    return _sleeper(where, found, mark.item, mark, waking, asleep=asleep)


def _of_pool(where: Where, found: AnyObject) -> Sleeper | None:
    pool = karpenter.pool_of(found)
    if pool.mark is None or pool.mark.was is None:
        return None
    return _sleeper(where, found, pool.key, pool.mark, karpenter.waking(pool), asleep=pool.asleep)


def _sleeper(where: Where, found: Any, key: str, mark: SleepMark, waking: Patch, *, asleep: bool) -> Sleeper:
    metadata = found.metadata
    excluded = metadata.annotations.get(EXCLUDE) == "true"
    until = asked_for(metadata.annotations)
    return Sleeper(where, metadata.namespace, metadata.name, key, mark, asleep, excluded, until, waking)


SCALED_OBJECTS_WHERE = Where(SCALED_OBJECTS, _of_scaled_object)
POOLS_WHERE = Where(NODE_POOLS, _of_pool)
USUAL = (*map(of_workload_kind, BUILT_IN), SCALED_OBJECTS_WHERE)
_PATCHABLE: Final = tuple(
    of_patched(Kind(AnyObject, group, version, plural, plural))
    for (group, plural), version in PATCHABLE.items()
)
BUILT_INS: Final = frozenset(where.kind.resource for where in (*map(of_workload_kind, BUILT_IN), *_PATCHABLE))


async def everywhere(client: Client) -> tuple[Where, ...]:
    """All kinds of a cluster whose objects can bear marks, as far as its definitions can be read."""
    found: list[CustomResourceDefinition] = []
    try:
        found = await client.list(CUSTOM_RESOURCE_DEFINITIONS)
    except errors.ApiError as error:
        log.warning("custom kinds cannot be listed", why=error.message)
    return of_definitions(found)


def of_definitions(definitions: Iterable[CustomResourceDefinition]) -> tuple[Where, ...]:
    """All kinds whose objects can bear marks, in a cluster with these definitions."""
    wheres: dict[str, Where] = {}
    for where in (*USUAL, POOLS_WHERE, *_PATCHABLE, *filter(None, map(_custom, definitions))):
        wheres.setdefault(where.kind.resource, where)
    return tuple(wheres.values())


def _custom(definition: CustomResourceDefinition) -> Where | None:
    if kind := scalable(definition):
        return of_workload_kind(kind)
    spec = definition.spec
    version = next((one.name for one in spec.versions if one.served), "")
    if not version or spec.scope != "Namespaced" or refusal(spec.group, spec.names.plural):
        return None
    return of_patched(Kind(AnyObject, spec.group, version, spec.names.kind, spec.names.plural))


async def find(client: Client, wheres: Iterable[Where], namespace: str = "") -> AsyncIterator[Sleeper]:
    """What bears a mark, from lists by its label. A kind that is not there, or is forbidden, has none.

    Nor has a custom one of which the API server gives no list, as when what converts it is gone: all others
    are to be woken nevertheless.
    """
    for where in wheres:
        try:
            pages = client.pages(where.kind, namespace, label_selector=LABEL)
            async for page in pages:
                for found in page.items:
                    if sleeper := _read(where, found):
                        yield sleeper
        except errors.NotFound:
            continue
        except errors.ApiError as error:
            if where.built_in and not isinstance(error, errors.Forbidden):
                raise
            if where.expected:
                log.warning(
                    "sleepers of a kind cannot be listed", resource=where.kind.resource, why=error.message
                )


def _read(where: Where, found: Any) -> Sleeper | None:
    """What bears the mark; None, too, if its shape is not that of a workload."""
    try:
        return where.of(where, found)
    except ODD as error:
        metadata, resource = found.metadata, where.kind.resource
        log.warning(
            "sleeper cannot be read",
            resource=resource,
            namespace=metadata.namespace,
            name=metadata.name,
            why=repr(error)[:200],
        )
        return None


async def read(client: Client, sleeper: Sleeper) -> Sleeper | None:
    """The same as it is now; None when it is gone, or bears no mark any more."""
    try:
        found = await client.get(sleeper.where.kind, sleeper.name, sleeper.namespace)
    except errors.NotFound:
        return None
    return _read(sleeper.where, found)


async def woken_by(client: Client, sleeper: Sleeper) -> WokenBy:
    """The field manager that owns what would put it to sleep: who has woken it, as far as it is known."""
    kind = replace(written(sleeper.where.kind), partial=True)
    try:
        found = await client.get(kind, sleeper.name, sleeper.namespace)
    except errors.ApiError:
        return WokenBy()
    patched = is_patched(sleeper.mark.was)  # by any field, and so by whichever manager wrote to it last
    owners = [
        entry
        for entry in found.metadata.managed_fields
        if (patched or _OWNED & set(entry.fields.get("f:spec") or ())) and entry.manager != MANAGER
    ]
    last = max(owners, key=lambda entry: entry.time, default=None)
    return WokenBy(last.manager, Instant(last.time) if last.time else None) if last else WokenBy()


_OWNED: Final = frozenset({"f:replicas", "f:suspend", "f:template", "f:limits"})


async def wake(client: Client, sleeper: Sleeper) -> None:
    """Bring it back to what its mark says, if it still bears that mark."""

    async def act(now: Sleeper) -> None:
        if now.mark == sleeper.mark:
            await write(client, now.where.kind, now.waking)

    with typed():
        await insist(sleeper.key, sleeper, lambda: read(client, sleeper), act)
