"""What the audit trail tells of itself, as metrics."""

from typing import Final

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
