"""Times and lengths of time as commands write them: on the local clock with its zone, and from now."""

from datetime import datetime
from typing import Final

from whenever import Instant

from hibernator.schedule.ticks import DAY, HOUR, MINUTE, SECOND, from_instant
from hibernator.schedule.zones import local_text, zone_of

_NEAR: Final = 6 * DAY  # so that the name of a day says which one
_UNITS: Final = (("y", 365 * DAY), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND))


def shown(at: Instant | datetime, zone: str) -> str:
    """An instant on a local clock, as it may be given to any option: `Fri 2026-11-20 07:00 Europe/Berlin`."""
    return f"{local_text(zone_of(zone), from_instant(_instant(at)))} {zone}"


def shown_with_distance(at: Instant | datetime, zone: str, now: Instant) -> str:
    return f"{shown(at, zone)} ({relative(at, now)})"


def nearby(at: Instant | datetime, zone: str, now: Instant) -> str:
    """The same in few words: `Fri 07:00 Europe/Berlin` within a week, otherwise with the date."""
    instant = _instant(at)
    day, date, time = local_text(zone_of(zone), from_instant(instant)).split(" ")
    near = abs(from_instant(instant) - from_instant(now)) < _NEAR
    return f"{day if near else date} {time} {zone}"


def relative(at: Instant | datetime, now: Instant) -> str:
    """How far away an instant is: `in 55m`, `now`, `3h12m ago`."""
    ticks = from_instant(_instant(at)) - from_instant(now)
    if abs(ticks) < SECOND:
        return "now"
    return f"in {span(ticks)}" if ticks > 0 else f"{span(-ticks)} ago"


def age(since: datetime | None, now: Instant) -> str:
    """How old something is, as `kubectl get` shows it."""
    return span(max(0, from_instant(now) - from_instant(Instant(since)))) if since else ""


def span(ticks: int) -> str:
    """A length of time in its two largest units: `55m`, `3h12m`, `2d`."""
    for place, (unit, size) in enumerate(_UNITS):
        count, rest = divmod(ticks, size)
        if count or unit == "s":
            smaller, less = _UNITS[place + 1] if place + 1 < len(_UNITS) else ("", ticks + 1)
            more = rest // less
            return f"{count}{unit}{f'{more}{smaller}' if more else ''}"
    raise AssertionError("seconds always say something")


def _instant(at: Instant | datetime) -> Instant:
    return Instant(at) if isinstance(at, datetime) else at
