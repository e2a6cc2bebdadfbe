"""Which kinds of workloads there are, how each of them sleeps, and what its sleep saves."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS, CustomResourceDefinition
from hibernator.api.kind import Kind
from hibernator.api.meta import Object
from hibernator.decisions.hibernateplan_restore import Saving
from hibernator.decisions.scaling import ASLEEP_SELECTOR, ObjectRef, Workload
from hibernator.executors.insist import sure_of
from hibernator.executors.protocol import Permanent
from hibernator.kube.client import Client
from hibernator.kube.errors import NotFound


class AnyObject(Object):
    """An object of any kind, whole. Only for the moment of a look: caches keep less."""

    spec: Mapping[str, Any] = msgspec.field(default_factory=dict)
    status: Mapping[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind of workload, and what puts it to sleep."""

    label: str  # the first part of an item's key
    api: Kind[AnyObject]
    by: Literal["replicas", "nodeSelector", "suspend"] = "replicas"
    path: tuple[str, ...] = ("spec", "replicas")


def _built_in(
    group: str, kind: str, plural: str, by: Literal["replicas", "nodeSelector", "suspend"] = "replicas"
) -> WorkloadKind:
    return WorkloadKind(kind, Kind(AnyObject, group, "v1", kind, plural), by)


BUILT_IN: Final = (
    _built_in("apps", "Deployment", "deployments"),
    _built_in("apps", "StatefulSet", "statefulsets"),
    _built_in("apps", "DaemonSet", "daemonsets", "nodeSelector"),
    _built_in("batch", "CronJob", "cronjobs", "suspend"),
    _built_in("batch", "Job", "jobs", "suspend"),
)
_SHORT: Final = {"Deployment": "deploy", "StatefulSet": "sts", "DaemonSet": "ds", "CronJob": "cj"}
_BY_NAME: Final = {
    name.lower(): kind
    for kind in BUILT_IN
    for name in (
        kind.label,
        kind.api.plural,
        kind.api.resource,
        f"{kind.api.group}/{kind.label}",
        _SHORT.get(kind.label, kind.label),
    )
}


class UnknownKindError(Permanent):
    """The cluster has no such kind, and so no object of it either."""


async def workload_kind(client: Client, name: str) -> WorkloadKind:
    """The kind that a user, or the key of an item, means; custom ones must have a scale subresource."""
    if found := _BY_NAME.get(name.lower()):
        return found
    definitions = await _definitions(client, name)
    for definition in definitions:
        if found := scalable(definition):
            return found
    refusal = Permanent if definitions else UnknownKindError
    raise refusal(
        f"includedGroups: {name} is not a kind that this cluster can scale. "
        "Write Deployment, StatefulSet, DaemonSet, CronJob, Job or a resource such as rollouts.argoproj.io."
    )


async def _definitions(client: Client, name: str) -> Sequence[CustomResourceDefinition]:
    if "." not in name:
        every = await client.list(CUSTOM_RESOURCE_DEFINITIONS)
        return [one for one in every if name.lower() in {one.spec.names.kind.lower(), one.spec.names.plural}]
    try:
        return [await client.get(CUSTOM_RESOURCE_DEFINITIONS, name.lower())]
    except NotFound as error:
        sure_of(error)
        return []


def scalable(definition: CustomResourceDefinition) -> WorkloadKind | None:
    """How a custom kind sleeps; None when it has no scale subresource, or no namespace."""
    spec = definition.spec
    for version in spec.versions:
        scale = version.subresources.scale
        if version.served and scale is not None and spec.scope == "Namespaced":
            kind = Kind(AnyObject, spec.group, version.name, spec.names.kind, spec.names.plural)
            path = str(scale.get("specReplicasPath", ".spec.replicas")).removeprefix(".").split(".")
            return WorkloadKind(kind.resource, kind, path=tuple(path))
    return None


