"""The built-in objects that the product reads or writes, each cut down to the fields that it looks at.

What a type does not name is neither decoded nor kept in memory; never write such an object back whole, but
patch it.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NewType

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object

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
