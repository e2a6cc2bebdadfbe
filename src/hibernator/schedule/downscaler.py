"""When kube-downscaler sleeps: the grammar of its annotations, and what several of them mean together.

py-kube-downscaler and GoKubeDownscaler read the same annotations, and differ in places. What they read alike
is converted; where they differ, or where no plan can say the same, it is refused with the reason.
"""

import re
from typing import Final, NamedTuple

from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.sleeps import MINUTES_A_DAY, MINUTES_A_WEEK, WHOLE_WEEK, awake
from hibernator.schedule.spans import Span, Spans, subtract, union
from hibernator.schedule.words import read_day
from hibernator.schedule.zones import zone_of

_RECURRING: Final = re.compile(
    r"(?P<first>[A-Za-z]{3})-(?P<last>[A-Za-z]{3}) "
    r"(?P<start>\d\d:\d\d)-(?P<end>\d\d:\d\d)(?: (?P<zone>\S+))?",
    re.ASCII,
)
_MOMENT: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"
_ABSOLUTE: Final = re.compile(f"({_MOMENT}) *- *({_MOMENT})", re.ASCII)
_ALWAYS: Final = {"always", "true"}
_NEVER: Final = {"never", "false"}


class Hours(NamedTuple):
    """The minutes of a week that an annotation names, in a zone unless they are all or none."""

    spans: Spans
    zone: str = ""

    @property
    def always(self) -> bool:
        return self.spans == WHOLE_WEEK


class Rules(NamedTuple):
    """The annotations that say when; None for one that is not there."""

    uptime: Hours | None = None
    downtime: Hours | None = None
    upscale_period: Hours | None = None
    downscale_period: Hours | None = None
    force_uptime: Hours | None = None
    force_downtime: Hours | None = None


def read_hours(text: str) -> Hours:
    """What `Mon-Fri 07:30-20:30 Europe/Berlin` means, or a list of such, or `always` or `never`."""
    if text.strip().lower() in _ALWAYS:
        return Hours(WHOLE_WEEK)
    if text.strip().lower() in _NEVER:
        return Hours(())
    read = [_recurring(part.strip()) for part in text.split(",")]
    return Hours(union(*(hours.spans for hours in read)), _one_zone(*read))


def sleep_of(rules: Rules) -> Hours:
    """When something with these annotations is asleep. A forced uptime wins over all of them."""
    by_periods = rules.upscale_period, rules.downscale_period
    if any(period and period.spans for period in by_periods):
        asleep = _between_periods(rules)
    else:
        up = rules.uptime.spans if rules.uptime else WHOLE_WEEK
        down = rules.downtime.spans if rules.downtime else ()
        asleep = union(awake(up), down)
    if rules.force_downtime:
        asleep = union(asleep, rules.force_downtime.spans)
    if rules.force_uptime:
        asleep = subtract(asleep, rules.force_uptime.spans)
    return Hours(asleep, _one_zone(*(hours for hours in rules if hours)))


def _between_periods(rules: Rules) -> Spans:
    """From a period of scaling down until the next one of scaling up: in between, nothing is touched."""
    if rules.uptime or rules.downtime:
        raise ScheduleError(
            "periods and times exclude each other: one program ignores the times, the other one all of it",
            "Keep either the two periods, or uptime and downtime.",
        )
    up, down = (period.spans if period else () for period in (rules.upscale_period, rules.downscale_period))
    ups, downs = _minutes(subtract(up, down)), _minutes(subtract(down, up))  # where both hold, neither does
    if not ups or not downs:
        missing = "upscale-period" if downs else "downscale-period"
        raise ScheduleError(
            f"there is no {missing}, so that it would be "
            f"{'put to sleep and never woken' if downs else 'woken and never put to sleep'}",
            f"Write downscaler/{missing} as well, or use downscaler/uptime.",
        )
    sleeping, asleep = False, []
    for minute in range(2 * MINUTES_A_WEEK):  # what it begins with is forgotten in the first week
        of_week = minute % MINUTES_A_WEEK
        sleeping = (sleeping or of_week in downs) and of_week not in ups
        if sleeping and minute >= MINUTES_A_WEEK:
            asleep.append((of_week, of_week + 1))
    return union(asleep)


def _minutes(spans: Spans) -> frozenset[int]:
    return frozenset(minute for span in spans for minute in range(*span))


def _recurring(text: str) -> Hours:
    found = _RECURRING.fullmatch(text)
    if found is None:
        raise _refusal(text)
    if not found["zone"]:
        raise ScheduleError(
            f"{text!r} names no zone, and that of the program that read it is not known here",
            f"Write the zone behind it, for example `{text} Europe/Berlin`.",
        )
    zone_of(found["zone"])
    start, end = _minute(found["start"], text), _minute(found["end"], text)
    if end < start:
        raise ScheduleError(
            f"{text!r} goes over midnight, where one program sees no time at all and the other two parts "
            "of each day",
            f"Write the two parts, for example `Mon-Fri {found['start']}-24:00 {found['zone']},"
            f"Tue-Sat 00:00-{found['end']} {found['zone']}`.",
        )
    first, last = read_day(found["first"]), read_day(found["last"])
    days = [day % 7 for day in range(first, last + 1 if first <= last else last + 8)]
    return Hours(union(_on(day, start, end) for day in days), found["zone"])


def _on(day: int, start: int, end: int) -> Span:
    return day * MINUTES_A_DAY + start, day * MINUTES_A_DAY + end


def _minute(clock: str, text: str) -> int:
    hours, minutes = map(int, clock.split(":"))
    if minutes > 59 or hours * 60 + minutes > MINUTES_A_DAY:  # noqa: PLR2004  the last minute of an hour
        raise ScheduleError(f"{clock!r} in {text!r} is not a time of day", "Write 00:00 to 24:00.")
    return hours * 60 + minutes


def _one_zone(*hours: Hours) -> str:
    zones = sorted({each.zone for each in hours if each.zone})
    if len(zones) > 1:
        raise ScheduleError(
            f"it is written in several zones ({', '.join(zones)}), and a schedule has one",
            "Write all hours in one zone.",
        )
    return zones[0] if zones else ""


def _refusal(text: str) -> ScheduleError:
    if absolute := _ABSOLUTE.fullmatch(text):
        start, end = absolute.groups()
        return ScheduleError(
            f"{text!r} is a single stretch of time, and a schedule repeats every week",
            "Remove it if it is past. Otherwise file a ScheduleException with "
            f"validFrom {start} and validUntil {end}: type suspend to be awake then, extend to be asleep.",
        )
    return ScheduleError(
        f"{text!r} is not understood", "Write it like `Mon-Fri 07:30-20:30 Europe/Berlin`, always or never."
    )