def workload_of(kind: WorkloadKind, found: AnyObject) -> Workload:
    """The object as the rules of scaling see it."""
    place = ObjectRef(
        resource=kind.api.resource,
        namespace=found.metadata.namespace,
        name=found.metadata.name,
        resource_version=found.metadata.resource_version,
    )
    match kind.by:
        case "suspend":
            running = int(found.status.get("active", 0)) if kind.label == "Job" else 0
            awake = int(not found.spec.get("suspend", False))
            return Workload(place=place, replicas=awake, running=running, by_suspension=True)
        case "nodeSelector":
            selector = _template(found).get("nodeSelector") or {}
            return Workload(
                place=place,
                replicas=int(ASLEEP_SELECTOR not in selector),
                running=int(found.status.get("desiredNumberScheduled", 0)),
                by_node_selector=True,
            )
        case "replicas":
            asked = _at(found.spec, kind.path[1:])
            return Workload(
                place=place,
                replicas=1 if asked is None else int(asked),
                running=int(found.status.get("replicas", 0)),
                path=kind.path,
                left_open=asked is None,
            )


def is_finished(kind: WorkloadKind, found: AnyObject) -> bool:
    """Whether it is a Job that has ended: there is nothing in it that could sleep."""
    ended = {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}
    return kind.label == "Job" and any(
        condition.get("type") in ended and condition.get("status") == "True"
        for condition in found.status.get("conditions", ())
    )


def ready(kind: WorkloadKind, found: AnyObject) -> bool:
    """Whether an awake workload has come to rest."""
    status = found.status
    if int(status.get("observedGeneration", found.metadata.generation) or 0) < found.metadata.generation:
        return False
    match kind.by:
        case "suspend":
            return True
        case "nodeSelector":
            return int(status.get("numberReady", 0)) >= int(status.get("desiredNumberScheduled", 0))
        case "replicas":
            running = status.get("readyReplicas", 0 if kind in BUILT_IN else status.get("replicas", 0))
            return int(running) >= workload_of(kind, found).replicas


def saving_of(kind: WorkloadKind, found: AnyObject, *, replicas: int | None = None, left: int = 0) -> Saving:
    """What its containers ask for, times how many Pods less it has; a CronJob has none of its own.

    Of what is asleep, `replicas` says how many it had, and `left` how many run on. A container with a limit
    and no request asks for the limit: so Kubernetes reads it.
    """
    workload = workload_of(kind, found)
    if kind.label == "CronJob":
        return Saving()
    pods = (replicas or workload.replicas) if kind.by == "replicas" else workload.running
    pods = max(0, pods - left)
    cpu, memory = 0.0, 0.0
    for container in _template(found).get("containers") or ():
        resources = container.get("resources") or {}
        requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
        cpu += quantity(requests.get("cpu", 0))
        memory += quantity(requests.get("memory", 0))
    return Saving(round(cpu * pods, 6), round(memory * pods / 2**30, 6))


_QUANTITY: Final = re.compile(r"([+-]?\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+)|([numkMGTPE]i?|Ki)?)")
_UNITS: Final = {
    **{unit: 1000.0**power for power, unit in enumerate("num", -3)},
    **{unit: 1000.0**power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": 1024.0**power for power, unit in enumerate("KMGTPE", 1)},
}
_LARGEST: Final = 2.0**63


def quantity(text: object) -> float:
    """A number as Kubernetes writes it: `500m`, `1.5`, `2Gi`, `1e3`. What is none counts nothing.

    The API server lets `1e400` in, which is more than a float holds.
    """
    found = _QUANTITY.fullmatch(str(text))
    if not found:
        return 0.0
    number, exponent, unit = found.groups()
    value = float(f"{number}e{exponent}") if exponent else float(number) * _UNITS.get(unit or "", 1.0)
    return max(-_LARGEST, min(value, _LARGEST))


def _template(found: AnyObject) -> Mapping[str, Any]:
    return _at(found.spec, ("template", "spec")) or {}


def _at(document: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = document
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
