"""Drills: failures and delays on request."""

from typing import Any

import pytest
from whenever import Instant, TimeDelta

from hibernator.api.hibernateplan import Target
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Job, Permanent, Retryable, Saved
from hibernator.executors.registry import Registry

NOW = Instant("2026-03-02T20:00:00Z")
ITEM = Saved(key="noop-0", restore={})


def job(attempt: int = 1, seconds: float = 0, **parameters: Any) -> Job:
    target = Target(name="drill", type="noop", parameters=parameters)
    now = NOW + TimeDelta(seconds=seconds)
    return Job(namespace="x", plan="p", uid="", cycle=1, target=target, attempt=attempt, began=NOW, now=now)


async def test_it_pretends_as_many_items_as_it_is_told() -> None:
    assert len(await Noop().discover(job(items=3))) == 3


async def test_it_fails_in_the_direction_and_as_often_as_it_is_told() -> None:
    with pytest.raises(Retryable, match="No\\."):
        await Noop().sleep(job(failureMode="sleep", failures=1, failureMessage="No."), ITEM)
    await Noop().sleep(job(2, failureMode="sleep", failures=1), ITEM)
    await Noop().wake(job(failureMode="sleep"), ITEM)
    with pytest.raises(Retryable):
        await Noop().wake(job(9, failureMode="both"), ITEM)


async def test_a_delay_is_waited_for() -> None:
    assert Noop().patience(job()) is None
    assert Noop().patience(job(delaySeconds=30)) == 630
    assert not await Noop().settled(job(seconds=29, delaySeconds=30), ITEM, "Asleep")
    assert await Noop().settled(job(seconds=30, delaySeconds=30), ITEM, "Asleep")


def test_how_long_to_wait_is_as_the_target_says() -> None:
    assert Noop().patience(job(awaitCompletion={"enabled": True, "timeout": "90s"})) == 90
    assert Noop().patience(job(awaitCompletion={"enabled": True})) == 600


async def test_parameters_of_another_shape_are_told_and_not_tried_again() -> None:
    told = r"the parameters of drill cannot be used: items: it must be a whole number, not text\."
    with pytest.raises(Permanent, match=told):
        await Noop().discover(job(items="many"))


def test_a_type_without_an_executor_is_told_with_those_that_there_are() -> None:
    with pytest.raises(Permanent, match="it knows noop"):
        Registry({"noop": Noop()})["ec2"]
