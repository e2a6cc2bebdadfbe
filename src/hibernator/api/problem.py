"""How a user's mistake is reported: where it is, what stands there, and what to write instead."""

from typing import Any, NamedTuple


class Problem(NamedTuple):
    path: str  # as in kubectl: spec.windows[0].start
    value: Any  # what was found there
    message: str  # what is wrong with it
    fix: str  # what to write instead, as an order: "Write the time as HH:MM, for example 20:00."
