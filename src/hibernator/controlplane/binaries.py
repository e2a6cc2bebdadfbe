"""Finds the binaries of a control plane: in KUBEBUILDER_ASSETS, on PATH, in the cache, or by building them.

A place counts only if it has all that is wanted, new enough and of one Kubernetes minor version: a lone old
kubectl on PATH must not meet an API server that it does not know.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hibernator.controlplane import caches
from hibernator.controlplane.build import build
from hibernator.controlplane.components import ETCD, KUBECTL, KWOK
from hibernator.controlplane.errors import FetchError
from hibernator.controlplane.progress import Reporter
from hibernator.controlplane.versions import MODULES, OLDEST_ETCD, OLDEST_KUBERNETES, STAGES

_VERSION_DEADLINE = 60  # seconds


@dataclass(frozen=True, slots=True)
class Binaries:
    """Where each binary is, and the configuration of kwok if it is among them."""

    paths: Mapping[str, Path]
    stages: Path | None = None

    @property
    def folder(self) -> Path | None:
        """The one folder that has them all, if there is one."""
        folders = {path.parent for path in self.paths.values()}
        return folders.pop() if len(folders) == 1 else None


@dataclass(frozen=True, slots=True)
class Search:
    """What was found, and why places that came before it were passed over."""

    found: Binaries | None
    passed_over: tuple[str, ...] = ()


def find(names: Collection[str], environment: Mapping[str, str] = os.environ) -> Search:
    """Look in all places in their order, without building anything."""
    passed_over = []
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        folder = Path(assets).absolute()
        paths = {name: folder / name for name in names if os.access(folder / name, os.X_OK)}
        if not (unfit := _unfit(names, paths)):
            return Search(Binaries(paths))
        passed_over.append(f"KUBEBUILDER_ASSETS={assets} is passed over: {unfit}.")
    on_path = {name: shutil.which(name, path=environment.get("PATH", "")) for name in names}
    paths = {name: Path(path).absolute() for name, path in on_path.items() if path}
    if not (unfit := _unfit(names, paths)):
        return Search(Binaries(paths), tuple(passed_over))
    if len(paths) == len(names):  # someone put them there; most people have none or a lone kubectl
        passed_over.append(f"What is on PATH is passed over: {unfit}.")
    built = caches.versions_folder(environment) / "bin"
    paths = {name: built / name for name in names if (built / name).exists()}
    return Search(Binaries(paths) if len(paths) == len(names) else None, tuple(passed_over))


def find_or_build(
    names: Collection[str], reporter: Reporter, environment: Mapping[str, str] = os.environ
) -> Binaries:
    """The first place that has them all; where none has, build what the cache lacks."""
    search = find(names, environment)
    for reason in search.passed_over:
        reporter.note(reason)
    binaries = search.found
    if binaries is None:
        folder = build(names, reporter, environment)
        binaries = Binaries({name: folder / name for name in names})
    if KWOK in names:
        return replace(binaries, stages=_stages(binaries.paths[KWOK], reporter, environment))
    return binaries


def _stages(kwok: Path, reporter: Reporter, environment: Mapping[str, str]) -> Path:
    """Next to kwok, in the cache, or from kwok's own module."""
    beside = kwok.with_name(STAGES)
    if beside.exists():
        return beside
    try:
        return build([STAGES], reporter, environment) / STAGES
    except FetchError as error:
        module = next(module for module in MODULES if module.stages)
        raise FetchError(
            str(error),
            hint=f"{error.hint}\nTo make {beside} by hand, join the YAML files of {', '.join(module.stages)} "
            f"of {module.path} {module.version}, with a line of --- between any two.",
        ) from None


def _unfit(names: Collection[str], paths: Mapping[str, Path]) -> str:
    """Why these binaries cannot be used together; nothing if they can."""
    if lacking := [name for name in names if name not in paths]:
        return f"it has no {', '.join(lacking)}"
    versions = {}
    for name, path in paths.items():
        version = _version(name, path)
        if version is None:
            return f"{path} does not report its version"
        if name == KWOK:
            continue
        oldest = OLDEST_ETCD if name == ETCD else OLDEST_KUBERNETES
        if version < oldest:
            return f"{path} is version {_dotted(version)}, and {_dotted(oldest)} is the oldest that will do"
        versions[name] = version
    kubernetes = {name: version for name, version in versions.items() if name != ETCD}
    if len(set(kubernetes.values())) > 1:
        found_versions = ", ".join(f"{name} {_dotted(version)}" for name, version in kubernetes.items())
        return f"its Kubernetes versions differ ({found_versions})"
    return ""


def _version(name: str, path: Path) -> tuple[int, int] | None:
    arguments = ["version", "--client"] if name == KUBECTL else ["--version"]
    try:
        done = subprocess.run(  # noqa: S603 -- one of the names above
            [path, *arguments], capture_output=True, text=True, check=False, timeout=_VERSION_DEADLINE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    numbers = re.search(r"(\d+)\.(\d+)\.\d+", done.stdout)
    return (int(numbers[1]), int(numbers[2])) if numbers and done.returncode == 0 else None


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
