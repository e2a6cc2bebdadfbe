"""Whoever looks finds everything in a cache, by an index or by its name, and lists nothing."""

import asyncio
from typing import Any

import pytest

from hibernator.kube.client import Client
from support.operators import running
from support.remediation_scenes import ANALYSES, REQUESTS, RemediationScene, analysis, remediation

_WAITING = 50
_CONTROLLERS = ("remediationrequest-", "aianalysis-", "remediationapprovalrequest-", "remediationpolicy-")


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the tasks that have listed anything; workers are named after their controller."""
    tasks: set[str] = set()
    pages = Client.pages

    def spied(self: Client, *arguments: Any, **more: Any) -> Any:
        task = asyncio.current_task()
        tasks.add(task.get_name() if task else "")
        return pages(self, *arguments, **more)

    monkeypatch.setattr(Client, "pages", spied)
    return tasks


async def test_no_look_lists_anything(scene: RemediationScene, listing: set[str]) -> None:
    names = [f"wait-{number}" for number in range(_WAITING)]
    call = asyncio.to_thread
    async with running(scene.cluster.kubeconfig, scene.namespace) as run:
        scene.apply(*map(remediation, names), *(analysis(name=name, of=name) for name in names))
        await run.settle()
        await run.operator.trail.flush(60.0)
        asked = {one["spec"]["aiAnalysisRef"]["name"]: one["metadata"]["name"] for one in scene.all(REQUESTS)}
        assert len(asked) == _WAITING
        await call(scene.say_on, asked["wait-0"], "Approved")
        await call(scene.say_on, asked["wait-1"], "Rejected")
        await call(scene.delete, REQUESTS, asked["wait-2"])
        await call(scene.delete, ANALYSES, "wait-3")
        await call(scene.apply, analysis(name="more", of="wait-4"))
        await run.until(lambda: scene.phase("wait-0") == ("Ready", "Approved"))
        await run.until(lambda: scene.phase("wait-1") == ("Rejected", "Rejected"))

        def is_done() -> bool:
            """One request was made again, one went with its analysis, and one is new."""
            found = {one["metadata"]["name"] for one in scene.all(REQUESTS)}
            return (
                f"{asked['wait-2']}-again" in found
                and asked["wait-3"] not in found
                and len(found) == _WAITING
            )

        await run.until(is_done)
        await run.advance(900)
        assert scene.phase("wait-49") == ("Rejected", "ApprovalTimeout")
    assert listing  # the caches have
    assert not [name for name in listing if name.startswith(_CONTROLLERS)]
