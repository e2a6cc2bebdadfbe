"""The operator as `bench/scalers.py` runs it: on a clock that is about to cross a boundary."""

import asyncio
import sys
import time
from pathlib import Path

from whenever import Instant, TimeDelta

from hibernator.kube import credentials, logging
from hibernator.kube.clock import ScaledClock
from hibernator.kube.manager import stopped_by_signals
from hibernator.kube.memory import spare_the_buffers, spare_the_caches
from hibernator.operator.app import operator
from hibernator.operator.settings import Settings


async def main(kubeconfig: str, boundary: str, crossed_at: str, port: str) -> None:
    """Run so that this clock reads `boundary` when the real one reads `crossed_at`."""
    settings = Settings(
        listen=f"127.0.0.1:{port}",
        database=f"sqlite:///{Path(kubeconfig).parent}/audit.db",
        scaler_jitter_from=0.0,
        scaler_jitter_to=0.0,
        scaler_minimum=0.0,
        workers=64,
    )
    start = Instant.parse_iso(boundary) - TimeDelta(seconds=float(crossed_at) - time.time())
    clock = ScaledClock(1.0, start)
    async with operator(settings, credentials.find(kubeconfig), clock=clock) as made:
        with stopped_by_signals(made.manager):
            await made.manager.run()


if __name__ == "__main__":
    logging.configure("error")
    spare_the_caches()
    spare_the_buffers()
    asyncio.run(main(*sys.argv[1:]))
