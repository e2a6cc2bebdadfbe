"""The pages of the documentation as the blocks of code in them, and a shell to type them into."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from hibernator.kube import clustertime
from support.clock import ManualClock
from support.cluster import ClusterInTest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(?P<words>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str  # from the root of the repository
    line: int
    language: str
    name: str  # of a file, or of who types it
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str | Path, *languages: str) -> list[Block]:
    """What is fenced in a page, from top to bottom."""
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    found = []
    for fence in FENCE.finditer(text):
        language, _, name = fence["words"].partition(" ")
        if not languages or language in languages:
            line = text.count("\n", 0, fence.start()) + 1
            found.append(Block(str(path.relative_to(ROOT)), line, language, name, fence["text"]))
    return found


@dataclass(frozen=True)
class Shell:
    """A terminal in a folder, for each person with a kubeconfig of their own, at the time of a clock."""

    plane: ClusterInTest
    folder: Path
    clock: ManualClock | None = None
    more: Mapping[str, str] = field(default_factory=dict)  # of the environment

    def type(self, commands: str, *, by: str = "") -> str:
        """Run commands as a script that ends at the first mistake; what was printed."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", commands],
            cwd=self.folder,
            env=self._settings(by),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}{done.stderr}"
        return done.stdout

    def follow(self, command: str) -> str:
        """The first line that a command prints which goes on until Ctrl-C."""
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._settings(""),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            assert process.stdout
            line = process.stdout.readline()
            os.killpg(process.pid, signal.SIGINT)
            process.stdout.read()
        return line

    def _settings(self, user: str) -> dict[str, str]:
        kubectl = Path(self.plane.state.kubectl).parent
        return dict(os.environ) | {
            "KUBECONFIG": str(self._kubeconfig(user)),
            "HOME": str(self.folder),
            "PATH": f"{Path(sys.executable).parent}:{self.folder}:{kubectl}:{os.environ['PATH']}",
            "COLUMNS": "80",
            "NO_COLOR": "1",
            **self.more,
        }

    def _kubeconfig(self, user: str) -> Path:
        document = yaml.safe_load(self.plane.kubeconfig.read_text("utf-8"))
        if user:
            document["users"][0]["user"] |= {"as": user, "as-groups": ["system:authenticated"]}
        path = self.folder / f"home of {user or 'an admin'}" / "kubeconfig"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(document), "utf-8")
        if self.clock:
            clustertime.publish(path, self.clock.now(), speed=0)
        return path
