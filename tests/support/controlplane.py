"""`hibernator controlplane` in processes of its own: on real binaries, or with a stand-in for Go."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hibernator.controlplane import caches
from support import fake_go

Up = Callable[..., subprocess.Popen[str]]


@dataclass(frozen=True, slots=True)
class Command:
    """`hibernator controlplane` in one environment."""

    environment: Mapping[str, str]

    def line(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "hibernator.cli.main", "controlplane", *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where a stand-in for Go builds, and what it was asked to do."""

    folder: Path
    environment: dict[str, str]

    @property
    def bin(self) -> Path:
        return caches.versions_folder(self.environment) / "bin"

    def order(self, binary: str, what: str) -> None:
        (self.folder / "orders" / binary).write_text(what, encoding="utf-8")

    def fifo(self, binary: str) -> Path:
        path = self.folder / "orders" / f"{binary}.fifo"
        os.mkfifo(path)
        return path

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "log").read_text(encoding="utf-8").splitlines()]

    def built(self) -> list[str]:
        """The binaries that it was asked to build, in that order."""
        return [
            Path(call["arguments"][call["arguments"].index("-o") + 1]).name
            for call in self.calls()
            if call["arguments"][0] == "build"
        ]


def install_fake_go(path: Path) -> None:
    source = Path(fake_go.__file__).read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    path.chmod(0o755)


def processes_in(directory: Path) -> list[str]:
    """The command names of all processes that work in a directory, also in one that was removed."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str((process / "cwd").readlink()).removesuffix(" (deleted)") == str(directory):
                found.append((process / "comm").read_text(encoding="utf-8").strip())
        except OSError:  # it has ended, or it is not ours
            continue
    return sorted(found)
