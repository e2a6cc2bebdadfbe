"""A slice of all that can go wrong in a night; `make nights` plays the whole."""

import os
import random

import pytest

from support.cluster import ClusterInTest
from support.night_cases import CASES, STRATEGIES, Strategy
from support.night_run import Stage

SEED = int(os.environ.get("HIBERNATOR_NIGHTS_SEED", "1"))
COUNT = 10  # for each strategy
# Each of these has shown a mistake, or is one of the ways in which workloads were once lost.
PINNED = (
    844,  # restore data deleted, and the status write after the sleep refused: nothing knew that it slept
    2584,  # restore data is going, and nobody removes its finalizer
    4296,  # a write of the waking arrives when the night has come again
    5730,  # the lease is lost in the middle of a waking, and the next process has not seen the night
    7525,  # restore data deleted between two writes of a sleep that is turned round
    8482,  # … between two writes of a sleep that goes on
)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_whatever_meets_a_write_nothing_is_asleep_that_should_be_awake(
    crds: ClusterInTest, namespace: str, strategy: Strategy
) -> None:
    async with Stage.set_up(crds, namespace, strategy) as stage:
        reached = stage.writes
        there = [case for case in CASES if case.strategy == strategy and case.write <= reached]
        pinned = [CASES[number] for number in PINNED if CASES[number].strategy == strategy]
        for case in (*pinned, *random.Random(SEED).sample(there, COUNT)):
            await stage.play(case)


def test_the_list_of_cases_has_every_write_of_a_night() -> None:
    """Numbers are written down, above and in reports: they must not move."""
    assert len(CASES) == 11_520
    assert [CASES[number].number for number in PINNED] == list(PINNED)
    assert str(CASES[844]) == (
        "case 844: Sequential, write 5 error 500, restore data deleted by hand, cache fresh"
    )
