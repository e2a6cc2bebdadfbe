"""Processes that die by SIGKILL where a test wants them to: between two statements, or anywhere.

A nursery process imports everything once and then forks a child for each life, because starting Python anew
for each of a hundred deaths would take minutes.

    with Nursery("support.audit_lives:write") as nursery:
        while nursery.live(url, step=k):  # killed before its k-th step
            k += 1

Run as a program it is the nursery: it reads one JSON line for each life and answers how the life ended.
"""

import asyncio
import importlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from sqlalchemy import event

from hibernator.audit.database import Database


class Fate:
    """Counts the steps of a life and ends it at the chosen one, or at a random one."""

    def __init__(self, step: int | None = None, seed: int | None = None) -> None:
        self._step = step
        self._random = None if seed is None else random.Random(seed)
        self._taken = 0

    def step(self, *_arguments: object) -> None:
        """Whatever comes next may never happen."""
        self._taken += 1
        if self._taken == self._step or (self._random and self._random.random() < 1 / 60):
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, database: Database) -> Database:
        """Take a step before each statement and each commit."""
        for name in ("before_cursor_execute", "commit"):
            event.listen(database.engine.sync_engine, name, self.step)
        return database


Life = Callable[[Fate, list[str]], Awaitable[None]]


class Nursery:
    """`program` is `module:function`, called with its fate and the arguments."""

    def __init__(self, program: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.mortal", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def live(self, *arguments: str, step: int | None = None, seed: int | None = None) -> bool:
        """Live one life; True when it was cut short, False when it came to its natural end."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([step, seed, arguments]) + "\n")
        self._process.stdin.flush()
        ended = int(self._process.stdout.readline())
        assert ended in {0, -signal.SIGKILL}, f"a life ended with {ended}"
        return ended != 0


def _nursery(life: Life) -> None:
    for line in sys.stdin:
        step, seed, arguments = json.loads(line)
        if (child := os.fork()) == 0:
            os.dup2(2, 1)  # the answers belong to the nursery
            asyncio.run(_live(life, Fate(step, seed), arguments))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


async def _live(life: Life, fate: Fate, arguments: list[str]) -> None:
    await life(fate, arguments)


if __name__ == "__main__":
    module, _, function = sys.argv[1].partition(":")
    _nursery(getattr(importlib.import_module(module), function))
