"""Clocks agree with themselves: nothing is called early, and a day passes in order."""

import asyncio
from functools import partial

import pytest
from hypothesis import given, strategies as st
from whenever import Instant, TimeDelta

from hibernator.kube.clock import ScaledClock, SystemClock, call_when_set
from support.clock import ManualClock


async def test_a_real_timer_is_never_called_early() -> None:
    clock = SystemClock()
    for delay in (-1.0, 0.0, 0.001, 0.013):
        due = clock.monotonic() + delay
        await clock.sleep(delay)
        assert clock.monotonic() >= due


async def test_a_cancelled_timer_is_not_called() -> None:
    clock = SystemClock()
    called: list[str] = []
    clock.call_at(clock.monotonic() + 0.001, lambda: called.append("cancelled")).cancel()
    over = asyncio.Event()
    clock.call_at(clock.monotonic() + 0.002, over.set)
    await over.wait()
    assert called == []


async def test_a_scaled_day_starts_where_it_is_told_and_its_hours_pass_quickly() -> None:
    start = Instant.from_utc(2026, 3, 2)
    clock = ScaledClock(speed=3_600_000, start=start)
    await clock.sleep(8 * 3600)
    assert (clock.now() - start).total("hours") >= 8


class SettableClock(SystemClock):
    """One that stands still, and whose time of day somebody sets."""

    off = TimeDelta.ZERO

    def now(self) -> Instant:
        return Instant.from_utc(2026, 3, 2) + self.off

    def monotonic(self) -> float:
        return 0.0


@pytest.mark.parametrize("hours", [-7, -1, 1, 7])
async def test_a_clock_that_is_set_forward_or_back_is_told_once(hours: int) -> None:
    clock, told = SettableClock(), asyncio.Event()
    calls: list[int] = []

    def tell() -> None:
        calls.append(hours)
        told.set()

    async with asyncio.timeout(30):
        looks = asyncio.create_task(call_when_set(clock, tell, every=0))
        await asyncio.sleep(0)  # it has seen how the clock stands
        clock.off = TimeDelta(hours=hours)
        await told.wait()
        for _ in range(10):
            await asyncio.sleep(0)
    assert calls == [hours]
    looks.cancel()


def test_a_clock_that_would_run_backwards_is_refused() -> None:
    with pytest.raises(ValueError, match="runs forward"):
        ScaledClock(speed=-1, start=Instant.from_utc(2026, 3, 2))


async def test_a_manual_day_calls_everything_in_order_at_its_exact_moment() -> None:
    clock = ManualClock("2026-03-02T00:00:00Z")
    seen: list[tuple[str, Instant]] = []

    async def hourly() -> None:
        while True:
            await clock.sleep(3600)
            seen.append(("hour", clock.now()))

    task = asyncio.create_task(hourly())
    clock.call_at(2.5 * 3600, lambda: seen.append(("half past two", clock.now())))
    await clock.advance_to("2026-03-03T00:00:00Z")
    task.cancel()
    assert [moment.to_tz("UTC").hour for what, moment in seen if what == "hour"] == [*range(1, 24), 0]
    assert all(moment.to_tz("UTC").minute == 0 for what, moment in seen if what == "hour")
    assert seen[2] == ("half past two", Instant.from_utc(2026, 3, 2, 2, 30))


@given(st.lists(st.integers(min_value=1, max_value=10**9), min_size=1, max_size=20))
async def test_a_boundary_is_met_to_the_microsecond_after_any_history(steps: list[int]) -> None:
    clock = ManualClock("2026-03-02T00:00:00Z")
    for step in steps:
        boundary = clock.now().add(seconds=step)
        met: list[Instant] = []
        clock.call_at(clock.monotonic() + step, partial(_note, clock, met))
        await clock.advance(step + 0.25)
        assert met == [boundary]


def _note(clock: ManualClock, met: list[Instant]) -> None:
    met.append(clock.now())


async def test_time_waits_for_whatever_it_settles_with() -> None:
    clock = ManualClock()
    work: set[asyncio.Task[None]] = set()
    answered: list[Instant] = []

    async def talk_to_a_server() -> None:
        await asyncio.sleep(0.001)  # stands for a real answer that takes its time
        answered.append(clock.now())

    async def no_work_left() -> None:
        await asyncio.gather(*work)

    clock.settles_with(no_work_left)
    for hour in range(3):
        clock.call_at(hour * 3600, lambda: work.add(asyncio.create_task(talk_to_a_server())))
    await clock.advance(86_400)
    assert [moment.to_tz("UTC").hour for moment in answered] == [0, 1, 2]
    assert clock.pending() == ()
