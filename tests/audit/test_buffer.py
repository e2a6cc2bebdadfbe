"""What is in memory: bounded, in order, each once."""

import asyncio

import pytest

from hibernator.audit.trail import Buffer
from support.trail import sleeps, slept


def test_events_leave_in_the_order_in_which_they_came_each_once() -> None:
    buffer = Buffer(capacity=10, memory=10)
    for told in sleeps(2, 1, 2, 3):
        assert buffer.add(told)
    assert buffer.first(2) == sleeps(2, 1)
    assert len(buffer) == 3


def test_what_does_not_fit_in_is_refused_and_what_is_in_is_still_welcome() -> None:
    buffer = Buffer(capacity=2, memory=10)
    assert [buffer.add(told) for told in sleeps(1, 2, 3, 1)] == [True, True, False, True]


def test_what_has_arrived_is_not_taken_in_again() -> None:
    buffer = Buffer(capacity=2, memory=10)
    buffer.add(slept(1))
    buffer.arrived(sleeps(1))
    assert buffer.add(slept(1))
    assert len(buffer) == 0
    assert buffer.has(slept(1).id)


def test_only_the_last_arrivals_that_were_asked_for_are_remembered() -> None:
    buffer = Buffer(capacity=10, memory=2)
    buffer.arrived(sleeps(1, 2))
    assert buffer.has(slept(1).id)
    buffer.arrived(sleeps(3))
    assert [buffer.has(slept(cycle).id) for cycle in (1, 2, 3)] == [True, False, True]


def test_an_empty_buffer_has_no_lag() -> None:
    assert Buffer(capacity=1, memory=1).lag() == 0.0


async def test_who_waits_goes_on_when_everything_has_arrived() -> None:
    buffer = Buffer(capacity=10, memory=10)
    for told in sleeps(1, 2):
        buffer.add(told)
    waiting = asyncio.create_task(buffer.until_durable([slept(1).id, slept(2).id]))
    await asyncio.sleep(0)
    buffer.arrived(sleeps(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    buffer.arrived(sleeps(2))
    await waiting


async def test_who_waits_is_told_of_a_failure_and_the_event_stays() -> None:
    buffer = Buffer(capacity=10, memory=10)
    buffer.add(slept(1))
    waiting = asyncio.create_task(buffer.until_durable([slept(1).id]))
    await asyncio.sleep(0)
    buffer.failed(OSError("away"))
    with pytest.raises(OSError, match="away"):
        await waiting
    assert buffer.first(1) == [slept(1)]
