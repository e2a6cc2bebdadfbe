"""Builds the Go tools that tests need besides a control plane: helm for the chart, and a real Prometheus.

As the binaries of the control plane: from pinned modules, once per machine, outside every checkout.
`python -m tools.gotools` builds what is missing.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hibernator.controlplane import caches
from hibernator.controlplane.build import build_module
from hibernator.controlplane.golang import go_for_building
from hibernator.controlplane.locks import FileLock
from hibernator.controlplane.progress import PlainReporter, Reporter
from hibernator.controlplane.versions import Module

HELM: Final = "helm"
PROMETHEUS: Final = "prometheus"

MODULES: Final = (
    Module("helm.sh/helm/v4", "v4.3.1", {HELM: "helm.sh/helm/v4/cmd/helm"}),
    Module(
        "github.com/prometheus/prometheus",
        "v0.313.5",
        {PROMETHEUS: "github.com/prometheus/prometheus/cmd/prometheus"},
        tags=("remove_all_sd",),  # without the clients of every cloud, which take longer than the rest
    ),
)


def tool(name: str, reporter: Reporter | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the tool is, built if it is not there yet; who comes second waits for the first."""
    module = next(module for module in MODULES if name in module.packages)
    machine = f"{platform.system().lower()}_{platform.machine()}"
    folder = caches.root(environment) / "tools" / f"{name}-{module.version}_{machine}"
    if (folder / name).exists():
        return folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "build.lock"):
        if not (folder / name).exists():
            _build(module, name, folder, reporter or PlainReporter(), environment)
    return folder / name


def _build(
    module: Module, name: str, folder: Path, reporter: Reporter, environment: Mapping[str, str]
) -> None:
    for leftover in folder.glob("work-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="work-") as work:
        go = go_for_building(environment, Path(work), reporter)
        build_module(go, module, frozenset([name]), Path(work), folder, reporter)


def main() -> None:
    for module in MODULES:
        for name in module.packages:
            tool(name)


if __name__ == "__main__":
    main()
