"""Programs of others that tests run against, from npm: installed once per machine, by a lock with hashes."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hibernator.controlplane import caches
from hibernator.controlplane.locks import FileLock

PEERS = Path(__file__).parents[1] / "peers"
_PARTS = ("package.json", "package-lock.json", ".npmrc")


def peers_folder() -> Path:
    """The folder with `node_modules` of exactly this lock."""
    version = hashlib.sha256((PEERS / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = caches.root().parent / "peers" / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f"{version}.lock"):
        if not (folder / "node_modules").exists():
            _install(folder)
    return folder


def _install(folder: Path) -> None:
    if not shutil.which("npm"):
        raise SystemExit("tests of the web process need Node.js with npm: install them, for example by apt.")
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    for part in _PARTS:
        shutil.copy(PEERS / part, making)
    subprocess.run(["npm", "ci", "--ignore-scripts"], cwd=making, check=True, capture_output=True)
    making.rename(folder)


@contextmanager
def running_peer(script: str, *arguments: str) -> Iterator[str]:
    """Run a script of `tests/peers`; what it prints first is where it listens."""
    text = (PEERS / script).read_bytes()
    # Node looks for modules beside the script, and other checkouts may have another version of it.
    source = peers_folder() / f"{hashlib.sha256(text).hexdigest()[:16]}-{script}"
    source.write_bytes(text)
    with subprocess.Popen(
        ["node", str(source), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(10)


@pytest.fixture(scope="session")
def oidc_peer() -> Iterator[str]:
    """The issuer of npm's oidc-provider: the same for all tests of a worker."""
    with running_peer("oidc.mjs") as issuer:
        yield issuer


def _have_chromium() -> None:
    """A browser, from Debian's packages where this machine has none and we may install it."""
    if shutil.which("chromium"):
        return
    if os.geteuid() or not shutil.which("apt-get"):
        raise SystemExit("tests of the pages need Chromium: apt-get install chromium, or `chromium` on PATH.")
    sys.stderr.write("Installing chromium with apt-get ...\n")
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *command], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    peers_folder()
    _have_chromium()
