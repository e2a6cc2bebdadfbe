"""The audit trail in the operator: what it tells of itself as metrics, and how it is left at the end."""

from typing import Final

import structlog
from whenever import Instant

from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, Resource, event
from hibernator.audit.trail import Trail
from hibernator.kube.metrics import Metric, Metrics

WRITTEN = Metric("hibernator_audit_events_written_total", "counter", (), "Audit events that are durable.")
DROPPED = Metric(
    "hibernator_audit_events_dropped_total",
    "counter",
    (),
    "Audit events that found no room while the database was away; they are told again later.",
)
LAG_SECONDS = Metric(
    "hibernator_audit_lag_seconds", "histogram", (), "How long an audit event waited until it was durable."
)
AWAY = Metric(
    "hibernator_audit_database_away", "gauge", (), "1 while the audit database cannot be used, else 0."
)
AUDIT_METRICS: Final = (WRITTEN, DROPPED, LAG_SECONDS, AWAY)

_log: Final = structlog.get_logger(__name__)


async def flush(trail: Trail, seconds: float) -> None:
    """Write what waits, as far as that goes; the next process finds the rest in the objects' status."""
    try:
        await trail.flush(seconds)
    except AuditUnavailable as error:
        _log.warning("left audit events to the next process", events=trail.waiting, reason=str(error))


def rewound(now: Instant) -> AuditEvent:
    """Tell that the API server was set back, so that a reader understands what happens twice."""
    about = Resource(kind="AuditTrail", name="audit")
    return event("audit.rewound", about, at=now, identity=(now.format_iso(),))


class AuditMetrics:
    """Hears from the trail."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def written(self, count: int, lag: float) -> None:
        self._metrics.count(WRITTEN, by=count)
        self._metrics.observe(LAG_SECONDS, lag)

    def dropped(self) -> None:
        self._metrics.count(DROPPED)

    def away(self, reason: str) -> None:
        self._metrics.set(AWAY, 1 if reason else 0)
