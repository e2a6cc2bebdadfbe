"""What is counted about plans."""

from typing import Final

from hibernator.api.planstatus import HibernatePlanStatus
from hibernator.kube.metrics import Metric, Metrics

OPERATIONS = Metric(
    "hibernator_plan_operations_total",
    "counter",
    ("operation", "result"),
    "Operations of HibernatePlans (`Sleep`, `Wake`) by how they ended: "
    "`Succeeded`, `PartlyFailed`, `Failed` or `Aborted`.",
)
OPERATION_SECONDS = Metric(
    "hibernator_plan_operation_seconds",
    "histogram",
    ("operation",),
    "How long HibernatePlans took to put everything to sleep, or to wake it.",
    (1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200),
)
TARGET_FAILURES = Metric(
    "hibernator_plan_target_failures_total",
    "counter",
    ("type",),
    "Attempts at targets of HibernatePlans that failed, by type of target.",
)
METRICS: Final = (OPERATIONS, OPERATION_SECONDS, TARGET_FAILURES)


def count(metrics: Metrics, before: HibernatePlanStatus, after: HibernatePlanStatus) -> None:
    """Count the operation that ended between two statuses, if one did."""
    operation = before.current_operation
    if not operation or operation == after.current_operation:
        return
    for cycle in after.history:
        ended = cycle.wake if operation == "Wake" else cycle.sleep
        if cycle.cycle == before.cycle and ended and ended.result:
            metrics.count(OPERATIONS, operation, ended.result)
            metrics.observe(OPERATION_SECONDS, ended.duration_seconds or 0.0, operation)
