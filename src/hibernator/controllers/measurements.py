"""Numbers that scalers take from Prometheus, read apart from the scalers themselves.

An address that answers slowly, or never, is a user's choice. So there are workers of their own for it, of
which a namespace gets only a few: no one's boundary waits for someone else's Prometheus.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import aiohttp
import msgspec

from hibernator.api.timewindowscaler_v1beta1 import PrometheusQuery
from hibernator.kube.clock import Clock
from hibernator.kube.controller import Controller, Key, Result
from hibernator.kube.metrics import Metrics

_SECONDS: Final = 5.0
_BYTES: Final = 64 * 1024
_OK: Final = 200
_UNREADABLE: Final = (ValueError, RecursionError)  # msgspec's errors are ValueErrors


class ReadingError(Exception):
    """There is no usable number; the message says why."""


class _Sample(msgspec.Struct):
    value: tuple[float, str]


class _Data(msgspec.Struct, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct):
    status: str
    data: _Data


async def read_number(session: aiohttp.ClientSession, address: str, query: str) -> float:
    """Ask for the present value of a query that has exactly one."""
    url = f"{address.rstrip('/')}/api/v1/query"
    try:
        async with (
            asyncio.timeout(_SECONDS),
            session.get(
                url,
                params={"query": query},
                headers={"Accept-Encoding": "identity"},
                auto_decompress=False,
                allow_redirects=False,
            ) as response,
        ):
            status, body = response.status, await _beginning(response.content)
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise ReadingError(
            f"{address} does not answer within {_SECONDS:g} seconds. "
            "Check the address, and that the operator can reach it"
        ) from error
    return _number(body, status, address)


async def _beginning(content: aiohttp.StreamReader) -> bytes:
    """The answer, but never more than makes sense."""
    body = b""
    while len(body) < _BYTES and (more := await content.read(_BYTES - len(body))):
        body += more
    return body


def _number(body: bytes, status: int, address: str) -> float:
    if status != _OK:
        raise ReadingError(
            f"{address} answers with status {status} instead of a number. Try the query in Prometheus itself"
        )
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except _UNREADABLE as error:
        raise ReadingError(f"{address} answers, but not as Prometheus does. Correct the address") from error
    try:
        if answer.data.result_type == "scalar":
            return float(msgspec.json.decode(answer.data.result, type=tuple[float, str])[1])
        samples = msgspec.json.decode(answer.data.result, type=list[_Sample])
        if len(samples) == 1:
            return float(samples[0].value[1])
    except _UNREADABLE as error:
        raise ReadingError("the query does not give a number. Write one that does, as sum(…)") from error
    raise ReadingError(f"the query gives {len(samples)} values. Write one that gives exactly one, as sum(…)")


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
        self._notify: Callable[[Key], None] = lambda _key: None

    def connect(self, *, ask: Callable[[Key], None], notify: Callable[[Key], None]) -> None:
        """Set how a number is read, and what to call when there is a new one."""
        self._ask, self._notify = ask, notify

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
            self._notify(key)
        return Result(self._pause(key, reading))

    async def _read(self, query: PrometheusQuery) -> Reading:
        try:
            return Reading(query, await read_number(self._session, query.server_address, query.query))
        except ReadingError as error:
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
