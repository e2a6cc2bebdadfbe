"""File locks that the kernel lets go of when their holder dies, however it dies.

Whether a control plane is alive is asked of a lock and never of a process id, because ids are reused and
files that hold them survive a SIGKILL.
"""

import fcntl
import os
from pathlib import Path
from typing import Self


class FileLock:
    """An exclusive lock on a file that may be removed and made again while others wait for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, *, wait: bool) -> bool:
        """Take the lock; without `wait`, say at once whether that worked."""
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return False
            except BaseException:
                os.close(fd)
                raise
            if self._still_names(fd):
                self._fd = fd
                return True
            os.close(fd)

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        self.acquire(wait=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _still_names(self, fd: int) -> bool:
        """Whether the path still leads to the file that was locked: its former holder may have removed it."""
        try:
            return os.path.samestat(os.fstat(fd), self._path.stat())
        except FileNotFoundError:
            return False


def is_held(path: Path) -> bool:
    """Whether anyone holds the lock; a missing file is held by no one, and none is made by asking."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def wait_until_free(path: Path) -> None:
    """Return when no one holds the lock; a signal handler may end the waiting by raising."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)
