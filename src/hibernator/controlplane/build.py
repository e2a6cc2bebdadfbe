"""Builds the binaries of a control plane from pinned Go modules, once per machine.

What is finished is renamed into place in one go, so a killed build leaves whole binaries and a later one
does the rest; who comes second waits for the first and then finds the work done.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from hibernator.controlplane import caches
from hibernator.controlplane.errors import ControlPlaneError, FetchError
from hibernator.controlplane.golang import Go, GoError, go_for_building
from hibernator.controlplane.locks import FileLock
from hibernator.controlplane.progress import Reporter, Step
from hibernator.controlplane.versions import MODULES, STAGES, Module


class Source(msgspec.Struct, frozen=True):
    """Where a module lies in Go's module cache."""

    directory: str = msgspec.field(name="Dir")


class _Described(msgspec.Struct, frozen=True):
    """Where the go.mod of a module lies; the module itself need not be there."""

    go_mod: str = msgspec.field(name="GoMod")


class _Path(msgspec.Struct, frozen=True, rename="pascal"):
    path: str


class _Replacement(msgspec.Struct, frozen=True, rename="pascal"):
    old: _Path
    new: _Path


class _GoMod(msgspec.Struct, frozen=True, rename="pascal"):
    go: str
    require: list[_Path] | None = None
    replace: list[_Replacement] | None = None


class _Refusal(msgspec.Struct, frozen=True, rename="pascal"):
    error: str


def fetch(go: Go, module: Module, work: Path, step: Step) -> Source:
    """Download the module itself."""
    wanted = f"{module.path}@{module.version}"
    return msgspec.json.decode(
        _fetching(go, module, step, "mod", "download", "-json", wanted, cwd=work), type=Source
    )


def write_go_mod(
    go: Go, modules: Sequence[Module], module: Module, packages: Mapping[str, str], work: Path, step: Step
) -> dict[str, int]:
    """Write go.mod, download what the packages import, and return how many packages each takes to build."""
    theirs = []
    for one in modules:
        named = ("list", "-m", "-json", f"{one.path}@{one.version}")
        found = msgspec.json.decode(_fetching(go, one, step, *named, cwd=work), type=_Described)
        text = go.run("mod", "edit", "-json", found.go_mod, cwd=work)
        theirs.append(msgspec.json.decode(text, type=_GoMod))
    (work / "go.mod").write_text(_go_mod(modules, theirs), encoding="utf-8")
    listing = ("list", "-deps", *module.tag_flags)
    return {
        name: len(_fetching(go, module, step, *listing, package, cwd=work).splitlines())
        for name, package in packages.items()
    }


def _go_mod(modules: Sequence[Module], theirs: Sequence[_GoMod]) -> str:
    """Require the modules, and give what one replaces by its own folders the versions published with it.

    Kubernetes requires its staging modules as v0.0.0, and publishes those of v1.36.3 as v0.36.3. All modules
    stand in one file, so that they agree on versions and what one has compiled serves the others.
    """
    newest = max((one.go for one in theirs), key=lambda version: [int(part) for part in version.split(".")])
    lines = ["module hibernator.invalid/controlplane", f"go {newest}"]
    lines += [f"require {module.path} {module.version}" for module in modules]
    for module, their in zip(modules, theirs, strict=True):
        local = {replaced.old.path for replaced in their.replace or () if replaced.new.path.startswith("./")}
        published = module.version.replace("v1.", "v0.", 1)
        staging = [required.path for required in their.require or () if required.path in local]
        lines += [f"replace {path} => {path} {published}" for path in staging]
    return "\n".join(lines) + "\n"


def _fetching(go: Go, module: Module, step: Step, *arguments: str, cwd: Path) -> str:
    def show_line(line: str) -> None:
        if line.startswith("go: downloading "):
            step.detail(line.removeprefix("go: "))

    try:
        return go.run(*arguments, cwd=cwd, on_line=show_line)
    except GoError as error:
        raise FetchError(f"{module.path} {module.version} could not be fetched: {_cause(error)}") from None


