"""What controllers count of plans, of what their sleep saves, and of approvals.

Approvals are counted where the watch shows that something waited before and does not now, and only while this
replica leads: the others see the same.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from whenever import Instant

from hibernator.api.hibernateplan import PLANS, HibernatePlan
from hibernator.api.planstatus import HibernatePlanStatus, Savings
from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers import shared
from hibernator.controllers.means import Means
from hibernator.decisions.approval import APPROVAL_TIMEOUT
from hibernator.decisions.conditions import find
from hibernator.decisions.hibernateplan_status import saved_by
from hibernator.decisions.scheduleexception_status import READY
from hibernator.kube.cache import Cache
from hibernator.kube.metrics import Metric, Metrics, Sample

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
_OF_PLANS: Final = (OPERATIONS, OPERATION_SECONDS, TARGET_FAILURES)


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


_LABELS: Final = ("namespace", "plan")
CORE_HOURS = Metric(
    "hibernator_plan_saved_core_hours_total",
    "counter",
    _LABELS,
    "Hours of CPU cores not used while a HibernatePlan slept, by what its items ask for when awake.",
)
GIB_HOURS = Metric(
    "hibernator_plan_saved_gib_hours_total",
    "counter",
    _LABELS,
    "Hours of GiB of memory not used while a HibernatePlan slept.",
)
NODE_HOURS = Metric(
    "hibernator_plan_saved_node_hours_total",
    "counter",
    _LABELS,
    "Hours of machines not used while a HibernatePlan slept.",
)
_OF_SAVINGS: Final = (CORE_HOURS, GIB_HOURS, NODE_HOURS)
_PARTS: Final[tuple[tuple[Metric, Callable[[Savings], float | None]], ...]] = (
    (CORE_HOURS, lambda saved: saved.cpu_core_hours),
    (GIB_HOURS, lambda saved: saved.memory_gib_hours),
    (NODE_HOURS, lambda saved: saved.node_hours),
)


def show_savings(means: Means) -> None:
    """Let anyone who reads the metrics see what the plans in the cache have saved by then."""
    plans = means.caches.of(PLANS)

    def samples(part: Callable[[Savings], float | None]) -> Callable[[], Iterator[Sample]]:
        def now() -> Iterator[Sample]:
            moment = means.clock.now()
            for plan in plans.values():
                if saved := saved_by(plan.status, moment):
                    yield Sample(_labels(plan), part(saved) or 0.0)

        return now

    for metric, part in _PARTS:
        means.metrics.compute(metric, samples(part))


def _labels(plan: HibernatePlan) -> tuple[str, str]:
    return plan.metadata.namespace, plan.metadata.name


Decidable = ScheduleException | RemediationApprovalRequest
ApprovalResult = Literal["approved", "rejected", "expired", "withdrawn"]

_OF_REQUESTS: Final[Mapping[str, ApprovalResult]] = {"Approved": "approved", "Rejected": "rejected"}
_HOUR: Final = 3600.0
# From a minute, which is someone who was waiting for it, to a week.
_PATIENCE: Final = tuple(_HOUR * hours for hours in (1 / 60, 1 / 12, 0.25, 0.5, 1, 2, 4, 8, 24, 48, 96, 168))

WAITING = Metric(
    "hibernator_approvals_waiting",
    "gauge",
    ("kind",),
    "ScheduleExceptions and RemediationApprovalRequests that wait for people right now.",
)
OLDEST_SECONDS = Metric(
    "hibernator_approvals_oldest_seconds",
    "gauge",
    ("kind",),
    "How long the one has waited that waits longest; 0 when none does.",
)
DECISIONS = Metric(
    "hibernator_approvals_decided_total",
    "counter",
    ("kind", "verdict"),
    "What became of those that waited: `approved`, `rejected`, `expired` (no decision in time) or "
    "`withdrawn` (cancelled or deleted).",
)
DECISION_SECONDS = Metric(
    "hibernator_approval_seconds",
    "histogram",
    ("kind",),
    "From a request to the decision of people: approved or rejected.",
    _PATIENCE,
)
_OF_APPROVALS: Final = (WAITING, OLDEST_SECONDS, DECISIONS, DECISION_SECONDS)


def waits_since(request: Decidable) -> Instant | None:
    """Since when it waits for people; None when it does not."""
    if isinstance(request, ScheduleException):
        status, asked = request.status, request.status.requested_at
        return Instant(asked) if asked and status.state == status.approval_state == "Pending" else None
    made = request.metadata.creation_timestamp
    return Instant(made) if made and not request.status.decision else None


def verdict(request: Decidable | None) -> ApprovalResult:
    """What became of something that waited until now."""
    if request is None:
        return "withdrawn"
    if isinstance(request, RemediationApprovalRequest):
        return _OF_REQUESTS.get(request.status.decision, "expired")
    state, said = request.status.state, request.status.approval_state
    if said == "Approved":
        return "approved"
    if state == "Cancelled":
        return "withdrawn"
    ready = find(request.status.conditions, READY)
    in_time = said == "Rejected" and not (ready and ready.reason == APPROVAL_TIMEOUT)
    return "rejected" if in_time else "expired"


class ApprovalMetrics:
    def __init__(self, means: Means) -> None:
        self._means = means
        self._leads = False
        self._watch(EXCEPTIONS.kind, shared.exceptions(means.caches))
        self._watch(APPROVAL_REQUESTS.kind, means.caches.of(APPROVAL_REQUESTS))

    def lead(self) -> None:
        self._leads = True

    def _watch(self, kind: str, cache: Cache[ScheduleException] | Cache[RemediationApprovalRequest]) -> None:
        def since() -> list[Instant]:
            return [moment for one in cache.values() if (moment := waits_since(one))]

        def oldest() -> float:
            now = self._means.clock.now()
            return max((_seconds(moment, now) for moment in since()), default=0.0)

        self._means.metrics.follow(WAITING, lambda: len(since()), kind)
        self._means.metrics.follow(OLDEST_SECONDS, oldest, kind)
        cache.on_change(self._handler(kind))

    def _handler(self, kind: str) -> Callable[[Decidable | None, Decidable | None], None]:
        def changed(old: Decidable | None, new: Decidable | None) -> None:
            since = waits_since(old) if old and self._leads else None
            if since is None or (new and waits_since(new)):
                return
            found = verdict(new)
            self._means.metrics.count(DECISIONS, kind, found)
            if found in {"approved", "rejected"}:
                seconds = _seconds(since, self._means.clock.now())
                self._means.metrics.observe(DECISION_SECONDS, seconds, kind)

        return changed


def _seconds(since: Instant, now: Instant) -> float:
    """Never less than none: the API server's clock and ours may differ."""
    return max(0.0, (now - since).total("seconds"))


METRICS: Final = (*_OF_PLANS, *_OF_SAVINGS, *_OF_APPROVALS)
