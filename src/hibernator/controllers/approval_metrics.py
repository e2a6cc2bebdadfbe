"""How long people are waited for, and what they say: of exceptions and of remediations alike.

Counted where the watch shows that something waited before and does not now, and only while this replica
leads: the others see the same.
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from whenever import Instant

from hibernator.api.remediationapprovalrequest import APPROVAL_REQUESTS, RemediationApprovalRequest
from hibernator.api.scheduleexception import EXCEPTIONS, ScheduleException
from hibernator.controllers import shared
from hibernator.controllers.means import Means
from hibernator.decisions.approval import APPROVAL_TIMEOUT
from hibernator.decisions.conditions import find
from hibernator.decisions.scheduleexception_status import READY
from hibernator.kube.cache import Cache
from hibernator.kube.metrics import Metric

Matter = ScheduleException | RemediationApprovalRequest
Verdict = Literal["approved", "rejected", "expired", "withdrawn"]

_OF_REQUESTS: Final[Mapping[str, Verdict]] = {"Approved": "approved", "Rejected": "rejected"}
_HOUR: Final = 3600.0
# From a minute, which is somebody who was waiting for it, to a week.
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
METRICS: Final = (WAITING, OLDEST_SECONDS, DECISIONS, DECISION_SECONDS)


def waits_since(matter: Matter) -> Instant | None:
    """Since when it waits for people; None when it does not."""
    if isinstance(matter, ScheduleException):
        status, asked = matter.status, matter.status.requested_at
        return Instant(asked) if asked and status.state == status.approval_state == "Pending" else None
    made = matter.metadata.creation_timestamp
    return Instant(made) if made and not matter.status.decision else None


def verdict(matter: Matter | None) -> Verdict:
    """What became of something that waited until now."""
    if matter is None:
        return "withdrawn"
    if isinstance(matter, RemediationApprovalRequest):
        return _OF_REQUESTS.get(matter.status.decision, "expired")
    state, said = matter.status.state, matter.status.approval_state
    if said == "Approved":
        return "approved"
    if state == "Cancelled":
        return "withdrawn"
    ready = find(matter.status.conditions, READY)
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

    def _handler(self, kind: str) -> Callable[[Matter | None, Matter | None], None]:
        def changed(old: Matter | None, new: Matter | None) -> None:
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
