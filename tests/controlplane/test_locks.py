"""A lock says the truth about its holder, also when its file is removed while others look at it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from hibernator.controlplane.locks import FileLock, is_held, wait_until_free

HOLDER = """
import sys, signal
from pathlib import Path
from hibernator.controlplane.locks import FileLock
FileLock(Path(sys.argv[1])).acquire(wait=True) and print("held", flush=True)
signal.pause()
"""


def test_a_lock_is_held_until_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock(path)
    assert lock.acquire(wait=False)
    assert is_held(path)
    assert not FileLock(path).acquire(wait=False)
    lock.release()
    assert not is_held(path)
    assert FileLock(path).acquire(wait=False)


def test_asking_makes_no_file(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "lock")
    wait_until_free(tmp_path / "lock")
    assert list(tmp_path.iterdir()) == []


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_held(path)
        os.kill(holder.pid, signal.SIGKILL)
        wait_until_free(path)
    assert not is_held(path)


def test_who_locks_a_file_that_is_gone_locks_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    former = FileLock(path)
    former.acquire(wait=False)
    path.unlink()
    with FileLock(path):
        former.release()
        assert is_held(path)
