"""Fewer replicas are wanted, but the old number is kept a little longer: reconcile step 5 and ruling 20.

One step decides, for the controller from what its status says, and for timelines folded over all that is
wanted; so what is simulated is what will happen.
"""

from typing import NamedTuple

from whenever import Instant

from hibernator.schedule.steps import Steps
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
    run: list[tuple[int, Verdict[int]]] = []
    ends = [*steps.starts[1:], steps.end]
    effective, expiry = steps.values[settled].value, None
    for start, end, wanted in zip(
        steps.starts[settled:], ends[settled:], steps.values[settled:], strict=True
    ):
        if wanted.value >= effective:  # the most common case, without the call
            effective, expiry = wanted.value, None
        else:
            effective, expiry = _step(wanted.value, effective, expiry, grace, start)
        if expiry is None:
            run.append((start, wanted))
            continue
        kept = Verdict(effective, Reason.GRACE_PERIOD, wanted.source)
        if not run or run[-1][1] != kept:
            run.append((start, kept))
        if expiry < end:
            run.append((expiry, wanted))
            effective, expiry = wanted.value, None
    return Steps([start for start, _ in run], [verdict for _, verdict in run], steps.end)


def settled_step(steps: Steps[Verdict[int]], before: int, grace: int, most: int) -> int | None:
    """The last step from which to begin so that all from `before` on is right.

    Nothing is kept above the most that is ever wanted, and no grace outlasts a step as long as itself.
    """
    ends = [*steps.starts[1:], steps.end]
    for i in reversed(range(len(steps.starts))):
        start = steps.starts[i]
        if start <= before and (steps.values[i].value == most or min(ends[i], before) - start >= grace):
            return i
    return None


def _step(wanted: int, effective: int, expiry: int | None, grace: int, now: int) -> tuple[int, int | None]:
    if wanted >= effective or grace <= 0:
        return wanted, None
    if expiry is None:
        expiry = now + grace
    return (effective, expiry) if now < expiry else (wanted, None)
