"""Fetching a Go module with all that it needs, and the small go.mod from which its commands can be built.

`go install module@version` would do, were it not that Kubernetes replaces modules by folders of its own tree,
which Go forbids there.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from hibernator.controlplane.errors import FetchError
from hibernator.controlplane.golang import Go, GoError
from hibernator.controlplane.progress import Step
from hibernator.controlplane.versions import Module


class Source(msgspec.Struct, frozen=True):
    """Where a module lies in Go's module cache."""

    directory: str = msgspec.field(name="Dir")
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
    go: Go, module: Module, source: Source, packages: Mapping[str, str], work: Path, step: Step
) -> dict[str, int]:
    """Write go.mod, download what the packages import, and return how many packages each takes to build."""
    theirs = msgspec.json.decode(go.run("mod", "edit", "-json", source.go_mod, cwd=work), type=_GoMod)
    (work / "go.mod").write_text(_go_mod(module, theirs), encoding="utf-8")
    listing = ("list", "-deps", *module.tag_flags)
    return {
        name: len(_fetching(go, module, step, *listing, package, cwd=work).splitlines())
        for name, package in packages.items()
    }


def _go_mod(module: Module, theirs: _GoMod) -> str:
    """Require the module, and give what it replaces by its own folders the versions published with it.

    Kubernetes requires its staging modules as v0.0.0, and publishes those of v1.36.3 as v0.36.3.
    """
    local = {replaced.old.path for replaced in theirs.replace or () if replaced.new.path.startswith("./")}
    published = module.version.replace("v1.", "v0.", 1)
    staging = [required.path for required in theirs.require or () if required.path in local]
    lines = [
        "module hibernator.invalid/controlplane",
        f"go {theirs.go}",
        f"require {module.path} {module.version}",
        *(f"replace {path} => {path} {published}" for path in staging),
    ]
    return "\n".join(lines) + "\n"


def _fetching(go: Go, module: Module, step: Step, *arguments: str, cwd: Path) -> str:
    def heard(line: str) -> None:
        if line.startswith("go: downloading "):
            step.detail(line.removeprefix("go: "))

    try:
        return go.run(*arguments, cwd=cwd, on_line=heard)
    except GoError as error:
        raise FetchError(f"{module.path} {module.version} could not be fetched: {_cause(error)}") from None


def _cause(error: GoError) -> str:
    """The last line, or what `-json` wrapped it in."""
    try:
        return msgspec.json.decode(str(error), type=_Refusal).error
    except msgspec.DecodeError:
        return str(error).splitlines()[-1]
