"""What the status says about a sink, and how it changes with what happens. Pure."""

from collections.abc import Iterable
from datetime import datetime

from msgspec import structs
from whenever import Instant

from hibernator.api.hibernatenotification import (
    MOST_DEAD_LETTERS,
    MOST_THREADS,
    DeadLetter,
    HibernateNotificationStatus,
    SinkStatus,
    SlackThread,
)
from hibernator.decisions.conditions import whole_second
from hibernator.notifications.config import LONGEST_SHOWN
from hibernator.notifications.occasions import Parcel
from hibernator.notifications.timing import OPEN_AFTER, wait_after


def sink_status(status: HibernateNotificationStatus, name: str) -> SinkStatus:
    return next((one for one in status.sink_statuses if one.name == name), SinkStatus(name=name))


def with_sink(status: HibernateNotificationStatus, sink: SinkStatus) -> HibernateNotificationStatus:
    """The status with what is new about one sink."""
    others = tuple(one for one in status.sink_statuses if one.name != sink.name)
    found = tuple(sorted((*others, sink), key=lambda one: one.name))
    return structs.replace(
        status,
        sink_statuses=found,
        last_delivery_time=_latest(one.last_delivery_time for one in found),
        last_failure_time=_latest(one.last_failure_time for one in found),
    )


def _latest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((one for one in moments if one), default=None)


def only(status: HibernateNotificationStatus, names: Iterable[str]) -> HibernateNotificationStatus:
    """Without sinks that are no longer there."""
    kept = set(names)
    found = tuple(one for one in status.sink_statuses if one.name in kept)
    return structs.replace(status, sink_statuses=found)


def delivered(sink: SinkStatus, now: Instant, thread: SlackThread | None = None) -> SinkStatus:
    threads = sink.threads
    if thread:
        plan, _, _ = thread.key.partition("/")  # whose last cycle has a thread; earlier ones are over
        threads = (*(one for one in threads if one.key.partition("/")[0] != plan), thread)[-MOST_THREADS:]
    return structs.replace(
        sink,
        delivered=(sink.delivered or 0) + 1,
        last_delivery_time=whole_second(now),
        failures_in_a_row=None,
        next_attempt_time=None,
        circuit="Closed",
        threads=threads,
    )


def failed(
    sink: SinkStatus, why: str, now: Instant, *, spread: float, asked: float | None = None
) -> SinkStatus:
    """An attempt failed; the message stays, and is tried again."""
    failures = (sink.failures_in_a_row or 0) + 1
    again = now.add(seconds=round(wait_after(failures, spread, asked) + 0.999))
    return structs.replace(
        sink,
        failed=(sink.failed or 0) + 1,
        failures_in_a_row=failures,
        last_failure_time=whole_second(now),
        last_failure_message=fitted(why),
        next_attempt_time=whole_second(again),
        circuit="Open" if failures >= OPEN_AFTER else "Closed",
    )


def dropped(sink: SinkStatus, parcel: Parcel, why: str, now: Instant) -> SinkStatus:
    """A message is given up: it is in the dead letters, and the next one follows."""
    first = parcel.first
    more = f" and {len(parcel.occasions) - 1} more" if len(parcel.occasions) > 1 else ""
    letter = DeadLetter(
        id=parcel.id,
        event=first.event,
        about=f"{first.about}{more}"[:400],
        at=whole_second(now),
        message=fitted(why),
    )
    return structs.replace(
        sink,
        failed=(sink.failed or 0) + 1,
        dropped=(sink.dropped or 0) + 1,
        last_failure_time=whole_second(now),
        last_failure_message=fitted(why),
        dead_letters=(*sink.dead_letters, letter)[-MOST_DEAD_LETTERS:],
    )


def is_due(sink: SinkStatus, now: Instant) -> bool:
    return sink.next_attempt_time is None or Instant(sink.next_attempt_time) <= now


def fitted(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SHOWN else f"{line[: LONGEST_SHOWN - 1]}…"
