"""Builds the Go tools that tests need besides a control plane: helm for the chart, and a real Prometheus.

As the binaries of the control plane: from pinned modules, once per machine, outside every checkout.
`python -m tools.gotools` builds what is missing, and takes the CRDs of others out of their modules, so that
what the project hands to them is held against what they really read.
"""

import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hibernator.controlplane import caches
from hibernator.controlplane.build import build_module, fetch
from hibernator.controlplane.golang import Go, go_for_building
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


@dataclass(frozen=True, slots=True)
class Definitions:
    """CRDs that a module carries as files, and the name under which they are kept."""

    name: str
    module: Module
    files: tuple[str, ...]


MONITORING: Final = Definitions(
    "monitoring",
    Module("github.com/prometheus-operator/prometheus-operator", "v0.85.0", {}),
    tuple(
        f"example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
        for plural in ("servicemonitors", "prometheusrules")
    ),
)
ARGO_CD: Final = Definitions(
    "argo-cd",
    Module("github.com/argoproj/argo-cd/v3", "v3.5.6", {}),
    ("manifests/crds/application-crd.yaml",),
)
# The two versions that Flux 2.9.5 is made of: the guide promises what the first of them can do from 2.9 on.
FLUX_KUSTOMIZE: Final = Definitions(
    "flux-kustomize",
    Module("github.com/fluxcd/kustomize-controller", "v1.9.5", {}),
    ("config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml",),
)
FLUX_HELM: Final = Definitions(
    "flux-helm",
    Module("github.com/fluxcd/helm-controller", "v1.6.4", {}),
    ("config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml",),
)
DEFINITIONS: Final = (MONITORING, ARGO_CD, FLUX_KUSTOMIZE, FLUX_HELM)

_CRDS: Final = "crds.yaml"


def tool(name: str, reporter: Reporter | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the tool is, built if it is not there yet; who comes second waits for the first."""
    module = next(module for module in MODULES if name in module.packages)
    machine = f"{platform.system().lower()}_{platform.machine()}"

    def build(go: Go, work: Path, folder: Path) -> None:
        build_module(go, module, frozenset([name]), work, folder, reporter or PlainReporter())

    return _once(f"{name}-{module.version}_{machine}", name, build, reporter or PlainReporter(), environment)


def crds(
    wanted: Definitions, reporter: Reporter | None = None, environment: Mapping[str, str] = os.environ
) -> Path:
    """One file with these definitions, as their project publishes them."""
    module, said = wanted.module, reporter or PlainReporter()

    def take(go: Go, work: Path, folder: Path) -> None:
        with said.step(f"Fetching {module.path} {module.version}") as step:
            source = Path(fetch(go, module, work, step).directory)
        texts = [(source / file).read_text("utf-8") for file in wanted.files]
        (work / _CRDS).write_text("\n---\n".join(texts), encoding="utf-8")
        (work / _CRDS).replace(folder / _CRDS)

    return _once(f"{wanted.name}-crds-{module.version}", _CRDS, take, said, environment)


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
    for wanted in DEFINITIONS:
        crds(wanted)
    for module in MODULES:
        for name in module.packages:
            tool(name)


if __name__ == "__main__":
    main()
