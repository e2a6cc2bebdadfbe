"""Every mistake about time in what a user wrote, all at once, each with its place and its fix.

Controllers and `hibernator validate` ask here first. What passes can be given to a timeline.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.hibernateplan import PlanHolidays, Schedule
from hibernator.api.problem import Problem
from hibernator.api.scheduleexception import ScheduleExceptionSpec
from hibernator.api.timewindowscaler import (
    ScalerHolidays,
    ScalerWindow,
    TargetReference,
    TimeWindowScalerSpec,
)
from hibernator.api.windows import OffHourWindow
from hibernator.schedule.errors import ScheduleError
from hibernator.schedule.holidays import check_country
from hibernator.schedule.ticks import from_datetime
from hibernator.schedule.windows import START_IS_END
from hibernator.schedule.words import read_day, read_duration, read_time
from hibernator.schedule.zones import zone_of

T = TypeVar("T")

LONGEST_EXCEPTION = timedelta(days=90)


def check_schedule(schedule: Schedule, path: str = "spec.schedule") -> Iterator[Problem]:
    yield from _tried(f"{path}.timezone", schedule.timezone, zone_of)
    yield from _off_hours(f"{path}.offHours", schedule.off_hours)
    yield from _holidays(f"{path}.holidays", schedule.holidays)


def check_exception(spec: ScheduleExceptionSpec, path: str = "spec") -> Iterator[Problem]:
    unclear = [
        *_tried(f"{path}.validFrom", spec.valid_from, from_datetime),
        *_tried(f"{path}.validUntil", spec.valid_until, from_datetime),
    ]
    yield from unclear or _validity(spec.valid_from, spec.valid_until, f"{path}.validUntil")
    yield from _tried(f"{path}.leadTime", spec.lead_time or "", read_duration)
    yield from _off_hours(f"{path}.windows", spec.windows)


def check_scaler(spec: TimeWindowScalerSpec, path: str = "spec") -> Iterator[Problem]:
    yield from _tried(f"{path}.timezone", spec.timezone, zone_of)
    yield from _at_least_one(f"{path}.windows", spec.windows, "window", "Add a window.")
    for index, window in enumerate(spec.windows):
        place = f"{path}.windows[{index}]"
        yield from _window(place, window.days, "days", window.start, window.end, _strict_time)
        yield from _not_negative(f"{place}.replicas", window.replicas)
    yield from _not_negative(f"{path}.defaultReplicas", spec.default_replicas)
    yield from _not_negative(f"{path}.gracePeriodSeconds", spec.grace_period_seconds)
    yield from _holidays(f"{path}.holidays", spec.holidays)


def check_scaler_beta(spec: v1beta1.TimeWindowScalerSpec, path: str = "spec") -> Iterator[Problem]:
    """As above for all that v1beta1 can say; numbers that are none here count as zero."""
    yield from check_scaler(_with_plain_numbers(spec), path)
    for index, window in enumerate(spec.windows):
        yield from _tried(f"{path}.windows[{index}].timezone", window.timezone or "UTC", zone_of)


def _with_plain_numbers(spec: v1beta1.TimeWindowScalerSpec) -> TimeWindowScalerSpec:
    def number(replicas: int | str | None) -> int:
        return replicas if isinstance(replicas, int) else 0

    return TimeWindowScalerSpec(
        target_ref=TargetReference(kind="Deployment", name="any"),
        timezone=spec.timezone,
        windows=tuple(
            ScalerWindow(days=each.days, start=each.start, end=each.end, replicas=number(each.replicas))
            for each in spec.windows
        ),
        default_replicas=number(spec.default_replicas),
        holidays=spec.holidays,
        grace_period_seconds=spec.grace_period_seconds,
    )


def _off_hours(path: str, windows: Sequence[OffHourWindow]) -> Iterator[Problem]:
    yield from _at_least_one(path, windows, "window", "Add a window with start, end and daysOfWeek.")
    for index, window in enumerate(windows):
        yield from _window(
            f"{path}[{index}]", window.days_of_week, "daysOfWeek", window.start, window.end, read_time
        )


def _window(
    path: str, days: Sequence[str], days_field: str, start: str, end: str, time: Callable[[str], int]
) -> Iterator[Problem]:
    unclear = [*_tried(f"{path}.start", start, time), *_tried(f"{path}.end", end, time)]
    yield from unclear
    if not unclear and time(start) == time(end):
        yield Problem(
            path, f"{start}-{end}", START_IS_END, "Write two different times; 00:00 to 23:59 is a whole day."
        )
    yield from _at_least_one(f"{path}.{days_field}", days, "day", "List at least one day, for example MON.")
    for index, day in enumerate(days):
        yield from _tried(f"{path}.{days_field}[{index}]", day, read_day)


def _validity(valid_from: datetime, valid_until: datetime, path: str) -> Iterator[Problem]:
    if valid_until < valid_from:
        yield Problem(
            path,
            valid_until,
            f"the exception ends before it begins, at {valid_from.isoformat()}",
            "Let validUntil be later than validFrom.",
        )
    elif valid_until - valid_from > LONGEST_EXCEPTION:
        yield Problem(
            path,
            valid_until,
            "the exception lasts longer than 90 days",
            f"Let it end by {(valid_from + LONGEST_EXCEPTION).isoformat()}, or change the plan instead.",
        )


def _holidays(path: str, block: PlanHolidays | ScalerHolidays | None) -> Iterator[Problem]:
    if block is not None:
        for problem in check_country(block):
            yield problem._replace(path=f"{path}.{problem.path}")


def _strict_time(text: str) -> int:
    return read_time(text, strict=True)


def _not_negative(path: str, number: int) -> Iterator[Problem]:
    if number < 0:
        yield Problem(path, number, "it is less than zero", "Write zero or more.")


def _at_least_one(path: str, values: Sequence[object], what: str, fix: str) -> Iterator[Problem]:
    if not values:
        yield Problem(path, [], f"no {what} is listed", fix)


def _tried(path: str, value: T, read: Callable[[T], object]) -> Iterator[Problem]:
    try:
        read(value)
    except ScheduleError as error:
        yield Problem(path, value, error.message, error.fix)
