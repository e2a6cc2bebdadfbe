"""What every controller works with, put together once by the operator."""

from dataclasses import dataclass, field

from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.controllers.daysoff import DaysOffBook
from hibernator.kube.cache import Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import Metrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    client: Client  # writes only while this replica leads
    caches: Caches
    recorder: Recorder
    clock: Clock
    metrics: Metrics
    trail: Trail
    spool: AuditSpool  # for what the trail must not lose, and nothing else remembers
    days_off: DaysOffBook = field(default_factory=DaysOffBook)  # the holidays that were read
    workers: int = 1  # looks of one controller at the same time
