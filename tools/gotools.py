"""Builds the Go tools that tests need besides a control plane: helm for the chart, and a real Prometheus.

As the binaries of the control plane: from pinned modules, once per machine, outside every checkout.
`python -m tools.gotools` builds what is missing, and takes CRDs out of the module of the Prometheus operator.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hibernator.controlplane import caches
from hibernator.controlplane.build import build_module
from hibernator.controlplane.golang import Go, go_for_building
from hibernator.controlplane.gomodule import fetch
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

_PROMETHEUS_OPERATOR: Final = Module("github.com/prometheus-operator/prometheus-operator", "v0.85.0", {})
_CRDS: Final = "crds.yaml"
_MONITORING: Final = ("servicemonitors", "prometheusrules")


def tool(name: str, reporter: Reporter | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the tool is, built if it is not there yet; who comes second waits for the first."""
    module = next(module for module in MODULES if name in module.packages)
    machine = f"{platform.system().lower()}_{platform.machine()}"

    def build(go: Go, work: Path, folder: Path) -> None:
        build_module(go, module, frozenset([name]), work, folder, reporter or PlainReporter())

    return _once(f"{name}-{module.version}_{machine}", name, build, reporter or PlainReporter(), environment)


def monitoring_crds(reporter: Reporter | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """The definitions of ServiceMonitor and PrometheusRule, as the Prometheus operator publishes them."""
    module, said = _PROMETHEUS_OPERATOR, reporter or PlainReporter()

    def take(go: Go, work: Path, folder: Path) -> None:
        with said.step(f"Fetching {module.path} {module.version}") as step:
            source = Path(fetch(go, module, work, step).directory) / "example" / "prometheus-operator-crd"
        texts = [
            (source / f"monitoring.coreos.com_{plural}.yaml").read_text("utf-8") for plural in _MONITORING
        ]
        (work / _CRDS).write_text("".join(texts), encoding="utf-8")
        (work / _CRDS).replace(folder / _CRDS)

    return _once(f"monitoring-crds-{module.version}", _CRDS, take, said, environment)


def _once(
    home: str,
    name: str,
    make: Callable[[Go, Path, Path], None],
    reporter: Reporter,
    environment: Mapping[str, str],
) -> Path:
    """The file of this name, made if it is not there yet."""
    folder = caches.root(environment) / "tools" / home
    if (folder / name).exists():
        return folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "build.lock"):
        for leftover in folder.glob("work-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if not (folder / name).exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix="work-") as work:
                make(go_for_building(environment, Path(work), reporter), Path(work), folder)
    return folder / name


def main() -> None:
    monitoring_crds()
    for module in MODULES:
        for name in module.packages:
            tool(name)


if __name__ == "__main__":
    main()
