"""Fewer replicas are wanted, but the old number is kept a little longer: reconcile step 5 and ruling 20.

One step decides, for the controller from what its status says, and for timelines folded over all that is
wanted; so what is simulated is what will happen.
"""

from bisect import bisect_right
from typing import NamedTuple

from whenever import Instant

from hibernator.schedule.spans import Steps
from hibernator.schedule.ticks import SECOND, from_instant, to_instant
from hibernator.schedule.verdicts import Reason, Verdict


class Graced(NamedTuple):
    """The replicas to run now and, while more are kept than are wanted, until when."""

    effective: int
    expiry: Instant | None


def apply_grace(
    wanted: int, effective: int | None, expiry: Instant | None, grace_seconds: int, now: Instant
) -> Graced:
    """What to run now, from what is wanted now and what the status says of the last look."""
    replicas, until = _step(
        wanted,
        wanted if effective is None else effective,
        None if expiry is None else from_instant(expiry),
        grace_seconds * SECOND,
        from_instant(now),
    )
    return Graced(replicas, None if until is None else to_instant(until))


def with_grace(steps: Steps[Verdict[int]], settled: int, grace: int) -> Steps[Verdict[int]]:
    """What is run, from what is wanted, beginning with a step in which no grace is in progress."""
    starts: list[int] = []
    values: list[Verdict[int]] = []
    ends = [*steps.starts[settled + 1 :], steps.end]
    effective, expiry = steps.values[settled].value, None
    for start, end, wanted in zip(steps.starts[settled:], ends, steps.values[settled:], strict=True):
        effective, expiry = _step(wanted.value, effective, expiry, grace, start)
        if expiry is None:
            starts.append(start)
            values.append(wanted)
            continue
        kept = Verdict(effective, Reason.GRACE_PERIOD, wanted.source)
        if values[-1] != kept:
            starts.append(start)
            values.append(kept)
        if expiry < end:
            starts.append(expiry)
            values.append(wanted)
            effective, expiry = wanted.value, None
    return Steps(starts, values, steps.end)


def settled_step(steps: Steps[Verdict[int]], before: int, grace: int, most: int) -> int | None:
    """The last step from which to begin so that all from `before` on is right.

    Nothing is kept above the most that is ever wanted, and no grace outlasts a step longer than itself. (One
    that ends together with the step goes over to the next step's value without ever taking this one's.)
    """
    end = before
    for i in reversed(range(bisect_right(steps.starts, before))):
        start = steps.starts[i]
        if steps.values[i].value == most or end - start > grace:
            return i
        end = start
    return None


def _step(wanted: int, effective: int, expiry: int | None, grace: int, now: int) -> tuple[int, int | None]:
    if wanted >= effective or grace <= 0:
        return wanted, None
    if expiry is None:
        expiry = now + grace
    return (effective, expiry) if now < expiry else (wanted, None)
