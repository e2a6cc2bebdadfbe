"""How much a piece of code computes, counted in lines of Python that run, so that no other work disturbs it.

What a library does in C is not counted: a regular expression that backtracks without end is what the
time-out of every test is for.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def at_most(lines: int) -> Iterator[None]:
    """Fail where the block runs more lines of Python than this."""
    ran = 0

    def trace(_frame: FrameType, event: str, _value: Any) -> Any:
        nonlocal ran
        ran += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
    assert ran <= lines, f"{ran:,} lines of Python ran, and {lines:,} are enough"
