"""The built-in objects, as the API server takes and gives them."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from hibernator.api import core
from hibernator.api.core import (
    CONFIG_MAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    SECRETS,
    ConfigMap,
    Event,
    Lease,
    LeaseSpec,
    ObjectReference,
    Secret,
    micro_time,
)
from hibernator.api.kind import Kind
from hibernator.api.meta import Object, ObjectMeta
from support.cluster import ClusterInTest

WHOLE_SECOND = datetime(2026, 11, 15, 10, 30, tzinfo=UTC)
KEDA = "keda.sh"  # which not every cluster has
KINDS = [kind for kind in vars(core).values() if isinstance(kind, Kind) and kind.group != KEDA]


def sent(cluster: ClusterInTest, kind: Kind[Any], namespace: str, body: Object) -> Any:
    """Create an object the way the client does, and read it back."""
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **msgspec.to_builtins(body)}
    cluster.request("POST", kind.path(namespace), whole)
    answer = cluster.request("GET", kind.path(namespace, body.metadata.name))
    return msgspec.convert(answer, kind.type)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (WHOLE_SECOND, "2026-11-15T10:30:00.000000Z"),
        (WHOLE_SECOND.replace(microsecond=5), "2026-11-15T10:30:00.000005Z"),
        (WHOLE_SECOND.astimezone(timezone(timedelta(hours=5.5))), "2026-11-15T10:30:00.000000Z"),
    ],
)
def test_a_micro_time_always_has_six_decimals(at: datetime, text: str) -> None:
    assert micro_time(at) == text


def test_a_lease_may_be_renewed_on_a_whole_second(cluster: ClusterInTest, namespace: str) -> None:
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=15, renew_time=micro_time(WHOLE_SECOND))
    lease = sent(cluster, LEASES, namespace, Lease(metadata=ObjectMeta(name="lead"), spec=spec))
    assert lease.spec == spec


def test_an_event_is_kept_as_it_was_sent(cluster: ClusterInTest, namespace: str) -> None:
    event = Event(
        metadata=ObjectMeta(name="said", namespace=namespace),
        involved_object=ObjectReference(kind="Pod", namespace=namespace, name="x"),
        type="Normal",
        reason="ScaledUp",
        message="From 0 to 3 replicas.",
        count=2,
        first_timestamp=WHOLE_SECOND,
        last_timestamp=WHOLE_SECOND,
        reporting_component="hibernator",
    )
    kept = sent(cluster, EVENTS, namespace, event)
    assert (kept.involved_object, kept.reason, kept.count, kept.first_timestamp) == (
        event.involved_object,
        "ScaledUp",
        2,
        WHOLE_SECOND,
    )


def test_a_secret_holds_bytes(cluster: ClusterInTest, namespace: str) -> None:
    secret = sent(cluster, SECRETS, namespace, Secret(metadata=ObjectMeta(name="s"), data={"k": b"\x00\xff"}))
    assert secret.data == {"k": b"\x00\xff"}


def test_a_config_map_may_be_empty(cluster: ClusterInTest, namespace: str) -> None:
    assert sent(cluster, CONFIG_MAPS, namespace, ConfigMap(metadata=ObjectMeta(name="c"))).data == {}


def test_a_namespace_lives_in_no_namespace(cluster: ClusterInTest, namespace: str) -> None:
    found = cluster.request("GET", NAMESPACES.path("ignored", namespace))
    assert msgspec.convert(found, NAMESPACES.type).status.phase == "Active"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_api_server_lists_what_it_is_asked_for_by_path(kind: Kind[Any], cluster: ClusterInTest) -> None:
    listed = cluster.request("GET", kind.path("default"))
    assert listed["kind"] == f"{kind.kind}List"
    for item in listed["items"]:
        msgspec.convert(item, kind.type)
