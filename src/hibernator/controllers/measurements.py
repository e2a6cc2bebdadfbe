"""Numbers that scalers take from Prometheus, read apart from the scalers themselves.

An address that answers slowly, or never, is a user's choice. So there are workers of their own for it, of
which a namespace gets only a few: nobody's boundary waits for somebody else's Prometheus.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import aiohttp

from hibernator.api.timewindowscaler_v1beta1 import PrometheusQuery
from hibernator.controllers import prometheus
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result
from hibernator.kube.metrics import Metrics

EVERY_SECONDS: Final = 30.0
AFTER_FAILURES: Final = (30.0, 60.0, 120.0, 300.0)
_WORKERS: Final = 32
_AT_ONCE: Final = 4  # of one namespace


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a query: a number, or why there is none."""

    query: PrometheusQuery
    value: float = 0.0
    trouble: str = ""


class Measurements:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._wanted: dict[Key, PrometheusQuery] = {}
        self._readings: dict[Key, Reading] = {}
        self._failures: Counter[Key] = Counter()
        self._ask: Callable[[Key], None] = lambda _key: None
        self._tell: Callable[[Key], None] = lambda _key: None

    def connect(self, *, ask: Callable[[Key], None], tell: Callable[[Key], None]) -> None:
        """Say how to have a number read, and whom to tell that there is a new one."""
        self._ask, self._tell = ask, tell

    def latest(self, key: Key, query: PrometheusQuery) -> Reading | None:
        """The last reading for a scaler, which is read again from now on; None until there is one."""
        if self._wanted.get(key) != query:
            self._wanted[key] = query
            self._failures.pop(key, None)
            self._ask(key)
        reading = self._readings.get(key)
        return reading if reading and reading.query == query else None

    def forget(self, key: Key) -> None:
        """Read no more for this scaler: what decides now is no measured window."""
        self._wanted.pop(key, None)
        self._readings.pop(key, None)
        self._failures.pop(key, None)

    async def reconcile(self, key: Key) -> Result:
        query = self._wanted.get(key)
        if query is None:
            return Result()
        reading = await self._read(query)
        if self._wanted.get(key) != query:
            return Result(0.0) if key in self._wanted else Result()
        changed = self._readings.get(key) != reading
        self._readings[key] = reading
        if changed:
            self._tell(key)
        return Result(self._pause(key, reading))

    async def _read(self, query: PrometheusQuery) -> Reading:
        try:
            return Reading(query, await prometheus.read(self._session, query.server_address, query.query))
        except prometheus.ReadingError as error:
            return Reading(query, trouble=str(error))

    def _pause(self, key: Key, reading: Reading) -> float:
        if not reading.trouble:
            self._failures.pop(key, None)
            return EVERY_SECONDS
        self._failures[key] += 1
        return AFTER_FAILURES[min(self._failures[key], len(AFTER_FAILURES)) - 1]


def measurement_controller(measurements: Measurements, clock: Clock, metrics: Metrics) -> Controller:
    return Controller(
        "measurements",
        measurements.reconcile,
        sources=(),
        clock=clock,
        metrics=metrics,
        workers=_WORKERS,
        of_one_namespace=_AT_ONCE,
    )
