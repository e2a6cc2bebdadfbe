"""Time as something that is handed in, so that a day passes in a test at once and in a demo in minutes.

Everything that decides by the time of day or waits for a moment asks a `Clock`. What only guards against a
peer that does not answer (request deadlines, the lease) keeps real time: a scaled day must not scale those.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, Protocol

from whenever import Instant, TimeDelta

# Unlike CLOCK_MONOTONIC it goes on while the machine is suspended: a laptop or a migrated node that wakes up
# must find its wake-ups overdue and its lease lost.
_STEADY: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

# Real seconds between two looks at whether the time of day was set, and how far off it may be.
_BETWEEN_LOOKS: Final = 5.0
_SET_BY: Final = 2.0

# The event loop's own timers stand still during a suspension, so that no wait may rely on one for longer.
_LONGEST_WAIT: Final = 30.0


def steady() -> float:
    """Real seconds that never go back and count a suspended machine's sleep, too."""
    return time.clock_gettime(_STEADY)


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """The time of day, the seconds that pass, and the means to wait for either."""

    def now(self) -> Instant:
        """The time of day; may jump when someone sets it."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Return once that many of this clock's seconds have passed."""

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        """Call back in the running event loop as soon as `monotonic()` reads `when`, never earlier."""


class SystemClock:
    """The real time."""

    def now(self) -> Instant:
        return Instant.now()

    def monotonic(self) -> float:
        return steady()

    async def sleep(self, seconds: float) -> None:
        await _sleep(self, seconds)

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        return _LoopTimer(lambda: when - steady(), callback)


class ScaledClock:
    """A time that began at `start` and runs `speed` times as fast as the real one: a day in minutes."""

    def __init__(self, speed: float, start: Instant) -> None:
        if speed <= 0:
            raise ValueError(f"speed is {speed}; a clock runs forward, write a number above zero")
        self._speed = speed
        self._start_nanos = start.timestamp(unit="nanosecond")
        self._began = steady()

    def now(self) -> Instant:
        return Instant.from_timestamp(self._start_nanos + int(self.monotonic() * 1e9), unit="nanosecond")

    def monotonic(self) -> float:
        return (steady() - self._began) * self._speed

    async def sleep(self, seconds: float) -> None:
        await _sleep(self, seconds)

    def call_at(self, when: float, callback: Callable[[], object]) -> Timer:
        return _LoopTimer(lambda: (when - self.monotonic()) / self._speed, callback)


async def _sleep(clock: Clock, seconds: float) -> None:
    if seconds <= 0:
        await asyncio.sleep(0)
        return
    over = asyncio.Event()
    timer = clock.call_at(clock.monotonic() + seconds, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


class _LoopTimer:
    """Counts down in steps short enough that a suspended machine is late by one step at most."""

    def __init__(self, remaining: Callable[[], float], callback: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._remaining = remaining
        self._callback = callback
        self._handle = self._loop.call_soon(self._step)

    def cancel(self) -> None:
        self._handle.cancel()

    def _step(self) -> None:
        remaining = self._remaining()
        if remaining <= 0:
            self._callback()
        else:
            self._handle = self._loop.call_later(min(remaining, _LONGEST_WAIT), self._step)


async def call_when_set(clock: Clock, tell: Callable[[], object], *, every: float = _BETWEEN_LOOKS) -> None:
    """Call back whenever someone has set the clock, or it went wrong by so much little by little.

    Waits are counted in seconds that pass. What waits for a time of day must then count again, or is late
    by as much as the clock was put forward.
    """
    known = _began(clock)
    while True:
        await asyncio.sleep(every)
        found = _began(clock)
        if abs((found - known).total("seconds")) > _SET_BY:
            known = found
            tell()


def _began(clock: Clock) -> Instant:
    """The time of day at which the passing seconds began to count: the same one until the clock is set."""
    return clock.now() - TimeDelta(seconds=clock.monotonic())


@asynccontextmanager
async def deadline(clock: Clock, seconds: float) -> AsyncIterator[None]:
    """Raise TimeoutError in whatever runs inside once that many of the clock's seconds have passed."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as limit:
        timer = clock.call_at(clock.monotonic() + seconds, lambda: limit.reschedule(loop.time()))
        try:
            yield
        finally:
            timer.cancel()
