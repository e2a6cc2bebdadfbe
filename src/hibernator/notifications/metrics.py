"""What the notifier counts."""

from typing import Final

from hibernator.kube.metrics import Metric

SENT: Final = Metric(
    "hibernator_notifications_total",
    "counter",
    ("type", "result"),
    "Notifications by the type of their sink and how they ended: `sent`, `delayed` (tried again later) or "
    "`dropped` (given up; the status of the HibernateNotification has it as a dead letter).",
)
LAG: Final = Metric(
    "hibernator_notification_lag_seconds",
    "gauge",
    (),
    "For how long the oldest notification that a sink has not taken yet has been waiting.",
)
OPEN: Final = Metric(
    "hibernator_notification_circuits_open",
    "gauge",
    (),
    "Sinks that have failed five times in a row, and are tried rarely until one message is taken.",
)
METRICS: Final = (SENT, LAG, OPEN)
