"""A clock that stands still until a test moves it, so that a day passes in no time.

    clock = ManualClock("2026-03-02T07:59:00Z")
    controller = Controller(…, clock=clock)
    clock.settles_with(lambda: settled(manager))  # of `support.settled`: where there is a real API server
    await clock.advance(60)                       # or: await clock.advance_to("2026-03-02T18:00:00Z")

`advance` goes from wake-up to wake-up in order. At each it sets the time to exactly that moment, calls back,
and goes on only when everything that this set in motion has come to rest: the event loop has nothing left to
run, and whatever `settles_with` was given has returned. A reconcile therefore reads the time for which it was
scheduled, also while it waits for a real API server, and no test needs to sleep.
"""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

from whenever import Instant, TimeDelta

_MICRO = 1_000_000  # whole microseconds, because sums of floats would miss a boundary by a few nanoseconds


class ManualClock:
    """The `Clock` of tests."""

    def __init__(self, start: Instant | str = "2026-01-05T00:00:00Z") -> None:
        self._start = _instant(start)
        self._elapsed = 0
        self._asked = 0.0  # the unrounded moment of the last wake-up: none may seem to come early
        self._timers: list[tuple[int, int, _ManualTimer]] = []
        self._sequence = itertools.count()
        self._settlers: list[Callable[[], Awaitable[Any]]] = []

    def now(self) -> Instant:
        return self._start + TimeDelta(microseconds=self._elapsed)

    def monotonic(self) -> float:
        return max(self._elapsed / _MICRO, self._asked)

    async def sleep(self, seconds: float) -> None:
        over = asyncio.Event()
        timer = self.call_at(self.monotonic() + seconds, over.set)
        try:
            await over.wait()
        finally:
            timer.cancel()

    def call_at(self, when: float, callback: Callable[[], object]) -> "_ManualTimer":
        timer = _ManualTimer(when, callback)
        if (due := round(when * _MICRO)) <= self._elapsed:
            asyncio.get_running_loop().call_soon(self._fire, timer)
        else:
            heapq.heappush(self._timers, (due, next(self._sequence), timer))
        return timer

    def settles_with(self, settler: Callable[[], Awaitable[Any]]) -> None:
        """Also wait for this before time goes on."""
        self._settlers.append(settler)

    def pending(self) -> tuple[Instant, ...]:
        """The moments for which somebody waits, in order."""
        return tuple(
            self._start + TimeDelta(microseconds=due)
            for due, _, timer in sorted(self._timers)
            if timer.callback
        )

    async def advance(self, seconds: float) -> None:
        """Let that much time pass."""
        await self._advance_to(self._elapsed + round(seconds * _MICRO))

    async def advance_to(self, moment: Instant | str) -> None:
        """Let time pass until it is this moment."""
        await self._advance_to(round((_instant(moment) - self._start).total("microseconds")))

    async def settle(self) -> None:
        """Return when nothing is left to run at the present moment."""
        await _quiet()
        for settler in self._settlers:
            await settler()
            await _quiet()

    async def _advance_to(self, end: int) -> None:
        if end < self._elapsed:
            raise ValueError("time does not go back")
        await self.settle()
        while self._timers and self._timers[0][0] <= end:
            due, _, timer = heapq.heappop(self._timers)
            if timer.callback:
                self._elapsed = due
                self._fire(timer)
                await self.settle()
        self._elapsed = end
        await self.settle()

    def _fire(self, timer: "_ManualTimer") -> None:
        callback, timer.callback = timer.callback, None
        if callback:
            self._asked = max(self._asked, timer.when)
            callback()


class _ManualTimer:
    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self.when = when
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


async def _quiet() -> None:
    """Yield until the event loop has nothing that it could run without waiting for the outside world."""
    ready = getattr(asyncio.get_running_loop(), "_ready")  # noqa: B009 — private: the only place that knows
    while True:
        await asyncio.sleep(0)
        if not ready:
            return


def _instant(moment: Instant | str) -> Instant:
    return Instant.parse_iso(moment) if isinstance(moment, str) else moment
