"""The inside of a bounded child process: limits, and one line of JSON for another.

The limits count what is used here and not what the clock says or the machine has left, so that the same
input is not refused on one machine and accepted on another.
"""

import contextlib
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]

_MEMORY: Final = 2**28  # bytes that a question may take; half of what the operator's container has
_BEHIND: Final = 10  # niceness: the operator goes first


def run(answer: Answer) -> None:
    """Answer until no one asks any more. Import what is needed before, so that it counts for no question."""
    _limit_memory()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_BEHIND)
    # Native code writes to the standard streams when it likes; what it says there is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    answers.write(b"{}\n")  # ready
    answers.flush()
    for line in sys.stdin.buffer:
        question = json.loads(line)
        _limit_time(question["seconds"])
        answers.write(json.dumps(answer(question)).encode() + b"\n")
        answers.flush()


def _limit_time(seconds: int) -> None:
    """End this process by SIGXCPU when it has worked on one question for so long."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + seconds, most))


def _limit_memory() -> None:
    """Count from what is taken by now: Rego's allocator has reserved 256 GiB for an almost empty table.

    A limit below that would let nothing grow at all, and this process would end as soon as anything has to.
    """
    with contextlib.suppress(FileNotFoundError):  # only Linux tells, and only there the operator is shipped
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
