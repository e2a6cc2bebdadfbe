"""A target fails at each position, asleep or awake, in both modes, and all of it on one API server."""

from itertools import product
from typing import Any

from support.plan_scenes import EVENING, MORNING, PlanScene, noop, plan

NAMES = ("a", "b", "c")
CASES = tuple(product(("Strict", "BestEffort"), ("sleep", "wake"), range(len(NAMES))))


def name(mode: str, direction: str, position: int) -> str:
    return f"{mode.lower()}-{direction}-{NAMES[position]}"


def failing(mode: str, direction: str, position: int) -> dict[str, Any]:
    targets = [noop(one) for one in NAMES]
    targets[position] = noop(NAMES[position], failureMode=direction)
    called = name(mode, direction, position)
    return plan(*targets, name=called, behavior={"mode": mode, "retries": 0})


def expected(mode: str, order: tuple[str, ...], fails: str) -> dict[str, str]:
    before, after = order[: order.index(fails)], order[order.index(fails) + 1 :]
    others = "Aborted" if mode == "Strict" else "Completed"
    return dict.fromkeys(before, "Completed") | {fails: "Failed"} | dict.fromkeys(after, others)


async def test_strict_ends_a_sleep_at_a_failure_and_every_waking_goes_on(scene: PlanScene) -> None:
    scene.create(*(failing(*case) for case in CASES))
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        for mode, direction, position in CASES:
            called, fails = name(mode, direction, position), NAMES[position]
            if direction == "sleep":
                assert scene.target_states(called) == expected(mode, NAMES, fails)
                assert scene.phase(called) == ("Error" if mode == "Strict" else "Hibernated")
            else:
                assert scene.phase(called) == "Hibernated"
        await run.advance_to(MORNING)
        for mode, direction, position in CASES:
            called, fails = name(mode, direction, position), NAMES[position]
            if direction == "wake":
                assert scene.target_states(called) == expected("BestEffort", NAMES[::-1], fails)
                assert scene.phase(called) == "Error"
            else:
                assert scene.phase(called) == "Active"
                assert "Failed" not in scene.target_states(called).values()
