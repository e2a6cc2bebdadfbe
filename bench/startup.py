"""How long commands take from Enter to the prompt, beside an empty Python and beside kubectl.

    python bench/startup.py [N]            15 runs of each unless told otherwise

CPU time of the whole process, the least and the middle of N runs, and the middle of the time on the clock.
The byte code of all modules is there already, as after the first run on any machine. `plan list` talks to a
real API server with 10 plans.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from _table import show
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import running
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed

PLANS = 10
CRDS = Path(__file__).parents[1] / "config" / "crd"
COMMAND = ("-m", "hibernator.cli.main")
PLAN = """
apiVersion: hibernator.ardikabs.com/v1alpha1
kind: HibernatePlan
metadata: {{name: nights-{number}, namespace: default}}
spec:
  schedule:
    timezone: Europe/Berlin
    offHours: [{{start: "20:00", end: "06:00", daysOfWeek: [MON, TUE, WED, THU, FRI]}}]
  targets: [{{name: drill, type: noop}}]
"""


class Cost(NamedTuple):
    cpu: float
    clock: float


def once(command: list[str], env: dict[str, str]) -> Cost:
    begun = time.perf_counter()
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - begun)


def row(name: str, command: list[str], env: dict[str, str], runs: int) -> tuple[str, float, float, float]:
    once(command, env)  # leaves the byte code behind
    costs = [once(command, env) for _ in range(runs)]
    cpu = [1000 * cost.cpu for cost in costs]
    return name, min(cpu), median(cpu), 1000 * median(cost.clock for cost in costs)


def measured(env: dict[str, str], kubectl: str, runs: int) -> Iterator[tuple[str, float, float, float]]:
    yield row("python -c pass", [sys.executable, "-c", "pass"], env, runs)
    for words in ("--version", "--help", "plan --help", "plan list"):
        yield row(f"hibernator {words}", [sys.executable, *COMMAND, *words.split()], env, runs)
    for words in ("version --client", "get hibernateplans"):
        yield row(f"kubectl {words}", [kubectl, *words.split()], env, runs)


def main(runs: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as made, running(Path(made, "cluster"), binaries) as cluster:
        cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
        cluster.until_established()
        plans = "---".join(PLAN.format(number=number) for number in range(PLANS))
        cluster.kubectl("apply", "-f", "-", input=plans)
        code = {"PYTHONPYCACHEPREFIX": str(Path(made, "code"))}
        env = {**os.environ, **code, "KUBECONFIG": str(cluster.kubeconfig)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        rows = list(measured(env, shutil.which("kubectl") or cluster.state.kubectl, runs))
    show(
        "Commands, in milliseconds",
        ("command", "CPU, least", "CPU, middle", "clock, middle"),
        rows,
        packages=("typer", "aiohttp", "msgspec"),
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