def _cause(error: GoError) -> str:
    """The last line, or what `-json` wrapped it in."""
    try:
        return msgspec.json.decode(str(error), type=_Refusal).error
    except msgspec.DecodeError:
        return str(error).splitlines()[-1]


_NO_NETWORK = (
    "Without a network, set KUBEBUILDER_ASSETS to a folder that has {names}; "
    "or set GOPROXY, and PIP_INDEX_URL where Go is missing too, to mirrors that can be reached."
)


def build(names: Iterable[str], reporter: Reporter, environment: Mapping[str, str] = os.environ) -> Path:
    """Build what is missing of the named binaries (and of STAGES) and return the folder that has them."""
    wanted = frozenset(names)
    home = caches.versions_folder(environment)
    folder = home / "bin"
    if not _missing(wanted, folder):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / "build.lock")
    if not lock.acquire(wait=False):
        with reporter.step("Waiting for another process that builds the control plane"):
            lock.acquire(wait=True)
    try:
        _build(_missing(wanted, folder), folder, reporter, environment)
    except FetchError as error:
        raise FetchError(str(error), hint=_NO_NETWORK.format(names=", ".join(sorted(wanted)))) from None
    finally:
        lock.release()
    return folder


def _missing(wanted: frozenset[str], folder: Path) -> frozenset[str]:
    return frozenset(name for name in wanted if not (folder / name).exists())


def _build(missing: frozenset[str], folder: Path, reporter: Reporter, environment: Mapping[str, str]) -> None:
    if not missing:
        return
    for leftover in folder.parent.glob("work-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="work-") as work:
        go = go_for_building(environment, Path(work), reporter)
        for module in MODULES:
            if missing & {*module.packages, *([STAGES] if module.stages else [])}:
                build_module(go, module, missing, Path(work), folder, reporter, together=MODULES)


def build_module(
    go: Go,
    module: Module,
    missing: frozenset[str],
    work: Path,
    folder: Path,
    reporter: Reporter,
    *,
    together: Sequence[Module] = (),
) -> None:
    """Build what is missing of a module, with the versions on which it agrees with the others."""
    packages = {name: package for name, package in module.packages.items() if name in missing}
    with reporter.step(f"Fetching {module.path} {module.version}") as step:
        source = fetch(go, module, work, step)
        if module.stages and STAGES in missing:
            _join_stages(module, source, work / STAGES)
            (work / STAGES).replace(folder / STAGES)
        totals = write_go_mod(go, together or [module], module, packages, work, step)
    for name, package in packages.items():
        with reporter.step(f"Building {name} {module.version}") as step:
            _build_binary(go, module, package, work / name, step, totals[name])
            (work / name).replace(folder / name)


def _build_binary(go: Go, module: Module, package: str, target: Path, step: Step, total: int) -> None:
    compiled = 0

    def show_line(line: str) -> None:
        nonlocal compiled
        if line and " " not in line:  # `go build -v` names each package that it compiles
            compiled += 1
            step.count(min(compiled, total), total)
            step.detail(line)

    stamps = (f"-X {variable}={value}" for variable, value in module.variables.items())
    flags = " ".join(("-s", "-w", *stamps))
    step.detail("compiling")
    try:
        arguments = ("-v", *module.tag_flags, "-ldflags", flags, "-o", str(target), package)
        go.run("build", *arguments, cwd=target.parent, on_line=show_line)
    except GoError as error:
        raise ControlPlaneError(f"{target.name} could not be built.", hint=str(error)) from None


def _join_stages(module: Module, source: Source, target: Path) -> None:
    files = (
        file
        for folder in module.stages
        for file in sorted(Path(source.directory, folder).glob("*.yaml"))
        if file.name != "kustomization.yaml"
    )
    target.write_text("\n---\n".join(file.read_text(encoding="utf-8") for file in files), encoding="utf-8")
