"""The demo: a real control plane, the operator, and a shop whose days pass in minutes."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from whenever import Instant

from hibernator.api.core import EVENTS, Event
from hibernator.api.crd import manifest, to_yaml
from hibernator.api.kinds import DEFINITIONS
from hibernator.api.timewindowscaler import SCALERS
from hibernator.controlplane.binaries import Binaries
from hibernator.controlplane.cluster import Cluster, running
from hibernator.kube import credentials
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import ScaledClock
from hibernator.kube.manager import stopped_by_signals
from hibernator.operator.app import operator
from hibernator.operator.settings import Settings

START: Final = Instant("2026-03-02T04:30:00Z")  # a Monday, early in the morning in Berlin
ZONE: Final = "Europe/Berlin"
SHOP: Final = "shop"

Say = Callable[[str], None]


@dataclass
class Summary:
    """What happened while the demo ran."""

    changes: int = 0
    until: Instant = START


async def play(binaries: Binaries, say: Say, *, speed: float, seconds: float | None) -> Summary:
    """Run the scene until the time is over or somebody stops it; nothing of it outlives the call."""
    with (
        tempfile.TemporaryDirectory(prefix="hibernator-demo-") as folder,
        running(Path(folder) / "cluster", binaries, on_step=say) as cluster,
    ):
        await asyncio.to_thread(_set, cluster)
        say(f"The shop is open on {cluster.url}. To look around in another terminal:")
        say(f"  export KUBECONFIG={cluster.kubeconfig}")
        say("  kubectl get deployments,timewindowscalers -n shop")
        say("  hibernator scaler describe web -n shop")
        return await _watch(cluster, say, speed, seconds)


def _set(cluster: Cluster) -> None:
    crds = "---\n".join(to_yaml(manifest(definition)) for definition in DEFINITIONS)
    cluster.kubectl("apply", "--server-side", "-f", "-", input=crds)
    cluster.until_established()
    cluster.kubectl("create", "namespace", "hibernator-system")
    scene = files("hibernator.demo").joinpath("scene.yaml").read_text("utf-8")
    cluster.kubectl("apply", "-f", "-", input=scene)


async def _watch(cluster: Cluster, say: Say, speed: float, seconds: float | None) -> Summary:
    clock = ScaledClock(speed, START)
    settings = Settings(
        listen="127.0.0.1:0",
        database=f"sqlite:///{cluster.layout.root}/audit.db",
        leader_elect=False,
        scaler_jitter_from=0.0,
        scaler_jitter_to=0.0,
        scaler_minimum=0.0,
    )
    found = credentials.find(str(cluster.kubeconfig))
    summary = Summary()
    async with operator(settings, found, clock=clock) as made, Client(found) as client:
        events = Cache(client, EVENTS, SHOP)

        def tell(_old: Event | None, new: Event | None) -> None:
            if new and new.involved_object.kind == SCALERS.kind:
                summary.changes += 1
                local = clock.now().to_tz(ZONE).to_plain().format_iso(unit="minute").replace("T", " ")
                say(f"{local}  {new.message}")

        events.on_change(tell)
        made.manager.add_cache(events)
        with stopped_by_signals(made.manager):
            if seconds is not None:
                asyncio.get_running_loop().call_later(seconds, made.manager.stop)
            await made.manager.run()
    summary.until = clock.now()
    return summary
