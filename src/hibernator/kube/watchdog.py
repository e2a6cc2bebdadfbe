"""Ends the process when its leadership is over and the event loop did not notice.

An event loop that is blocked, or that was frozen together with its process, cannot see that its lease ran
out. A thread can. It ends the process the hard way, because nothing in it can be trusted to let go in time.

A call into C that keeps Python's global lock holds this thread up as well. Then nothing else runs either, and
once it returns, every write asks for its permission first and is refused.
"""

import faulthandler
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hibernator.kube.clock import steady

# The exit status of a process that ended because it no longer led; "temporary failure" of sysexits.h.
LEASE_LOST: Final = 75

# How long a suspended machine's thread may stay asleep after it wakes up, because its timers stood still.
_LONGEST_NAP: Final = 0.5


class Watchdog:
    """Watches from `start` to `stop` that the moment told by `over_at` is not reached."""

    def __init__(self, over_at: Callable[[], float]) -> None:
        self._over_at = over_at
        self._off = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lease-watchdog", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._off.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while (remaining := self._over_at() - steady()) > 0:
            if self._off.wait(min(remaining, _LONGEST_NAP)):
                return
        if not self._off.is_set():
            _end_process()


def _end_process() -> None:
    """Say what every thread was doing, in case that is what blocked the event loop, and be gone."""
    os.set_blocking(2, False)  # nobody may be reading what is written there
    with suppress(OSError):
        os.write(2, b"hibernator: the lease ran out while the process was blocked or frozen; it ends here.\n")
        faulthandler.dump_traceback(file=2)
    os._exit(LEASE_LOST)
