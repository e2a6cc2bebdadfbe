"""When a lease may be taken and how long it may be relied upon, as pure rules over local observations.

Two replicas must never both write. This is the argument:

1. A holder counts from the moment at which it *began* the last request that renewed the lease (`proven`).
   No one can have seen that renewal earlier.
2. A candidate counts from the moment at which it *had received* the lease as it is now (`since`). It takes it
   only after it stayed the same for the whole `duration`, by a write that fails if it changed meanwhile. So
   it leads at `since + duration` at the earliest, and `proven <= since`.
3. A holder starts no write from `proven + renew_deadline` on, and gives each one at most until
   `proven + duration - margin`. Its last write ends before the next holder begins.

Clocks are compared nowhere: each side only measures how long something lasted, so that clocks may differ at
will and need only run at about the same speed, for which there is the margin. The times inside the Lease are
there for people.

A lease that is *gone* is no free lease: someone may have deleted it under a holder that relies on it. To see
it gone twice proves nothing about the time between. So a candidate makes a *vacancy*: a Lease without holder
but with a duration, which must stay untouched for that long before anyone takes it. The former holder, if it
still relies on its lease, takes it back at its next renewal, and nothing happens. A Lease with neither holder
nor duration is free at once: that is what a release leaves behind, and what an installation ships so that the
first start need not wait.

What remains is a write that was on its way when its sender was frozen, or that a network held back longer
than its deadline. No lease can call that back. It is why every write carries a precondition, which the next
holder's first write to the same object makes fail.
"""

import math
from dataclasses import dataclass
from typing import Any

from whenever import Instant

from hibernator.api.core import Lease, MicroTime, micro_time
from hibernator.kube.store import order


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a lease lasts, for how long its holder relies on it, and how often it is renewed."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < 2 * self.retry < self.renew_deadline < self.duration:
            raise ValueError(
                f"the lease's times are duration={self.duration}, renew_deadline={self.renew_deadline} and "
                f"retry={self.retry}; the duration must be the longest, and the deadline must leave room for "
                "two retries: use 15, 10 and 2 seconds"
            )

    @property
    def margin(self) -> float:
        """What is kept back for clocks that run at slightly different speed and for late wake-ups."""
        return (self.duration - self.renew_deadline) / 5

    @property
    def request(self) -> float:
        """The longest that one request may take, so that a second one fits in before the deadline."""
        return self.renew_deadline / 2


@dataclass(frozen=True, slots=True)
class Wait:
    """Someone else leads, or may still believe so."""


@dataclass(frozen=True, slots=True)
class Create:
    """There is no lease: make one. It is a vacancy unless `ours`."""

    spec: dict[str, Any]
    ours: bool


@dataclass(frozen=True, slots=True)
class Take:
    """Take or renew the lease, provided that it is still the one that was looked at."""

    spec: dict[str, Any]
    resource_version: str


class Candidacy:
    """What one replica knows of the lease, and what follows from it."""

    def __init__(self, identity: str, timing: Timing) -> None:
        self.identity = identity
        self.timing = timing
        self._lease: Lease | None = None
        self._since = math.inf  # when it was first seen as it is
        self._proven = -math.inf
        self._fenced = False
        self._epoch = 0
        self.left_at: Instant | None = None  # when the last holder was last known to hold it

    def saw(self, lease: Lease | None, now: float) -> None:
        """Note what an answer, received now, said of the lease."""
        if self._since == math.inf or _version(lease) != _version(self._lease):
            self._since = now
        self._lease = lease
        if lease:
            self._epoch = max(self._epoch, lease.spec.lease_transitions or 0)

    def won(self, lease: Lease, asked: float) -> None:
        """Note that our own write to the lease, begun at `asked`, was accepted."""
        if self._lease and self.holder != self.identity:
            renewed = self._lease.spec.renew_time
            self.left_at = Instant(renewed) if renewed else None
        self.saw(lease, asked)
        self._proven = asked

    @property
    def lease(self) -> Lease | None:
        """The lease as it was last seen."""
        return self._lease

    def give_up(self) -> None:
        """Rely on the lease no more, whatever the clock says."""
        self._fenced = True

    @property
    def holder(self) -> str:
        """Who holds the lease by what was last seen; no one if empty."""
        return (self._lease and self._lease.spec.holder_identity) or ""

    @property
    def epoch(self) -> int:
        """The number of the last holdership seen: it grows each time the lease changes hands."""
        return self._epoch

    @property
    def relied_upon_until(self) -> float:
        """Start nothing from here on."""
        return -math.inf if self._fenced else self._proven + self.timing.renew_deadline

    @property
    def over_at(self) -> float:
        """Nothing may still be going on from here on."""
        return self._proven + self.timing.duration - self.timing.margin

    def next(self, now: float, wall: Instant) -> Wait | Create | Take:
        """What to do about the lease as it was last seen."""
        leads = now < self.relied_upon_until
        if self._lease is None:
            return Create(self._tenure(self._epoch, wall), ours=True) if leads else self._vacancy()
        if self.holder == self.identity:
            return self._take(self._renewal(wall))
        if leads and not self.holder:
            return self._take(self._tenure(self._epoch, wall))
        if now - self._since < self._left_alone_for(self._lease):
            return Wait()
        return self._take(self._tenure(self._epoch + 1, wall))

    def release(self, now: float, wall: Instant) -> Take | None:
        """How to give the lease away, so that the next holder need not wait for its end; None if not ours."""
        if self.holder != self.identity or now >= self.over_at:
            return None
        return self._take({"holderIdentity": "", "leaseDurationSeconds": None, "renewTime": _stamp(wall)})

    def _left_alone_for(self, lease: Lease) -> float:
        """How long it must have been untouched before a candidate may take it."""
        said = lease.spec.lease_duration_seconds or 0
        return max(self.timing.duration, said) if self.holder else said

    def _vacancy(self) -> Create:
        spec = {
            "holderIdentity": "",
            "leaseDurationSeconds": math.ceil(self.timing.duration),
            "leaseTransitions": self._epoch,
        }
        return Create(spec, ours=False)

    def _renewal(self, wall: Instant) -> dict[str, Any]:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self.timing.duration),
            "renewTime": _stamp(wall),
        }

    def _tenure(self, epoch: int, wall: Instant) -> dict[str, Any]:
        return self._renewal(wall) | {"acquireTime": _stamp(wall), "leaseTransitions": epoch}

    def _take(self, spec: dict[str, Any]) -> Take:
        return Take(spec, self._lease.metadata.resource_version if self._lease else "")


def went_back(before: Lease | None, after: Lease | None) -> bool:
    """Whether the API server was set back between two looks: nothing else makes a version smaller."""
    if before is None or after is None:
        return False
    return order(after.metadata.resource_version) < order(before.metadata.resource_version)


def _stamp(wall: Instant) -> MicroTime:
    return micro_time(wall.to_stdlib())


def _version(lease: Lease | None) -> str:
    """The UID as well: resourceVersions of a lease that was deleted and made again need not differ."""
    return f"{lease.metadata.uid}/{lease.metadata.resource_version}" if lease else ""
