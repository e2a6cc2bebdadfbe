"""The sender of notifications as a process of its own, which is killed between any two of its steps."""

import os
from pathlib import Path
from typing import Any

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.controlplane.cluster import Cluster
from support.cluster import ClusterInTest
from support.mortal import Fate
from support.notifying import notifying

PID = "pid"


async def send(fate: Fate, arguments: list[str]) -> None:
    """Send all that is due, with a step before and after each record; then end."""
    kubeconfig, namespace, folder = arguments
    (Path(folder) / PID).write_text(str(os.getpid()))
    found = Cluster.at(Path(kubeconfig).parent)
    assert found
    async with notifying(ClusterInTest(found.layout, found.state), namespace, Path(folder)) as scene:
        patch = scene.client.patch

        async def recording(*args: Any, **more: Any) -> Any:
            fate.step()
            written = await patch(*args, **more)
            fate.step()
            return written

        scene.client.patch = recording  # type: ignore[method-assign]
        scene.reborn(await scene.client.get(NOTIFICATIONS, "on-call", namespace))
        await scene.look_until_done()
