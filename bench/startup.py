"""How long commands take from Enter to the prompt, and the operator until it is ready, beside kubectl.

    python bench/startup.py [N]            15 runs of each unless told otherwise

CPU time of the whole process, the least and the middle of N runs, and the middle of the time on the clock.
The byte code of all modules is there already, as after the first run on any machine. `plan list` talks to a
real API server with 10 plans; so does the operator, without and with webhooks.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
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


def until_ready(arguments: list[str], env: dict[str, str]) -> Cost:
    """What an operator has used when it first says that it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    begun = time.perf_counter()
    command = [sys.executable, *COMMAND, "operator", f"--listen={address}", *arguments]
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not is_ready(f"http://{address}/readyz"):
            assert process.poll() is None, command
            time.sleep(0.01)
        clock = time.perf_counter() - begun
        used = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        process.terminate()
    ticks = sum(map(int, used[11:15]))  # of itself and of processes that it has started and that are over
    return Cost(ticks / os.sysconf("SC_CLK_TCK"), clock)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 — our own, by http
            return True
    except OSError:
        return False


def operator_row(
    name: str, arguments: list[str], env: dict[str, str], runs: int
) -> tuple[str, float, float, float]:
    until_ready(arguments, env)  # makes the database, the certificates and the byte code
    costs = [until_ready(arguments, env) for _ in range(runs)]
    cpu = [1000 * cost.cpu for cost in costs]
    return name, min(cpu), median(cpu), 1000 * median(cost.clock for cost in costs)


def measured(env: dict[str, str], kubectl: str, runs: int) -> Iterator[tuple[str, float, float, float]]:
    yield row("python -c pass", [sys.executable, "-c", "pass"], env, runs)
    for words in ("--version", "--help", "plan --help", "plan list"):
        yield row(f"hibernator {words}", [sys.executable, *COMMAND, *words.split()], env, runs)
    for words in ("version --client", "get hibernateplans"):
        yield row(f"kubectl {words}", [kubectl, *words.split()], env, runs)
    with tempfile.TemporaryDirectory() as made:
        alone = [f"--database=sqlite:///{made}/audit.db", "--no-leader-elect"]
        yield operator_row("hibernator operator, until ready", alone, env, runs)
        webhooks = ["--webhook-listen=127.0.0.1:19443", "--webhook-url=https://127.0.0.1:19443"]
        yield operator_row("… with webhooks", [*alone, *webhooks], env, runs)


def main(runs: int) -> None:
    binaries = find_or_build(needed(nodes=False), PlainReporter())
    with tempfile.TemporaryDirectory() as made, running(Path(made, "cluster"), binaries) as cluster:
        cluster.kubectl("apply", "--server-side", "-f", str(CRDS))
        cluster.until_established()
        cluster.kubectl("create", "namespace", "hibernator-system")
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
