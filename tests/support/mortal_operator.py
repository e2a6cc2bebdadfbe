"""The whole operator as a process that a test may kill at any moment, and have again at once.

A nursery with everything imported forks one operator for each life, because a fresh interpreter would spend
most of such a test starting. The operator's clock runs ahead of the real one, from where the test says.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from whenever import Instant

from hibernator.controlplane.ports import free_port
from hibernator.kube import credentials, logging
from hibernator.kube.clock import ScaledClock
from hibernator.kube.manager import stopped_by_signals
from hibernator.operator.app import operator
from hibernator.operator.settings import Settings


class Operators:
    """One operator at a time, in one namespace, with one database."""

    def __init__(self, kubeconfig: Path, namespace: str, database: str) -> None:
        webhooks = f"127.0.0.1:{free_port()}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.mortal_operator", str(kubeconfig), namespace, database, webhooks],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self._living = 0
        self.deaths = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # without an end to speak to, it ends whom it has started

    def start(self, at: Instant, speed: float) -> None:
        """Let one live whose clock reads `at` now and runs so many times as fast as the real one."""
        self._living = int(self._ask(at.format_iso(), speed))

    def kill(self) -> None:
        """End it by SIGKILL, wherever it is; returns when it is gone."""
        os.kill(self._living, signal.SIGKILL)
        self._reap()
        self.deaths += 1

    def stop(self) -> int:
        """End it by SIGTERM; returns its exit code."""
        os.kill(self._living, signal.SIGTERM)
        return self._reap()

    def _reap(self) -> int:
        return int(self._ask("wait", 0.0))

    def _ask(self, *words: str | float) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()


async def _live(kubeconfig: str, namespace: str, database: str, webhooks: str, at: str, speed: float) -> None:
    settings = Settings(
        database=database,
        namespace=namespace,
        watch_namespace=namespace,
        listen="127.0.0.1:0",
        webhook_listen=webhooks,
        webhook_url=f"https://{webhooks}",
        leader_elect=False,
        scaler_jitter_from=0.0,
        scaler_jitter_to=0.0,
        scaler_minimum=0.0,
    )
    clock = ScaledClock(speed, Instant.parse_iso(at))
    async with operator(settings, credentials.find(kubeconfig), clock=clock) as made:
        with stopped_by_signals(made.manager):
            await made.manager.run()


def _nursery(kubeconfig: str, namespace: str, database: str, webhooks: str) -> None:
    child = 0
    for line in sys.stdin:
        at, speed = json.loads(line)
        if at == "wait":
            _, status = os.waitpid(child, 0)
            answer, child = os.waitstatus_to_exitcode(status), 0
        elif (child := os.fork()) == 0:
            os.dup2(2, 1)  # the answers belong to the nursery
            os.close(0)
            asyncio.run(_live(kubeconfig, namespace, database, webhooks, at, speed))
            os._exit(0)
        else:
            answer = child
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    if child:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    logging.configure("error")
    _nursery(*sys.argv[1:])
