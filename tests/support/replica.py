"""A whole replica as a process of its own, for tests that kill, freeze and cut off processes.

It counts up one ConfigMap for as long as it leads, and writes down with each number under which leadership.
Every write is made from what the API server says *now*, so that a former leader that went on would get its
writes through and be seen in the ConfigMap's history. SIGUSR1 blocks its event loop for a while.
"""

import argparse
import asyncio
import signal
import sys
import time

from whenever import Instant

from hibernator.api.core import CONFIG_MAPS
from hibernator.kube.cache import Cache
from hibernator.kube.client import Client
from hibernator.kube.clock import SystemClock
from hibernator.kube.controller import Controller, For, Key, Result
from hibernator.kube.credentials import find
from hibernator.kube.election import LEASE_LOST, ApiLeases, Elector, LeaseLostError
from hibernator.kube.health import Health
from hibernator.kube.lease import Timing
from hibernator.kube.logging import configure
from hibernator.kube.manager import Manager, stopped_by_signals
from hibernator.kube.metrics import Metrics

LEASE = "leader"
LOG = "log"


class SkewedClock(SystemClock):
    """The clock of a host that nobody has set."""

    def __init__(self, skew: float) -> None:
        self._skew = skew

    def now(self) -> Instant:
        return super().now().add(seconds=self._skew)


async def main(options: argparse.Namespace) -> None:
    metrics, clock = Metrics(), SystemClock()
    async with Client(find(options.kubeconfig), metrics=metrics) as client:
        elector = Elector(
            ApiLeases(client, LEASE, options.namespace),
            metrics,
            identity=options.identity,
            timing=Timing(*options.timing),
            clock=SkewedClock(options.skew),
        )
        writer = client.fenced(elector.may_write)

        async def count(key: Key) -> Result:
            epoch = elector.epoch
            seen = await writer.get(CONFIG_MAPS, key.name, key.namespace)
            number = int(seen.data.get("number", "0")) + 1
            data = {"number": str(number), "epoch": str(epoch), "holder": options.identity}
            await writer.patch(
                CONFIG_MAPS,
                key.name,
                key.namespace,
                {"data": data},
                resource_version=seen.metadata.resource_version,
            )
            return Result(after=0.02)

        cache = Cache(client, CONFIG_MAPS, options.namespace, field_selector=f"metadata.name={LOG}")
        manager = Manager(Health(metrics), elector=elector)
        manager.add_controller(
            Controller("counter", count, sources=[For(cache)], clock=clock, metrics=metrics)
        )
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, time.sleep, 60)
        with stopped_by_signals(manager):
            await manager.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig")
    parser.add_argument("identity")
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--timing", type=float, nargs=3, required=True)
    parser.add_argument("--skew", type=float, default=0.0)
    configure(json=True)
    try:
        asyncio.run(main(parser.parse_args()))
    except LeaseLostError as lost:
        sys.stderr.write(f"{lost}\n")
        sys.exit(LEASE_LOST)
