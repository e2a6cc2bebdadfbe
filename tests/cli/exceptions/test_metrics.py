"""How many exceptions wait for people, how long, and what becomes of them, is counted."""

import asyncio

from hibernator.controllers.metrics import DECISION_SECONDS, DECISIONS, OLDEST_SECONDS, WAITING
from support.clock import ManualClock
from support.people import ALICE, BOB, People

KIND = "ScheduleException"


async def test_exceptions_are_counted_while_they_wait_and_by_how_they_end(people: People) -> None:
    names = ("granted", "refused", "forgotten", "called-off")
    async with people.operator(ManualClock("2026-03-02T08:00:00Z")) as run:
        for name in names:
            await asyncio.to_thread(people.wish, name, "--approver", BOB)
        await asyncio.to_thread(people.wish, "free")  # nobody is asked for this one
        await run.until(lambda: run.metric(WAITING, KIND) == len(names))
        await run.advance(3600)
        assert run.metric(OLDEST_SECONDS, KIND) == 3600
        await asyncio.to_thread(people.ask, BOB, "approve", "--yes", "granted")
        await asyncio.to_thread(people.ask, BOB, "reject", "--yes", "refused", "no")
        await asyncio.to_thread(people.ask, ALICE, "cancel", "called-off")
        await run.until(lambda: run.metric(WAITING, KIND) == 1)
        await run.advance_to("2026-03-20T00:00:00Z")
        await run.until(lambda: run.metric(WAITING, KIND) == 0)
        for verdict in ("approved", "rejected", "expired", "withdrawn"):
            assert run.metric(DECISIONS, KIND, verdict) == 1, verdict
        assert run.metric(DECISION_SECONDS, KIND) == 2
        assert run.metric(OLDEST_SECONDS, KIND) == 0
