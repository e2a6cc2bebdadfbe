"""Fewer replicas are wanted, but the old number is kept a little longer: reconcile step 5 and ruling 20."""

from typing import NamedTuple

from whenever import Instant

from hibernator.schedule.ticks import SECOND, from_instant, to_instant


class Graced(NamedTuple):
    """The replicas to run now and, while more are kept than are wanted, until when."""

    effective: int
    expiry: Instant | None


def apply_grace(
    wanted: int, effective: int | None, expiry: Instant | None, grace_seconds: int, now: Instant
) -> Graced:
    """What to run now, from what is wanted now and what the status says of the last look."""
    replicas, until = grace_step(
        wanted,
        wanted if effective is None else effective,
        None if expiry is None else from_instant(expiry),
        grace_seconds * SECOND,
        from_instant(now),
    )
    return Graced(replicas, None if until is None else to_instant(until))


def grace_step(
    wanted: int, effective: int, expiry: int | None, grace: int, now: int
) -> tuple[int, int | None]:
    if wanted >= effective or grace <= 0:
        return wanted, None
    if expiry is None:
        expiry = now + grace
    return (effective, expiry) if now < expiry else (wanted, None)
