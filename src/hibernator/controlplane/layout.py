"""Where things lie in the directory of one control plane."""

import contextlib
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from hibernator.controlplane.errors import ControlPlaneError
from hibernator.controlplane.locks import FileLock


@dataclass(frozen=True, slots=True)
class Layout:
    root: Path

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.root / "supervisor.lock"

    @property
    def stop(self) -> Path:
        """A FIFO: whatever is written to it stops the control plane."""
        return self.root / "stop"

    @property
    def state(self) -> Path:
        """Written once everything answers; what it says is true only while the lock is held."""
        return self.root / "state.json"

    @property
    def failure(self) -> Path:
        """Why a control plane that was up has ended by itself."""
        return self.root / "failure.json"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def audit(self) -> Path:
        return self.logs / "audit.jsonl"

    @property
    def audit_policy(self) -> Path:
        return self.root / "audit-policy.yaml"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.log"

    def cert(self, name: str) -> Path:
        return self.root / "pki" / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.root / "pki" / f"{name}.key"


def claim(layout: Layout) -> FileLock:
    """Make the directory or take over a stale one; refuse one that is in use or that is not ours."""
    lock = FileLock(layout.lock)
    while True:
        layout.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not layout.lock.exists() and any(layout.root.iterdir()):
            raise ControlPlaneError(
                f"{layout.root} holds files that are not of a control plane.",
                hint="Name a directory that is empty or does not exist yet: it is removed at the end.",
            )
        with contextlib.suppress(FileNotFoundError):  # a former owner has just removed the directory
            if not _acquire_soon(lock):
                raise ControlPlaneError(
                    f"A control plane is already up in {layout.root}.",
                    hint="Use it, stop it with `hibernator controlplane down`, or name another --dir.",
                )
            _clear(layout)
            layout.root.chmod(0o700)
            os.mkfifo(layout.stop, 0o600)
            return lock


def _acquire_soon(lock: FileLock) -> bool:
    """A process that checks whether the lock is held, or clears up, holds it for a moment."""
    for _ in range(50):
        if lock.acquire(wait=False):
            return True
        time.sleep(0.02)
    return False


def remove(layout: Layout) -> None:
    """Remove the directory; the caller holds its lock."""
    _clear(layout)
    layout.lock.unlink()
    with contextlib.suppress(OSError):  # not empty: another supervisor has just moved in
        layout.root.rmdir()


def remove_if_stale(layout: Layout) -> bool:
    """Remove what a killed supervisor left; False if there is nothing or its supervisor lives."""
    if not layout.lock.exists():
        return False
    lock = FileLock(layout.lock)
    with contextlib.suppress(FileNotFoundError):
        if lock.acquire(wait=False):
            remove(layout)
            lock.release()
            return True
    return False


def _clear(layout: Layout) -> None:
    for entry in layout.root.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != layout.lock:
            entry.unlink()
