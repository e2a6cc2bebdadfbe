"""Where a number of replicas is set, and the writes that set it.

A workload may stand under an autoscaler. Writing its replicas then starts a fight that no one wins, so the
number goes to the autoscaler instead: to a HorizontalPodAutoscaler as its minimum, to a KEDA ScaledObject as
the count it is paused at. A DaemonSet has no number at all: it sleeps by a node selector
that no node matches. Nor has a Job or a CronJob: those are suspended.

A plan, unlike a scaler, comes only twice a day. It leaves its mark on what it puts to sleep, in the write
that does it, and takes it off in the write that wakes (see `sleepmark`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hibernator.api.kind import DOMAIN
from hibernator.decisions import sleepmark
from hibernator.decisions.sleepmark import SleepMark

ASLEEP_SELECTOR: Final = f"{DOMAIN}/asleep"
KEDA_PAUSED_REPLICAS: Final = "autoscaling.keda.sh/paused-replicas"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRef:
    """An object that can be written, at the version that was read."""

    resource: str  # the name that kubectl uses: deployments.apps
    namespace: str
    name: str
    resource_version: str
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Something that runs replicas, as the cluster has it."""

    place: ObjectRef
    replicas: int  # what its spec asks for
    running: int  # what its status counts
    by_node_selector: bool = False  # a DaemonSet: one replica stands for "awake", none for "asleep"
    by_suspension: bool = False  # a Job or a CronJob: likewise
    path: tuple[str, ...] = ("spec", "replicas")  # where its kind keeps the number
    left_open: bool = False  # its spec names no number, and its controller takes one by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizontal:
    """A HorizontalPodAutoscaler that scales the workload. It stands still by itself while that is at zero."""

    place: ObjectRef
    minimum: int
    maximum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Keda:
    """A KEDA ScaledObject that scales the workload."""

    place: ObjectRef
    paused_at: int | None


Autoscaler = Horizontal | Keda
_DIGITS: Final = 10  # of the largest number of replicas


def paused_at(text: str) -> int | None:
    """At how many replicas an annotation of KEDA holds a workload; people can write anything there."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One write: a merge patch with the version that was read as precondition."""

    place: ObjectRef
    body: Mapping[str, Any] = field(hash=False)


def reachable(workload: Workload, autoscaler: Autoscaler | None, replicas: int) -> int:
    """The number that can be set of the number that is wanted."""
    if workload.by_node_selector or workload.by_suspension:
        return min(replicas, 1)
    if isinstance(autoscaler, Horizontal) and replicas > 0:
        return min(replicas, autoscaler.maximum)
    return replicas


def level(workload: Workload, autoscaler: Autoscaler | None) -> int:
    """The number that is set now, wherever it is set."""
    if isinstance(autoscaler, Keda):
        return workload.replicas if autoscaler.paused_at is None else autoscaler.paused_at
    if isinstance(autoscaler, Horizontal) and workload.replicas > 0:
        return autoscaler.minimum
    return workload.replicas


def steps(workload: Workload, autoscaler: Autoscaler | None, replicas: int) -> tuple[Patch, ...]:
    """The writes, in order, after which the number is set; none when it is set already."""
    wanted = reachable(workload, autoscaler, replicas)
    if isinstance(autoscaler, Keda):
        if autoscaler.paused_at == wanted:
            return ()
        return (
            Patch(
                place=autoscaler.place,
                body={"metadata": {"annotations": {KEDA_PAUSED_REPLICAS: str(wanted)}}},
            ),
        )
    if isinstance(autoscaler, Horizontal) and wanted > 0:
        writes = []
        if autoscaler.minimum != wanted:
            writes.append(Patch(place=autoscaler.place, body={"spec": {"minReplicas": wanted}}))
        if workload.replicas == 0:
            # At zero the autoscaler stands still; someone else has to take the first step.
            writes.append(_to_replicas(workload, wanted))
        return tuple(writes)
    return () if workload.replicas == wanted else (_to_replicas(workload, wanted),)


def is_reached(workload: Workload, autoscaler: Autoscaler | None, replicas: int) -> bool:
    """Whether as many run as were asked for; an autoscaler may well run more."""
    wanted = reachable(workload, autoscaler, replicas)
    if isinstance(autoscaler, Horizontal) and wanted > 0:
        return workload.running >= wanted
    if workload.by_node_selector or workload.by_suspension:
        return wanted > 0 or workload.running == 0  # awake, it may still match no node, or have nothing to do
    return workload.running == wanted


def _to_replicas(workload: Workload, wanted: int | None) -> Patch:
    if workload.by_node_selector:
        selector = {ASLEEP_SELECTOR: None if wanted else "true"}
        return Patch(place=workload.place, body={"spec": {"template": {"spec": {"nodeSelector": selector}}}})
    if workload.by_suspension:
        return Patch(place=workload.place, body={"spec": {"suspend": not wanted}})
    body: Any = wanted
    for step in reversed(workload.path):
        body = {step: body}
    return Patch(place=workload.place, body=body)


def is_asleep(workload: Workload | Keda, was: Mapping[str, Any] | None) -> bool:
    """Whether it sleeps: nothing of it runs, or not more than its restore document says."""
    number = workload.paused_at if isinstance(workload, Keda) else workload.replicas
    return number is not None and number <= sleepmark.asleep_at(was)


def to_sleep(workload: Workload, autoscaler: Autoscaler | None, mark: SleepMark) -> Patch | None:
    """The one write after which it sleeps and bears the mark; None when it sleeps already."""
    size = sleepmark.asleep_at(mark.was)
    writes = steps(workload, autoscaler, size) if level(workload, autoscaler) > size else ()
    return _with_metadata(writes[0], sleepmark.to_metadata(mark)) if writes else None


def to_wake(workload: Workload, replicas: int | None, trace: str) -> Patch:
    """The one write after which it has its replicas again; an autoscaler goes on from there.

    None is a number that its kind had left to its controller.
    """
    wanted = None if replicas is None else reachable(workload, None, replicas)
    by_number = not (workload.by_node_selector or workload.by_suspension)
    return _with_metadata(_to_replicas(workload, wanted if by_number else 1), sleepmark.from_metadata(trace))


def to_unpause(scaled: Keda, paused_at: str | None, trace: str) -> Patch:
    """The one write after which KEDA does again what it did: mostly, to scale as it thinks best."""
    woken = Patch(place=scaled.place, body={"metadata": sleepmark.from_metadata(trace)})
    return annotated(woken, KEDA_PAUSED_REPLICAS, paused_at)


def to_leave_awake(place: ObjectRef, trace: str) -> Patch:
    """The write that wakes what is awake: it changes nothing but the version, and leaves its trace."""
    return Patch(place=place, body={"metadata": sleepmark.from_metadata(trace)})


def annotated(patch: Patch, annotation: str, value: str | None) -> Patch:
    """The same write with an annotation that it sets, or takes away."""
    return _with_metadata(patch, {"annotations": {annotation: value}})


def _with_metadata(patch: Patch, more: Mapping[str, Mapping[str, str | None]]) -> Patch:
    metadata = dict(patch.body.get("metadata", {}))
    for part, values in more.items():
        metadata[part] = {**metadata.get(part, {}), **values}
    return Patch(place=patch.place, body={**patch.body, "metadata": metadata})
