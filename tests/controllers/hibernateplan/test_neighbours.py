"""Plans of several namespaces at work at the same moment: none waits for what another covers."""

import asyncio
from pathlib import Path

from whenever import Instant

from hibernator.api.hibernateplan import Target
from hibernator.controllers.hibernateplan_restore import RestoreData
from hibernator.controllers.hibernateplan_runs import AT_ONCE, Runner
from hibernator.decisions.hibernateplan_restore import Entry, Kept
from hibernator.executors.noop import Noop
from hibernator.executors.protocol import Job, Saved
from hibernator.executors.registry import Registry
from hibernator.kube.client import Client
from hibernator.kube.credentials import find
from support.kubeconfigs import write_kubeconfig

MANY = 3 * AT_ONCE
TARGET = Target(name="all", type="noop", parameters={"items": MANY})
KEPT = Kept(
    target=TARGET,
    entries={f"noop-{number}": Entry(cycle=1, was={"number": number}) for number in range(MANY)},
)


class Silent(Noop):
    """Things of one namespace never answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.full = asyncio.Event()
        self.go_on = asyncio.Event()

    async def wake(self, job: Job, item: Saved) -> None:
        del item
        self.asked.append(job.namespace)
        if job.namespace == "loud":
            if len(self.asked) == AT_ONCE:
                self.full.set()
            await self.go_on.wait()


def job(namespace: str) -> Job:
    now = Instant("2026-03-03T06:00:00Z")
    return Job(
        namespace=namespace,
        plan="nights",
        uid="",
        cycle=1,
        target=TARGET,
        wanted=TARGET,
        attempt=1,
        began=now,
        now=now,
    )


async def test_things_that_never_answer_hold_up_no_plan_of_another_namespace(tmp_path: Path) -> None:
    server = {"server": "https://127.0.0.1:9"}  # never asked
    config = write_kubeconfig(tmp_path / "config", cluster=server, user={"token": "none"})
    executor = Silent()
    runner = Runner(Registry({"noop": executor}), RestoreData(Client(find(str(config)))))
    async with asyncio.TaskGroup() as group, asyncio.timeout(10):
        slow = group.create_task(runner.confirm(job("loud"), KEPT))
        await executor.full.wait()
        assert await runner.confirm(job("quiet"), KEPT) == {}
        assert not slow.done()
        assert executor.asked.count("loud") == AT_ONCE
        executor.go_on.set()
    assert executor.asked.count("quiet") == executor.asked.count("loud") == MANY
