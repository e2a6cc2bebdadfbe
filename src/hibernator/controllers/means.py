"""What every controller works with, put together once by the operator."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hibernator.api.meta import Object
from hibernator.audit.spool import AuditSpool
from hibernator.audit.trail import Trail
from hibernator.controllers.journal_audit import Records
from hibernator.controllers.shared import DaysOffBook
from hibernator.kube.cache import Cache, Caches
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock
from hibernator.kube.controller import EXPONENTIAL, Controller, Key, Result, Source
from hibernator.kube.events import Recorder
from hibernator.kube.metrics import Metrics
from hibernator.kube.reconciler import Parts

T = TypeVar("T", bound=Object)


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

    def parts(self, cache: Cache[T]) -> Parts[T]:
        """What the reconciler of these objects works with."""
        return Parts(
            client=self.client,
            cache=cache,
            recorder=self.recorder,
            clock=self.clock,
            journals=Records(self.trail, cache.kind),
        )

    def controller(
        self,
        name: str,
        reconcile: Callable[[Key], Awaitable[Result]],
        sources: Sequence[Source],
        *,
        workers: int | None = None,
        of_one_namespace: int | None = None,
        backoff: Sequence[float] = EXPONENTIAL,
    ) -> Controller:
        return Controller(
            name,
            reconcile,
            sources=sources,
            clock=self.clock,
            metrics=self.metrics,
            workers=workers or self.workers,
            of_one_namespace=of_one_namespace,
            backoff=backoff,
        )
