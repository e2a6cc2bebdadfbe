"""How long to wait before trying again, the same for everything that talks to the API server."""

import random

_DOUBLINGS = 30  # more would only overflow


def backoff(failures: int, *, first: float = 0.1, longest: float = 30.0) -> float:
    """Seconds to wait after so many failures in a row: doubling, spread so that peers fall out of step."""
    return min(longest, first * 2.0 ** min(failures, _DOUBLINGS)) * random.uniform(0.5, 1.0)
