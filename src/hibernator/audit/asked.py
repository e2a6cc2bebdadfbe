"""Who asked to delete something, and who of them did it.

A deletion may be refused after our webhook has recorded it, by someone else's rules. So a request counts for
a deletion at about that time, and for nothing later. All times here are real ones: those of the API server.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from whenever import Instant, TimeDelta

from hibernator.audit.event import AuditEvent

ACTION: Final = "deletion"
TYPE: Final = f"admission.{ACTION}"

# Between a wish and its fulfilment lie milliseconds, and how far two clocks are apart.
_HOLDS: Final = TimeDelta(seconds=120)


class DeletionRequest(NamedTuple):
    uid: str  # of what shall go
    at: Instant
    user: str


def among(events: Iterable[AuditEvent], uids: Iterable[str]) -> Iterator[DeletionRequest]:
    """Those of the events that are wishes to delete one of these."""
    wanted = frozenset(uids)
    for one in events:
        if one.type == TYPE and one.resource.uid in wanted:
            yield DeletionRequest(one.resource.uid, one.time, one.actor.id)


def deleter(asked: Iterable[DeletionRequest], since: Instant, until: Instant) -> str:
    """Who of those deleted it, when it went between these two moments; empty when no one knows."""
    near = [one for one in asked if since - one.at <= _HOLDS and one.at - until <= _HOLDS]
    return max(near, key=lambda one: one.at).user if near else ""
