"""A workload as it was read: what there is to know before it is put to sleep or woken, and those writes.

Who read it keeps only this much of it. A plan may cover thousands, and from the list that brought them to the
write that needs their version they all wait in memory.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from hibernator.api.core import SCALED_OBJECTS, ScaledObject
from hibernator.api.kind import Kind, partial
from hibernator.decisions.patched import is_patched
from hibernator.decisions.scaling import (
    KEDA_PAUSED_REPLICAS,
    Keda,
    ObjectRef,
    Patch,
    Workload,
    is_asleep,
    paused_at,
    to_leave_awake,
    to_sleep,
    to_unpause,
    to_wake,
)
from hibernator.decisions.sleepmark import ASLEEP_AT, TRACE, SleepMark, read_mark
from hibernator.executors.insist import sure_of
from hibernator.executors.protocol import Permanent
from hibernator.executors.workloads.kinds import (
    AnyObject,
    UnknownKindError,
    WorkloadKind,
    workload_kind,
    workload_of,
)
from hibernator.kube import errors
from hibernator.kube.client import Client

# What reading an object raises whose kind lets people write anything. It must not hold up the others.
ODD: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Thing:
    """The workload, and the KEDA ScaledObject that scales it: that one is then the bearer of the mark."""

    kind: WorkloadKind
    uid: str
    workload: Workload
    keda: Keda | None
    mark: SleepMark | None
    trace: str

    @property
    def key(self) -> str:
        place = self.workload.place
        return f"{self.kind.label}/{place.namespace}/{place.name}"

    @property
    def patched(self) -> bool:
        """Whether it sleeps by a patch, which is for another type of target to take back."""
        return self.mark is not None and is_patched(self.mark.was)

    @property
    def asleep(self) -> bool:
        return self.sleeps_by(self.mark.was if self.mark else None)

    def sleeps_by(self, was: Mapping[str, Any] | None) -> bool:
        """Whether it sleeps, as a restore document has it."""
        return is_asleep(self.keda or self.workload, was)

    @property
    def place(self) -> ObjectRef:
        return self.keda.place if self.keda else self.workload.place

    def to_sleep(self, mark: SleepMark) -> Patch | None:
        """None where it is asleep."""
        return to_sleep(self.workload, self.keda, mark)

    def to_wake(self, was: Mapping[str, Any], trace: str) -> Patch:
        if self.keda:
            return to_unpause(self.keda, was.get("pausedReplicas"), trace)
        return to_wake(self.workload, was.get("replicas", 1), trace)

    def to_leave_awake(self, trace: str) -> Patch:
        return to_leave_awake(self.place, trace)


def thing_of(kind: WorkloadKind, found: AnyObject, scaled: ScaledObject | None) -> Thing:
    annotations = (scaled or found).metadata.annotations
    return Thing(
        kind=kind,
        uid=found.metadata.uid,
        workload=workload_of(kind, found),
        keda=keda_of(scaled) if scaled else None,
        mark=read_mark(annotations),
        trace=annotations.get(TRACE, ""),
    )


def restore_of(thing: Thing, scaled: ScaledObject | None, size: int) -> dict[str, Any]:
    """What it takes to wake it as it is now; asleep, `size` replicas of it run."""
    kept: dict[str, Any] = {"uid": thing.uid}
    if size:
        kept[ASLEEP_AT] = size
    if thing.kind.by == "replicas":
        kept["replicas"] = None if thing.workload.left_open else thing.workload.replicas
    if scaled:
        kept["scaledObject"] = scaled.metadata.name
        kept["pausedReplicas"] = scaled.metadata.annotations.get(KEDA_PAUSED_REPLICAS)
    return kept


def parts_of(key: str) -> tuple[str, str, str]:
    """The kind, the namespace and the name of an item."""
    kind, _, rest = key.partition("/")
    namespace, _, name = rest.partition("/")
    if not (kind and namespace and name) or "/" in name:
        raise Permanent(f"restore data: {key!r} is no item. Write KIND/NAMESPACE/NAME, or remove it.")
    return kind, namespace, name


@dataclass(frozen=True, slots=True)
class Whole:
    """Everything that the API server says of it; only for the moment of a look."""

    kind: WorkloadKind
    found: AnyObject
    scaled: ScaledObject | None


async def read_whole(client: Client, key: str, was: Mapping[str, Any]) -> Whole | None:
    """The very thing that was saved, if it is still there, or what a backup has brought back of it."""
    label, namespace, name = parts_of(key)
    try:
        kind = await workload_kind(client, label)
    except UnknownKindError:  # its objects went with it
        return None
    try:
        found = await client.get(kind.api, name, namespace)
    except errors.NotFound as error:
        sure_of(error)
        return None
    scaled = None
    if by := was.get("scaledObject"):
        with suppress(errors.NotFound):  # gone, it left the workload as it was: that sleeps and wakes now
            scaled = await client.get(SCALED_OBJECTS, by, namespace)
    if found.metadata.uid != was.get("uid"):
        mark = read_mark((scaled or found).metadata.annotations)
        if mark is None or mark.was != was:
            return None
    return Whole(kind, found, scaled)


async def read(client: Client, key: str, was: Mapping[str, Any]) -> Thing | None:
    whole = await read_whole(client, key, was)
    return thing_of(whole.kind, whole.found, whole.scaled) if whole else None


async def write(client: Client, kind: Kind[Any], patch: Patch) -> None:
    """Patch the workload, or what scales it, as it was read. The answer says nothing but that it was done."""
    if patch.place.resource == SCALED_OBJECTS.resource:
        kind = SCALED_OBJECTS
    place = patch.place
    await client.patch(
        partial(kind), place.name, place.namespace, patch.body, resource_version=place.resource_version
    )


def keda_of(scaled: ScaledObject) -> Keda:
    paused = scaled.metadata.annotations.get(KEDA_PAUSED_REPLICAS, "")
    place = ObjectRef(
        resource=SCALED_OBJECTS.resource,
        namespace=scaled.metadata.namespace,
        name=scaled.metadata.name,
        resource_version=scaled.metadata.resource_version,
    )
    return Keda(place=place, paused_at=paused_at(paused))
