"""Short ways to write schedules in tests."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from whenever import Instant, PlainDateTime

from hibernator.api.hibernateplan import Schedule
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import TimeWindowScalerSpec
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.exceptions import NamedException
from hibernator.schedule.timeline import Timeline

WEEKDAYS = "MON TUE WED THU FRI"
EVERY_DAY = "MON TUE WED THU FRI SAT SUN"


def window(times: str, days: str = EVERY_DAY) -> OffHourWindow:
    """`window("20:00-06:00", "MON TUE")`."""
    start, end = times.split("-")
    return OffHourWindow(start=start, end=end, days_of_week=tuple(days.split()))


def plan(*windows: OffHourWindow, zone: str = "UTC", holidays: dict[str, Any] | None = None) -> Schedule:
    return msgspec.convert(
        {"timezone": zone, "offHours": [msgspec.to_builtins(each) for each in windows]}
        | ({"holidays": holidays} if holidays else {}),
        Schedule,
    )


def exception(
    kind: str, valid: str, *windows: OffHourWindow, lead: str | None = None, name: str = "event"
) -> NamedException:
    """`exception("suspend", "2026-01-29T00:00:00Z/2026-02-28T23:59:59Z", window(…), lead="1h")`."""
    valid_from, valid_until = valid.split("/")
    spec = {
        "planRef": {"name": "plan"},
        "type": kind,
        "validFrom": valid_from,
        "validUntil": valid_until,
        "windows": [msgspec.to_builtins(each) for each in windows],
    }
    return name, msgspec.convert(spec | ({"leadTime": lead} if lead else {}), ScheduleExceptionSpec)


def scaler(*windows: str, zone: str = "UTC", default: int = 0, **fields: Any) -> TimeWindowScalerSpec:
    """`scaler("Mon,Tue 09:00-17:00 5", default=1, gracePeriodSeconds=60)`."""
    spec = {
        "targetRef": {"kind": "Deployment", "name": "web"},
        "timezone": zone,
        "defaultReplicas": default,
        "windows": [_scaler_window(text) for text in windows],
    }
    return msgspec.convert(spec | fields, TimeWindowScalerSpec)


def _scaler_window(text: str) -> dict[str, Any]:
    days, times, replicas = text.split()
    start, end = times.split("-")
    return {"days": days.split(","), "start": start, "end": end, "replicas": int(replicas)}


def utc(text: str) -> Instant:
    """`utc("2026-01-30 20:00")`."""
    return PlainDateTime.parse_iso(text.replace(" ", "T")).assume_utc()


def at(text: str, zone: str) -> Instant:
    """An instant by a local clock that shows it only once: `at("2026-01-30 20:00", "Europe/Berlin")`."""
    local = PlainDateTime.parse_iso(text.replace(" ", "T"))
    return local.assume_tz(zone, disambiguation="raise").to_instant()


def aware(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def story(timeline: Timeline[Any], start: str, end: str, zone: str) -> list[str]:
    """What happens between two local times, as lines such as `Fri 20:00 Asleep OffHours`."""
    return [
        f"{interval.start.to_tz(zone).to_stdlib():%a %H:%M} {interval.value} {interval.reason}"
        for interval in timeline.between(at(start, zone), at(end, zone))
    ]
