"""The first five minutes of the README, typed by a stranger into one shell, on a control plane of their own.

The stranger has the binaries already, which other tests build too, but a cache, home and folder of their own.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from hibernator.controlplane import caches
from hibernator.controlplane.binaries import find_or_build
from hibernator.controlplane.cluster import stop
from hibernator.controlplane.progress import PlainReporter
from hibernator.controlplane.versions import needed
from support.controlplane import processes_in
from support.pages import blocks

_LAST = "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n"  # also where a command fails


def test_what_the_readme_says_puts_a_deployment_to_sleep_and_wakes_it(tmp_path: Path) -> None:
    find_or_build(needed(nodes=True), PlainReporter())
    settings = dict(os.environ) | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "HIBERNATOR_CACHE": str(tmp_path / "cache"),
        "HIBERNATOR_LISTEN": "127.0.0.1:0",  # others may have the usual port
    }
    _lend_binaries(settings)
    up = caches.running_folder(settings)
    try:
        done = subprocess.run(
            ["bash", "-e", "-c", _script(tmp_path)],
            cwd=tmp_path,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    finally:
        stop(up)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^always-wake-\S+ +always +suspend +Active", done.stdout, re.MULTILINE), done.stdout
    assert "hibernateplan.created" in done.stdout
    assert processes_in(up) == []


def _lend_binaries(settings: dict[str, str]) -> None:
    theirs = caches.versions_folder(settings)
    theirs.parent.mkdir(parents=True)
    theirs.symlink_to(caches.versions_folder())


def _script(folder: Path) -> str:
    """The shell blocks of the section as one script; blocks with a name become files."""
    _make, *section = blocks("README.md", "sh")
    for file in blocks("README.md", "yaml"):
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return "".join([_LAST, *(block.text for block in section)])
