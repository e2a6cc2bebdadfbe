"""How long to wait before trying again, the same for everything that talks to a server."""

import random

_DOUBLINGS = 30  # more would only overflow


def backoff(
    failures: int, *, first: float = 0.1, longest: float = 30.0, at_least: float | None = None
) -> float:
    """Seconds to wait after so many failures in a row: doubling, spread so that peers fall out of step.

    `at_least` is what the server asked for. Those sent away in the same moment come back spread, too.
    """
    wait = min(longest, first * 2.0 ** min(failures, _DOUBLINGS)) * random.uniform(0.5, 1.0)
    return max(wait, (at_least or 0.0) * random.uniform(1.0, 1.2))


def asked_to_wait(header: str) -> float | None:
    """The seconds in a Retry-After header; None where it has none. A date in it counts as none."""
    return float(header) if header.isdecimal() else None
