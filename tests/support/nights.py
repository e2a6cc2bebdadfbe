"""Every write of a night and a morning meets every fault, in every way: all cases, some, or one.

    make nights                               # all, on a control plane of its own: an hour
    make nights NIGHTS="--count 500"          # as many, chosen by --seed
    make nights NIGHTS="--case 4711 --log"    # one, as it was before, with what the operator logs

Each worker plays in a namespace of its own until a case fails there, and then in another. A case mostly waits
for the API server, which confirms ten times a second that its own caches are fresh: so several are played at
the same time. The end is a table of how many passed, and the numbers of those that failed.
"""

import argparse
import asyncio
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import start, wait_until_down
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.cluster import ClusterInTest
from support.night_cases import CASES, FAULTS, STRATEGIES, Case, Strategy
from support.night_run import Stage

_RESULTS: Final = ("passed", "failed", "never came")


class Tally:
    """What became of the cases so far."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.failed: list[int] = []
        self._began = time.monotonic()
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, case: Case, result: str) -> None:
        self.left -= 1
        self._counts[case.fault, result] += 1
        if result == "failed":
            self.failed.append(case.number)
        if self.left % 100 == 0:
            _say(f"{time.monotonic() - self._began:.0f} s, {self.left} left, {len(self.failed)} failed")

    def table(self) -> str:
        rows = [["fault", *_RESULTS]]
        rows += [[fault, *(str(self._counts[fault, result]) for result in _RESULTS)] for fault in FAULTS]
        sums = (sum(self._counts[fault, result] for fault in FAULTS) for result in _RESULTS)
        rows.append(["all", *map(str, sums)])
        return "\n".join(f"{row[0]:<12}" + "".join(f"{cell:>12}" for cell in row[1:]) for row in rows)


async def play(cluster: ClusterInTest, cases: Sequence[Case], workers: int, tally: Tally) -> None:
    """All of them, so many at the same time for each strategy."""
    async with asyncio.TaskGroup() as group:
        for strategy in STRATEGIES:
            left = iter([case for case in cases if case.strategy == strategy])
            for _ in range(workers):
                group.create_task(_work(cluster, strategy, left, tally))


async def _work(cluster: ClusterInTest, strategy: Strategy, left: Iterator[Case], tally: Tally) -> None:
    case = next(left, None)
    while case is not None:
        namespace = await asyncio.to_thread(cluster.create_namespace)
        async with Stage.set_up(cluster, namespace, strategy) as stage:
            reached = stage.writes
            result = "passed"
            while case is not None and result != "failed":
                result = await _result(stage, case, reached)
                tally.note(case, result)
                case = next(left, None)


async def _result(stage: Stage, case: Case, reached: int) -> str:
    if case.write > reached:
        return "never came"
    try:
        return "passed" if await stage.play(case) else "never came"
    except Exception as error:  # noqa: BLE001 — whatever it is, the other cases go on
        why = error if isinstance(error, AssertionError) else f"{case}\n{traceback.format_exc()}"
        _say(f"FAILED {why}\nRepeat it: make nights NIGHTS='--case {case.number}'\n")
        return "failed"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def _control_plane() -> Iterator[ClusterInTest]:
    with tempfile.TemporaryDirectory(prefix="hibernator-nights-") as folder:
        os.environ.setdefault("GOGC", "200")  # memory for time: the API server does most of the work here
        reading, writing = os.pipe()
        up = start(
            Path(folder) / "cluster", find_or_build(needed(nodes=False), PlainReporter()), lifeline=reading
        )
        os.close(reading)
        try:
            yield ClusterInTest(up.layout, up.state)
        finally:
            os.close(writing)
            wait_until_down(up.layout.root)


def _chosen(options: argparse.Namespace) -> list[Case]:
    if options.case is not None:
        return [CASES[options.case]]
    cases = list(CASES)
    random.Random(options.seed).shuffle(cases)  # so that a run that is ended early has seen something of all
    return cases[: options.count]


def main() -> int:
    """1 if any case failed."""
    parser = argparse.ArgumentParser(prog="make nights", description=__doc__.splitlines()[0])
    parser.add_argument("--case", type=int, help="play this one only")
    parser.add_argument("--count", type=int, help="play so many")
    parser.add_argument("--seed", type=int, default=1, help="in the order, or the choice, of this seed")
    parser.add_argument("--workers", type=int, default=8, help="at the same time, for each strategy")
    parser.add_argument("--log", action="store_true", help="show what the operator logs")
    options = parser.parse_args()
    level = logging.INFO if options.log else logging.CRITICAL
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    cases = _chosen(options)
    tally = Tally(len(cases))
    for ending in (signal.SIGINT, signal.SIGTERM):  # also in the background, where a shell ignores the first
        signal.signal(ending, signal.default_int_handler)
    with _control_plane() as cluster, suppress(KeyboardInterrupt):
        cluster.install_crds()
        asyncio.run(play(cluster, cases, options.workers, tally))
    _say(tally.table())
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
