"""What a scaler sees in the tests of its decision, and questions about what it decided."""

from collections.abc import Mapping
from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.meta import Condition, ObjectMeta
from hibernator.api.timewindowscaler import TimeWindowScaler, TimeWindowScalerSpec, TimeWindowScalerStatus
from hibernator.decisions.conditions import find
from hibernator.decisions.scaling import ObjectRef, Workload
from hibernator.decisions.timewindowscaler_case import Decision, Pace, Seen
from hibernator.schedule.holidays import NO_HOLIDAYS, Holidays
from hibernator.schedule.scaler import ScalerTimeline

ON_TIME = Pace(jitter_from=0, jitter_to=0, minimum=0)
MONDAY_10 = Instant("2026-03-02T10:00:00Z")
MONDAY_18 = Instant("2026-03-02T18:00:00Z")


def place(resource: str, name: str = "web") -> ObjectRef:
    return ObjectRef(resource=resource, namespace="shop", name=name, resource_version="7")


def deployment(replicas: int, running: int | None = None) -> Workload:
    return Workload(
        place=place("deployments.apps"), replicas=replicas, running=replicas if running is None else running
    )


def spec(**changes: Any) -> TimeWindowScalerSpec:
    document: dict[str, Any] = {
        "targetRef": {"kind": "Deployment", "name": "web"},
        "timezone": "UTC",
        "defaultReplicas": 1,
        "windows": [
            {"days": ["Mon", "Tue", "Wed", "Thu", "Fri"], "start": "09:00", "end": "17:00", "replicas": 5}
        ],
    }
    return msgspec.convert(document | changes, TimeWindowScalerSpec)


def seen(
    workload: Workload | None,
    status: Mapping[str, Any] | None = None,
    holidays: Holidays = NO_HOLIDAYS,
    **changes: Any,
) -> Seen:
    own = {name: changes.pop(name) for name in [*changes] if name in Seen.__dataclass_fields__}
    scaler = TimeWindowScaler(
        metadata=ObjectMeta(name="hours", namespace="shop", uid="u", generation=2),
        spec=spec(**changes),
        status=msgspec.convert(
            {"observedGeneration": 2, "baselineReplicas": 5} | dict(status or {}), TimeWindowScalerStatus
        ),
    )
    given_: dict[str, Any] = {
        "scaler": scaler,
        "timeline": ScalerTimeline.of(scaler.spec, holidays, grace=False),
        "default_replicas": scaler.spec.default_replicas,
        "workload": workload,
        "target": 'Deployment "web"',
        "pace": ON_TIME,
    }
    return Seen(**(given_ | own))


def condition(decision: Decision, type_: str) -> Condition:
    assert decision.status is not None
    found = find(decision.status.conditions, type_)
    assert found is not None
    return found


def bodies(decision: Decision) -> list[Any]:
    return [write.body for write in decision.writes]
