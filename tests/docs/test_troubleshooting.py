"""The commands of the page on troubleshooting, typed on a cluster in which what they ask about is so."""

import asyncio
import re
from pathlib import Path

import pytest

from support.cluster import ClusterInTest
from support.operators import Running
from support.pages import Shell, blocks
from support.plan_scenes import EVENING, PlanScene, plan, workloads
from support.scaler_scenes import workload

PAGE = "docs/troubleshooting.md"
SYMPTOMS = (
    "It did not sleep",
    "It did not wake",
    "It woke at night",
    "It slept in the middle of the day",
    "The approval does not count",
)
PARTY = {
    "apiVersion": "hibernator.ardikabs.com/v1alpha1",
    "kind": "ScheduleException",
    "metadata": {
        "name": "party",
        "annotations": {"hibernator.ardikabs.com/requested-by": "alice@example.com"},
    },
    "spec": {
        "planRef": {"name": "nights"},
        "type": "suspend",
        "validFrom": "2026-03-05T00:00:00Z",
        "validUntil": "2026-03-06T00:00:00Z",
        "windows": [{"start": "20:00", "end": "23:00", "daysOfWeek": ["THU"]}],
        "approvalRequired": True,
        "approverEmails": ["bob@example.com"],
    },
}


@pytest.fixture
def scene(crds: ClusterInTest, namespace: str) -> PlanScene:
    return PlanScene(crds, namespace)


def test_the_page_goes_by_symptoms_and_each_comes_with_commands() -> None:
    page = Path(__file__).parents[2].joinpath(PAGE).read_text(encoding="utf-8")
    found = re.findall(r"^## (.+)\n\n```sh$", page, re.MULTILINE)
    assert tuple(found) == SYMPTOMS


async def test_the_commands_tell_what_the_page_says_that_they_tell(scene: PlanScene, tmp_path: Path) -> None:
    not_asleep, not_awake, at_night, by_day, approval = blocks(PAGE, "sh")
    scene.create(workload(replicas=3), plan(workloads("shop", scene.namespace)), PARTY)
    async with scene.operator() as run:
        await run.advance_to(EVENING)
        await run.operator.trail.flush()

        async def typed(text: str) -> str:
            shell = Shell(scene.cluster, tmp_path, run.clock, more={"HIBERNATOR_DATABASE": run.database})
            here = re.sub(r"-n shop\b", f"-n {scene.namespace}", text)
            return await asyncio.to_thread(shell.type, here.replace("--since 24h", "--since 2026-03-02"))

        await told(run, scene)
        said = await typed(not_asleep.text)
        assert "nights is Hibernated" in said
        assert "Rules, in the order in which they are looked at" in said
        assert "party" in said
        assert f"Deployment/{scene.namespace}/web  replicas=3" in await typed(not_awake.text)
        woken = await typed(at_night.text)
        assert "hibernateplan.sleep.completed" in woken
        assert "manager: hibernator" in woken
        assert "Awake: no off-hours cover this time" in await typed(by_day.text)
        assert "bob@example.com" in await typed(approval.text)


async def told(run: Running, scene: PlanScene) -> None:
    """Wait until the events of the night are written, which nothing else waits for."""
    await run.until(lambda: len(scene.events("nights")) == 2)
