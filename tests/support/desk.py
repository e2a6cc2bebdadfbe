"""Commands against a scene, at a time that the test says."""

import asyncio
import shutil
from pathlib import Path

from whenever import Instant

from hibernator.kube.clustertime import publish
from support.command import Ran, hibernator
from support.plan_scenes import PlanScene


class Desk:
    """Where commands are typed, at a certain time of the cluster."""

    def __init__(self, scene: PlanScene, folder: Path) -> None:
        self.scene = scene
        self._kubeconfig = folder / "kubeconfig"
        shutil.copy(scene.cluster.kubeconfig, self._kubeconfig)

    async def type(self, now: str, *words: str) -> Ran:
        publish(self._kubeconfig, Instant(now), 0.0)
        place = f"--kubeconfig={self._kubeconfig}", "-n", self.scene.namespace
        return await asyncio.to_thread(hibernator, *words, *place)
