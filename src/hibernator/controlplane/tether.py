"""Runs a command that the kernel kills when the process that started it ends, however that ends.

A script and not a function between fork and exec: nothing of Python runs in a half-made process, and the
starter may have threads. It must be started from the starter's main thread, because the kernel takes the
thread for the parent. Where there is no prctl the command runs untethered.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def tethered(command: Sequence[str]) -> list[str]:
    """The command line that runs `command` on a tether to the calling process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def _main(starter: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != starter:  # it ended before the tether was tied
        sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606 -- becoming the command is the purpose
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])
