"""The audit trail in the operator: its metrics, and how it is closed at the end."""

import asyncio
from typing import Final

import structlog
from whenever import Instant

from hibernator.audit.database import AuditUnavailable
from hibernator.audit.event import AuditEvent, Resource, event
from hibernator.audit.sealing import EVERY, Sealer
from hibernator.audit.trail import Trail
from hibernator.kube.clock import Clock, steady
from hibernator.kube.errors import ApiError
from hibernator.kube.metrics import Metric, Metrics

WRITTEN = Metric("hibernator_audit_events_written_total", "counter", (), "Audit events that are durable.")
DROPPED = Metric(
    "hibernator_audit_events_dropped_total",
    "counter",
    (),
    "Audit events that did not fit into the spool while the database was away; they are recorded later.",
)
LAG_SECONDS = Metric(
    "hibernator_audit_lag_seconds", "histogram", (), "How long an audit event waited until it was durable."
)
AWAY = Metric(
    "hibernator_audit_database_away", "gauge", (), "1 while the audit database cannot be used, else 0."
)
BROKEN = Metric(
    "hibernator_audit_trail_broken",
    "gauge",
    (),
    "1 while no checkpoint is signed because the trail is not what it was at the last one, else 0.",
)
AUDIT_METRICS: Final = (WRITTEN, DROPPED, LAG_SECONDS, AWAY, BROKEN)

_SOON: Final = 30.0  # seconds until something is tried again that failed

_log: Final = structlog.get_logger(__name__)


async def flush(trail: Trail, sealing: "Sealing | None", seconds: float) -> None:
    """Write what waits, as far as that goes; the next process finds the rest in the objects' status."""
    until = steady() + seconds
    try:
        await trail.flush(seconds)
    except AuditUnavailable as error:
        _log.warning("left audit events to the next process", events=trail.waiting, reason=str(error))
        return
    if sealing:
        await sealing.finish(until - steady())


class Sealing:
    """Signs checkpoints while this replica leads, and a last one when it stops."""

    def __init__(self, sealer: Sealer, leading: asyncio.Event, clock: Clock) -> None:
        self._sealer = sealer
        self._leading = leading
        self._clock = clock

    async def run(self) -> None:
        await self._leading.wait()
        while True:
            await self._clock.sleep(EVERY if await self._sealed() else _SOON)

    async def finish(self, seconds: float) -> None:
        if not self._leading.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await self._sealed()
        except TimeoutError:
            _log.warning("left the last audit checkpoint to the next process", seconds=seconds)

    async def _sealed(self) -> bool:
        try:
            await self._sealer.seal()
        except (AuditUnavailable, ApiError, OSError) as error:
            _log.warning("audit checkpoint not signed; trying again", why=str(error))
            return False
        return True


def rewound(now: Instant) -> AuditEvent:
    """Record that the API server was restored from a backup: then events happen twice."""
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

    def broken(self, why: str) -> None:
        self._metrics.set(BROKEN, 1 if why else 0)
