"""When a message goes out: groups, quiet hours, and how long to wait after a failure. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from whenever import Instant, Time, TimeZoneNotFoundError

from hibernator.api.hibernatenotification import NotificationEvent, QuietHours
from hibernator.notifications.occasions import Placed

FIRST_WAIT: Final = 5.0
LONGEST_WAIT: Final = 300.0
MOST_ASKED: Final = 3600.0  # how long a sink may ask us to wait
OPEN_AFTER: Final = 5  # failures in a row
GIVE_UP: Final = 86_400.0 + 3600.0  # an outage of a day loses nothing, and the last message gets its tries
MOST_IN_GROUP: Final = 100
CLOCK_SKEW: Final = 3.0  # seconds that the clock of who writes the trail may be behind
_DOUBLINGS: Final = 30


def wait_after(failures: int, spread: float, asked: float | None = None) -> float:
    """Seconds until the next attempt: doubling, with `spread` (0 to 1) between half of it and all of it.

    What the sink asked for is kept, within reason, and a little more, so that many do not come back at once.
    A sink that only takes so many a second loses no time by it; one that goes on refusing waits as others do.
    """
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, _DOUBLINGS)) * (0.5 + spread / 2)
    if not asked:
        return wait
    kept = min(asked, MOST_ASKED) * (1 + spread / 10)
    return kept if failures < OPEN_AFTER else max(wait, kept)


def is_given_up(recorded: float, now: Instant, delivered: Instant | None = None) -> bool:
    """A message waits for a day; where the sink has taken others meanwhile, for a day from then on.

    A sink that is back after a day, and only takes so many a second, gets all of them.
    """
    since = max(recorded, delivered.timestamp()) if delivered else recorded
    return now.timestamp() - since > GIVE_UP


@dataclass(frozen=True, slots=True)
class Group:
    """The first of what waits, together with what belongs to it; empty while it may still grow."""

    members: tuple[Placed, ...]
    closes: float | None = None  # seconds since the epoch


def group(waiting: Sequence[Placed], within: float, now: float) -> Group:
    """What goes out next, of all that waits.

    Who belongs to a group follows from the trail alone, so that a process that died builds the same one.
    """
    if not (waiting and within):
        return Group(tuple(waiting[:1]))
    end = waiting[0].recorded + within
    members = tuple(one for one in waiting[:MOST_IN_GROUP] if one.recorded < end)
    is_closed = len(members) == MOST_IN_GROUP or len(members) < len(waiting) or now >= end + CLOCK_SKEW
    return Group(members) if is_closed else Group((), end + CLOCK_SKEW)


def quiet_until(quiet: QuietHours | None, now: Instant) -> Instant | None:
    """When the quiet hours that go on now are over; None outside of them, and where their zone is unknown.

    What cannot be read keeps no message waiting; the status names it (`check_notification`).
    """
    if quiet is None:
        return None
    try:
        local = now.to_tz(quiet.timezone)
    except TimeZoneNotFoundError:
        return None
    start, end = _time(quiet.start), _time(quiet.end)
    today = local.date()
    for day in (today.subtract(days=1), today):
        last = day if start < end else day.add(days=1)
        began = day.at(start).assume_tz(quiet.timezone).to_instant()
        over = last.at(end).assume_tz(quiet.timezone).to_instant()
        if began <= now < over:
            return over
    return None


def _time(text: str) -> Time:
    hour, _, minute = text.partition(":")
    return Time(int(hour), int(minute))


def split(
    waiting: Sequence[Placed], urgent: Collection[NotificationEvent]
) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
    """What is urgent, and what is not."""
    return (
        tuple(one for one in waiting if one.occasion.event in urgent),
        tuple(one for one in waiting if one.occasion.event not in urgent),
    )
