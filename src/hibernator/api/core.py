"""The built-in objects that the product reads or writes, each cut down to the fields that it looks at.

What a type does not name is neither decoded nor kept in memory; never write such an object back whole, but
patch it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NewType

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, ObjectMeta, says

# The API server refuses a MicroTime without exactly six decimals, and a datetime on a whole second would
# be encoded with none. So it stays text here.
MicroTime = NewType("MicroTime", str)


def micro_time(at: datetime) -> MicroTime:
    """Write an instant the way Leases and Events want it: `2026-11-15T10:30:00.000000Z`."""
    return MicroTime(at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


class ConfigMap(Object):
    data: Mapping[str, str] = msgspec.field(default_factory=dict)
    immutable: bool = False


class Secret(Object):
    type: str = ""
    data: Mapping[str, bytes] = msgspec.field(default_factory=dict)  # base64 on the wire, bytes here


class NamespaceStatus(Model):
    phase: str = ""


class Namespace(Object):
    status: NamespaceStatus = NamespaceStatus()


class PodSpec(Model):
    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict)


class PodTemplate(Model):
    spec: PodSpec = PodSpec()


class ReplicatedSpec(Model):
    replicas: int | None = None


class ReplicatedStatus(Model):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    updated_replicas: int = 0
    observed_generation: int = 0


class Deployment(Object):
    spec: ReplicatedSpec = ReplicatedSpec()
    status: ReplicatedStatus = ReplicatedStatus()


class StatefulSet(Object):
    spec: ReplicatedSpec = ReplicatedSpec()
    status: ReplicatedStatus = ReplicatedStatus()


class DaemonSetSpec(Model):
    template: PodTemplate = PodTemplate()


class DaemonSetStatus(Model):
    desired_number_scheduled: int = 0
    number_ready: int = 0
    number_available: int = 0
    updated_number_scheduled: int = 0
    observed_generation: int = 0


class DaemonSet(Object):
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class LeaseSpec(Model):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: MicroTime | None = None
    renew_time: MicroTime | None = None
    lease_transitions: int | None = None


class Lease(Object):
    spec: LeaseSpec = LeaseSpec()


class ObjectReference(Model):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class EventSource(Model):
    component: str = ""
    host: str = ""


class Event(Object, kw_only=True):
    """An event of the core group, which `kubectl describe` shows below the object that it is about."""

    involved_object: ObjectReference
    type: str = ""  # Normal or Warning
    reason: str = ""
    message: str = ""
    count: int = 0
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: MicroTime | None = None
    source: EventSource = EventSource()
    reporting_component: str = ""
    reporting_instance: str = ""
    action: str = ""


CONFIG_MAPS = Kind(ConfigMap, "", "v1", "ConfigMap", "configmaps")
SECRETS = Kind(Secret, "", "v1", "Secret", "secrets")
NAMESPACES = Kind(Namespace, "", "v1", "Namespace", "namespaces", namespaced=False)
EVENTS = Kind(Event, "", "v1", "Event", "events")
DEPLOYMENTS = Kind(Deployment, "apps", "v1", "Deployment", "deployments")
STATEFUL_SETS = Kind(StatefulSet, "apps", "v1", "StatefulSet", "statefulsets")
DAEMON_SETS = Kind(DaemonSet, "apps", "v1", "DaemonSet", "daemonsets")
LEASES = Kind(Lease, "coordination.k8s.io", "v1", "Lease", "leases")


class HolidayMap(Object):
    """A ConfigMap that may hold holidays."""

    def __post_init__(self) -> None:
        full = self.metadata
        kept = ObjectMeta(
            name=full.name,
            namespace=full.namespace,
            uid=full.uid,
            resource_version=full.resource_version,
        )
        msgspec.structs.force_setattr(self, "metadata", kept)


HOLIDAY_MAPS = Kind(HolidayMap, "", "v1", "ConfigMap", "configmaps", partial=True)


class ScaleTarget(Model):
    """KEDA may leave out everything but the name; it then means a Deployment."""

    name: str
    api_version: str = "apps/v1"
    kind: str = "Deployment"


class HorizontalPodAutoscalerSpec(Model):
    scale_target_ref: ScaleTarget
    max_replicas: int
    min_replicas: int = 1


class HorizontalPodAutoscaler(Object, kw_only=True):
    spec: HorizontalPodAutoscalerSpec


class ScaledObjectSpec(Model):
    scale_target_ref: ScaleTarget


class ScaledObject(Object, kw_only=True):
    spec: ScaledObjectSpec


class ScaleSpec(Model):
    replicas: int = 0


class ScaleStatus(Model):
    replicas: int = 0


class Scale(Object):
    """What the scale subresource shows of an object of any kind."""

    spec: Annotated[ScaleSpec, says("How many are asked for.")] = ScaleSpec()
    status: Annotated[ScaleStatus, says("How many there are.")] = ScaleStatus()


HORIZONTAL_POD_AUTOSCALERS = Kind(
    HorizontalPodAutoscaler, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
SCALED_OBJECTS = Kind(ScaledObject, "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


class Names(Model):
    kind: str
    plural: str


class Subresources(Model):
    scale: dict[str, Any] | None = None


class ServedVersion(Model):
    name: str
    served: bool = True
    subresources: Subresources = Subresources()


class CustomResourceDefinitionSpec(Model):
    group: str
    names: Names
    scope: str = "Namespaced"
    versions: tuple[ServedVersion, ...] = ()


class CustomResourceDefinition(Object, kw_only=True):
    spec: CustomResourceDefinitionSpec


CUSTOM_RESOURCE_DEFINITIONS = Kind(
    CustomResourceDefinition,
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
