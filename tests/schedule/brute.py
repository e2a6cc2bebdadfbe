"""The rulings, minute by minute, as slowly and plainly as they can be written.

This shares nothing with the engine: not its arithmetic, not its parsing, not its source of time zones, which
here is the standard library. It looks at what the clock on the wall reads at each minute.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TypeVar
from zoneinfo import ZoneInfo

T = TypeVar("T")

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
AROUND = timedelta(days=6)  # how much is looked at before and after what is asked for
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


@dataclass(frozen=True)
class Wall:
    """What the clock of a zone reads, minute by minute, from well before `start` until well after `end`."""

    zone: str
    start: datetime
    end: datetime
    first: datetime
    readings: tuple[datetime, ...]

    def index(self, moment: datetime) -> int:
        return (moment - self.first) // MINUTE

    def asked(self, everything: Sequence[T]) -> list[T]:
        return list(everything[self.index(self.start) : self.index(self.end)])


def wall(zone: str, start: datetime, end: datetime, around: timedelta = AROUND) -> Wall:
    # Rounded to whole fortnights, so that neighbouring weeks can share what was read.
    fortnight = 14 * DAY
    first = _EPOCH + (start - around - _EPOCH) // fortnight * fortnight
    last = _EPOCH - (_EPOCH - end - around) // fortnight * fortnight
    return Wall(zone, start, end, first, _readings(zone, first, last))


@lru_cache(maxsize=24)
def _readings(zone: str, first: datetime, last: datetime) -> tuple[datetime, ...]:
    info = ZoneInfo(zone)
    moments = (first + i * MINUTE for i in range((last - first) // MINUTE))
    return tuple(moment.astimezone(info).replace(tzinfo=None) for moment in moments)


@dataclass(frozen=True)
class BruteWindow:
    days: tuple[str, ...]
    start: str
    end: str
    end_of_day: bool  # whether 23:59 is the end of the day


def matching(clock: Wall, window: BruteWindow) -> list[bool]:
    """Whether the window holds, at each minute."""
    holds = [False] * len(clock.readings)
    weekdays = {_NAMES.index(day[:3].lower()) for day in window.days}
    start_time, end_time = time.fromisoformat(window.start), time.fromisoformat(window.end)
    day = (clock.first + 2 * DAY).date()
    while day < (clock.first + len(clock.readings) * MINUTE - 3 * DAY).date():
        if day.weekday() in weekdays:
            begins = datetime.combine(day, start_time)
            if window.end_of_day and window.end == "23:59":
                ends = datetime.combine(day + DAY, time())
            else:
                ends = datetime.combine(day if end_time > start_time else day + DAY, end_time)
            for i in range(_first_reading(clock, begins), _last_passing(clock, ends)):
                holds[i] = True
        day += DAY
    return holds


def _first_reading(clock: Wall, local: datetime) -> int:
    """The first minute at which the local clock reads this or later."""
    i = clock.index(local.replace(tzinfo=UTC) - DAY)
    while clock.readings[i] < local:
        i += 1
    return i


def _last_passing(clock: Wall, local: datetime) -> int:
    """The last minute at which the local clock passes this."""
    i = clock.index(local.replace(tzinfo=UTC) + DAY)
    while not clock.readings[i - 1] < local <= clock.readings[i]:
        i -= 1
    return i


def any_matching(clock: Wall, windows: Iterable[BruteWindow]) -> list[bool]:
    return [any(at) for at in zip(*(matching(clock, window) for window in windows), strict=True)]


def base(
    clock: Wall, windows: Sequence[BruteWindow], mode: str = "ignore", holidays: frozenset[date] = frozenset()
) -> list[bool]:
    """Whether a plan without exceptions is asleep, at each minute."""
    asleep = any_matching(clock, windows)
    for i, reading in enumerate(clock.readings):
        if reading.date() in holidays and mode != "ignore":
            asleep[i] = mode == "sleep-all-day"
    return asleep


@dataclass(frozen=True)
class BruteException:
    type: str
    valid_from: datetime
    valid_until: datetime
    windows: tuple[BruteWindow, ...]
    lead: timedelta = timedelta()


def bent(clock: Wall, asleep: Sequence[bool], exception: BruteException) -> list[bool]:
    """Whether a plan with an exception is asleep, at each minute."""
    inside = any_matching(clock, exception.windows)
    moments = [clock.first + i * MINUTE for i in range(len(clock.readings))]
    valid = [exception.valid_from <= moment < exception.valid_until for moment in moments]
    if exception.type == "extend":
        return [was or (in_force and here) for was, in_force, here in zip(asleep, valid, inside, strict=True)]
    if exception.type == "replace":
        return [here if in_force else was for was, in_force, here in zip(asleep, valid, inside, strict=True)]
    suspended = [in_force and here for in_force, here in zip(valid, inside, strict=True)]
    return _suspended(asleep, suspended, valid, exception.lead // MINUTE)


def _suspended(
    asleep: Sequence[bool], suspended: Sequence[bool], valid: Sequence[bool], lead: int
) -> list[bool]:
    """Step through the minutes as somebody would who may only decide whether to go to sleep *now*."""
    result: list[bool] = []
    begins = [i for i in range(1, len(suspended)) if suspended[i] and not suspended[i - 1]]
    for i, would_sleep in enumerate(asleep):
        if not would_sleep or suspended[i]:
            result.append(False)
        elif i == 0 or result[-1]:
            result.append(True)  # already asleep: stays so until the suspension begins
        else:
            soon = any(i < begin <= i + lead for begin in begins)
            result.append(not (valid[i] and soon))
    return result


def clash(clock: Wall, one: BruteException, other: BruteException) -> datetime | None:
    """The first minute that both want, if they are valid in whole minutes and inside of what is looked at."""
    wanted_by = [any_matching(clock, each.windows) for each in (one, other)]
    for i, both in enumerate(zip(*wanted_by, strict=True)):
        moment = clock.first + i * MINUTE
        if all(both) and _is_valid(one, moment) and _is_valid(other, moment):
            return moment
    return None


def _is_valid(exception: BruteException, moment: datetime) -> bool:
    return exception.valid_from <= moment < exception.valid_until


def composed(clock: Wall, asleep: Sequence[bool], line: Sequence[BruteException]) -> list[bool]:
    """Whether a plan with all these exceptions, filed in this order, is asleep, at each minute."""
    inside = [any_matching(clock, one.windows) for one in line]
    wants = [
        {i for i, here in enumerate(each) if here and _is_valid(one, clock.first + i * MINUTE)}
        for one, each in zip(line, inside, strict=True)
    ]
    clashes = {(i, j) for i, mine in enumerate(wants) for j, other in enumerate(wants) if mine & other}
    in_force = [[False] * len(clock.readings) for _ in line]
    active: list[int] = []
    result: list[bool] = []
    for at in range(len(clock.readings)):
        moment = clock.first + at * MINUTE
        active = [i for i in active if moment < line[i].valid_until]
        for i, one in enumerate(line):
            if i not in active and moment < one.valid_until and not any((i, j) in clashes for j in active):
                active.append(i)
        for i in active:
            in_force[i][at] = line[i].valid_from <= moment
    for at, base_asleep in enumerate(asleep):
        now = [(one, inside[i][at]) for i, one in enumerate(line) if in_force[i][at]]
        replacing = [here for one, here in now if one.type == "replace"]
        sleeps = any(replacing) if replacing else base_asleep
        sleeps = sleeps or any(here for one, here in now if one.type == "extend")
        if not sleeps or any(here for one, here in now if one.type == "suspend"):
            result.append(False)
        elif at == 0 or result[-1]:
            result.append(True)
        else:
            result.append(not _any_soon(line, inside, in_force, at))
    return result


def _any_soon(
    line: Sequence[BruteException], inside: Sequence[list[bool]], in_force: Sequence[list[bool]], at: int
) -> bool:
    """Whether one of those that suspend now, if not at this minute, does so within its lead time."""
    for i, one in enumerate(line):
        if one.type == "suspend" and in_force[i][at]:
            coming = range(at + 1, min(at + one.lead // MINUTE, len(inside[i]) - 1) + 1)
            if any(inside[i][j] and in_force[i][j] for j in coming):
                return True
    return False


@dataclass(frozen=True)
class BruteScaling:
    window: BruteWindow
    replicas: int


def wanted(
    clock: Wall,
    scalings: Sequence[BruteScaling],
    default: int,
    mode: str = "ignore",
    holidays: frozenset[date] = frozenset(),
) -> list[int]:
    """How many replicas are wanted, at each minute: the decision table of the reconcile document."""
    replicas = [default] * len(clock.readings)
    for scaling in scalings:
        for i, holds in enumerate(matching(clock, scaling.window)):
            if holds:
                replicas[i] = scaling.replicas
    for i, reading in enumerate(clock.readings):
        if reading.date() in holidays and mode == "treat-as-closed":
            replicas[i] = default
        if reading.date() in holidays and mode == "treat-as-open":
            replicas[i] = max(scaling.replicas for scaling in scalings)
    return replicas


def after_grace(wanted_replicas: Sequence[int], grace: int) -> list[int]:
    """Step 5 of the reconcile document, run once a minute; the grace is in minutes."""
    effective, expiry = wanted_replicas[0], None
    result: list[int] = []
    for now, computed in enumerate(wanted_replicas):
        if computed >= effective:
            effective, expiry = computed, None
        elif grace > 0:
            if expiry is None:
                expiry = now + grace
            if now >= expiry:
                effective, expiry = computed, None
        else:
            effective = computed
        result.append(effective)
    return result
