"""The operator as `bench/scalers.py` runs it: on a clock that is about to cross a boundary."""

import asyncio
import sys
from pathlib import Path

from whenever import Instant

from hibernator.kube import credentials, logging
from hibernator.kube.clock import ScaledClock
from hibernator.kube.manager import stopped_by_signals
from hibernator.operator.app import operator
from hibernator.operator.settings import Settings


async def main(kubeconfig: str, start: str, port: str) -> None:
    settings = Settings(
        listen=f"127.0.0.1:{port}",
        database=f"sqlite:///{Path(kubeconfig).parent}/audit.db",
        scaler_jitter_from=0.0,
        scaler_jitter_to=0.0,
        scaler_minimum=0.0,
        workers=64,
    )
    clock = ScaledClock(1.0, Instant.parse_iso(start))
    async with operator(settings, credentials.find(kubeconfig), clock=clock) as made:
        with stopped_by_signals(made.manager):
            await made.manager.run()


if __name__ == "__main__":
    logging.configure("warning")
    asyncio.run(main(*sys.argv[1:]))
