"""The ScheduleExceptions that `hibernator plan wake` and `sleep` file."""

from typing import Any, Final

from whenever import Instant, Time, TimeDelta

from hibernator.api.hibernateplan import HibernatePlan
from hibernator.cli.exits import CliError, Exit
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.ticks import HOUR, MINUTE, SECOND
from hibernator.schedule.words import read_duration, read_time

DAYS: Final = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_LONGEST: Final = 24 * 90


def ends_after(plan: HibernatePlan, now: Instant, text: str) -> Instant:
    """The end of `--for 2h`."""
    del plan
    try:
        ticks = read_duration(text)
    except ScheduleError as error:
        raise CliError(f"--for: {error.message}", hint=error.fix, code=Exit.USAGE) from error
    if not 0 < ticks <= _LONGEST * HOUR:
        raise CliError(f"--for {text} is not between a second and 90 days", code=Exit.USAGE)
    return now + TimeDelta(seconds=ticks / SECOND)


def ends_at(plan: HibernatePlan, now: Instant, text: str) -> Instant:
    """The end of `--until 07:00`: the next time that the clock in the plan's zone reads so."""
    try:
        ticks = read_time(text)
    except ScheduleError as error:
        raise CliError(f"--until: {error.message}", hint=error.fix, code=Exit.USAGE) from error
    zone = plan.spec.schedule.timezone
    day, time = now.to_tz(zone).date(), Time(ticks // HOUR, ticks % HOUR // MINUTE)
    end = day.at(time).assume_tz(zone).to_instant()
    return end if end > now else day.add(days=1).at(time).assume_tz(zone).to_instant()


def bend(plan: HibernatePlan, type_: str, now: Instant, until: Instant, reason: str) -> dict[str, Any]:
    """An exception that holds all day long, from now until then: its validity says when."""
    stamp = now.to_stdlib().strftime("%Y%m%d-%H%M%S")
    return {
        "metadata": {
            "name": f"{plan.metadata.name}-{'wake' if type_ == 'suspend' else 'sleep'}-{stamp}",
            "namespace": plan.metadata.namespace,
        },
        "spec": {
            "planRef": {"name": plan.metadata.name},
            "type": type_,
            "validFrom": now.format_iso(unit="second"),
            "validUntil": until.format_iso(unit="second"),
            "windows": [{"start": "00:00", "end": "23:59", "daysOfWeek": list(DAYS)}],
            "reason": reason or "Asked for on the command line.",
        },
    }
