"""In which order a plan really writes, as the API server saw it."""

from itertools import pairwise
from typing import Any

from support.plan_scenes import EVENING, MORNING, PlanScene, plan, workloads
from support.scaler_scenes import workload

STRATEGIES: dict[str, dict[str, Any]] = {
    "sequential": {"type": "Sequential"},
    "parallel": {"type": "Parallel", "maxConcurrency": 2},
    "dag": {
        "type": "DAG",
        "dependencies": [{"from": "c", "to": "a"}, {"from": "c", "to": "b"}, {"from": "b", "to": "d"}],
    },
    "staged": {
        "type": "Staged",
        "stages": [
            {"name": "first", "targets": ["d", "b"], "parallel": True},
            {"name": "second", "targets": ["c", "a"]},
        ],
    },
}
SLEEP = {"sequential": [list("abcd")], "dag": [list("ca"), list("cb"), list("bd")]}
SLEEP["staged"] = [list("dc"), list("bc"), list("ca")]


async def test_each_strategy_sleeps_in_its_order_and_wakes_backwards(scene: PlanScene) -> None:
    for strategy, description in STRATEGIES.items():
        for letter in "abcd":
            one = workload(name=f"{strategy}-{letter}", replicas=1)
            one["metadata"]["labels"] = {"plan": strategy, "part": letter}
            scene.create(one)
        targets = [
            workloads(
                letter,
                scene.namespace,
                workloadSelector={"matchLabels": {"plan": strategy, "part": letter}},
            )
            for letter in "abcd"
        ]
        scene.create(plan(*targets, name=strategy, execution={"strategy": description}))
    before = scene.workloads()
    async with scene.operator() as run:
        for moment, backwards in ((EVENING, False), (MORNING, True)):
            earlier = len(scene.writes())
            await run.advance_to(moment)
            written = [name for resource, _, name in scene.writes()[earlier:] if resource == "deployments"]
            for strategy in STRATEGIES:
                letters = [name[-1] for name in written if name.startswith(f"{strategy}-")]
                assert sorted(letters) == list("abcd"), strategy
                for chain in SLEEP.get(strategy, []):
                    for first, then in pairwise(reversed(chain) if backwards else chain):
                        assert letters.index(first) < letters.index(then), (strategy, letters)
    assert scene.workloads() == before
