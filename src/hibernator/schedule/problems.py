"""Every mistake about time in what a user wrote, all at once, each with its place and its fix.

Controllers and `hibernator validate` ask here first. What passes can be given to a timeline. Hints are about
what is allowed and yet hardly meant: a plan that wakes at midnight, an exception that has no effect. Nothing
is refused for them; `validate` shows them, and the API server as warnings.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from whenever import Instant

from hibernator.api import timewindowscaler_v1beta1 as v1beta1
from hibernator.api.hibernatenotification import HibernateNotificationSpec
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
from hibernator.schedule.spans import Span, clip, subtract, union
from hibernator.schedule.ticks import DAY, HOUR, WEEK, from_datetime
from hibernator.schedule.windows import START_IS_END, Window, off_hours
from hibernator.schedule.words import clock, days_text, read_day, read_duration, read_time
from hibernator.schedule.zones import local_text, zone_of

_WEST, _EAST = 12 * HOUR, 14 * HOUR  # the furthest zones: how far a clock is behind or ahead of UTC
_WITHOUT_SUMMER: Final = {"EST": "America/New_York", "MST": "America/Denver"}
_OFFSET: Final = re.compile(r"Etc/GMT([+-])([0-9]{1,2})", re.ASCII)
_SHORT: Final = 2 * HOUR  # awake for less, nothing gets going


def schedule_hints(schedule: Schedule, path: str = "spec.schedule") -> Iterator[str]:
    """Islands: the plan wakes between two windows where it was hardly meant to. For a readable schedule."""
    yield from _zone_hints(schedule.timezone, f"{path}.timezone")
    yield from _holiday_hints(schedule.holidays, f"{path}.holidays", "sleep-all-day or stay-awake")
    zone = zone_of(schedule.timezone)
    windows = [off_hours(window, zone) for window in schedule.off_hours]
    awake = tuple(_awake(windows))
    short = [(start, end) for start, end in awake if end - start < _SHORT]
    if short:
        start, end = short[0]
        others = len(short) - 1
        more = f", and {others} more {'time' if others == 1 else 'times'} a week" if others else ""
        yield (
            f"{path}.offHours: it wakes on {_text(start)} and sleeps again at {_text(end)}{more}. "
            "Let the windows touch, if it shall sleep through."
        )
    for start, end in awake:
        if (start, end) not in short and (night := _night_left_out(windows, start)):
            before = days_text(((start // DAY - 1) % 7,))
            yield (
                f"{path}.offHours: it wakes on {_text(start)}, because no night begins on {before}. Add "
                f"{before.upper()} to the days of {clock(night.start)}-{clock(night.end)}, if it shall sleep "
                f"until {clock(night.end)}."
            )


def scaler_hints(timezone: str, holidays: ScalerHolidays | None, path: str = "spec") -> Iterator[str]:
    """What of a readable scaler has no effect, or another than its name says."""
    yield from _zone_hints(timezone, f"{path}.timezone")
    yield from _holiday_hints(holidays, f"{path}.holidays", "treat-as-closed or treat-as-open")


def _zone_hints(name: str, path: str) -> Iterator[str]:
    if meant := _WITHOUT_SUMMER.get(name):
        yield f"{path}: {name} has no summer time. Write {meant}, if its clock shall be followed."
    elif offset := _OFFSET.fullmatch(name):
        side = "behind" if offset[1] == "+" else "ahead of"
        hours = "hour" if offset[2] == "1" else "hours"
        yield f"{path}: {name} is {offset[2]} {hours} {side} UTC, all year: its sign is the other way round."


def _holiday_hints(block: PlanHolidays | ScalerHolidays | None, path: str, modes: str) -> Iterator[str]:
    if block is None:
        return
    known = block.country is not None or block.source_ref is not None
    if known and block.mode == "ignore":
        yield f"{path}: it has no effect, because mode is ignore. Write mode: {modes}."
    elif not known and block.mode != "ignore":
        yield f"{path}: it has no effect, because no holidays are named. Set country or sourceRef."


def exception_hints(spec: ScheduleExceptionSpec, zone_name: str | None, path: str = "spec") -> Iterator[str]:
    """What of an exception has no effect. For a readable one; the zone is that of its plan, where known."""
    if spec.type != "suspend" and spec.lead_time:
        yield f"{path}.leadTime: it has no effect with type {spec.type}. Remove it, or write type: suspend."
    if (spec.approver_emails or spec.approval_required_roles) and not spec.approval_required:
        yield (
            f"{path}.approvalRequired: it is not set, so that the approvers that are named are not asked. "
            "Set it to true, or remove them."
        )
    zone = zone_of(zone_name or "UTC")
    lo, hi = from_datetime(spec.valid_from), from_datetime(spec.valid_until)
    # Without the plan the zone is unknown: only what is so in every zone is sure.
    begin, end = (lo, hi) if zone_name else (lo - _WEST, hi + _EAST)
    for index, window in enumerate(off_hours(window, zone) for window in spec.windows):
        if lo < hi and not clip(union(window.spans(begin, end)), begin, end):
            first, last = local_text(zone, lo), local_text(zone, hi)
            yield (
                f"{path}.windows[{index}]: {window} never falls between validFrom ({first}) and validUntil "
                f"({last}), so that it has no effect. Correct its days, or the two times."
            )


def _awake(windows: Sequence[Window]) -> Iterator[Span]:
    """When nothing sleeps, in a week from Monday 00:00; the last may end in the next week."""
    sleeps = clip(union(*(window.week() for window in windows)), 0, WEEK)
    spans = subtract(((0, WEEK),), sleeps)
    if len(spans) > 1 and spans[0][0] == 0 and spans[-1][1] == WEEK:
        spans = (*spans[1:-1], (spans[-1][0], WEEK + spans[0][1]))
    return iter(spans if sleeps else ())


def _night_left_out(windows: Sequence[Window], wakes: int) -> Window | None:
    """The window by which most nights go on after midnight, where it wakes at a midnight all the same."""
    if wakes % DAY:
        return None
    today = wakes // DAY % 7
    return next(
        (
            window
            for window in windows
            if window.end > DAY and today in window.days and (today - 1) % 7 not in window.days
        ),
        None,
    )


def _text(ticks: int) -> str:
    return f"{days_text((ticks // DAY % 7,))} {clock(ticks % DAY)}"


T = TypeVar("T")

LONGEST_EXCEPTION = timedelta(days=90)


def check_schedule(schedule: Schedule, path: str = "spec.schedule") -> Iterator[Problem]:
    yield from tried(f"{path}.timezone", schedule.timezone, zone_of)
    yield from _off_hours(f"{path}.offHours", schedule.off_hours)
    yield from _holidays(f"{path}.holidays", schedule.holidays)


def check_exception(spec: ScheduleExceptionSpec, path: str = "spec") -> Iterator[Problem]:
    unclear = [
        *tried(f"{path}.validFrom", spec.valid_from, from_datetime),
        *tried(f"{path}.validUntil", spec.valid_until, from_datetime),
    ]
    yield from unclear or _validity(spec.valid_from, spec.valid_until, f"{path}.validUntil")
    yield from tried(f"{path}.leadTime", spec.lead_time or "", read_duration)
    yield from _off_hours(f"{path}.windows", spec.windows)


def check_notification(spec: HibernateNotificationSpec, path: str = "spec") -> Iterator[Problem]:
    if spec.quiet_hours:
        yield from tried(f"{path}.quietHours.timezone", spec.quiet_hours.timezone, zone_of)
    yield from tried(f"{path}.groupWithin", spec.group_within or "", read_duration)
    yield from tried(f"{path}.repeatEvery", spec.repeat_every or "", read_duration)


def check_scaler(spec: TimeWindowScalerSpec, path: str = "spec") -> Iterator[Problem]:
    yield from tried(f"{path}.timezone", spec.timezone, zone_of)
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
        yield from tried(f"{path}.windows[{index}].timezone", window.timezone or "UTC", zone_of)


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
    unclear = [*tried(f"{path}.start", start, time), *tried(f"{path}.end", end, time)]
    yield from unclear
    if not unclear and time(start) == time(end):
        yield Problem(
            path, f"{start}-{end}", START_IS_END, "Write two different times; 00:00 to 23:59 is a whole day."
        )
    yield from _at_least_one(f"{path}.{days_field}", days, "day", "List at least one day, for example MON.")
    for index, day in enumerate(days):
        yield from tried(f"{path}.{days_field}[{index}]", day, read_day)


def _validity(valid_from: datetime, valid_until: datetime, path: str) -> Iterator[Problem]:
    if valid_until < valid_from:
        yield Problem(
            path,
            valid_until,
            f"the exception ends before it begins, at {Instant(valid_from).format_iso()}",
            "Let validUntil be later than validFrom.",
        )
    elif valid_until - valid_from > LONGEST_EXCEPTION:
        latest = Instant(valid_from + LONGEST_EXCEPTION).format_iso()
        yield Problem(
            path,
            valid_until,
            "the exception lasts longer than 90 days",
            f"Let it end by {latest}, or change the plan instead.",
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


def tried(path: str, value: T, read: Callable[[T], object]) -> Iterator[Problem]:
    """What `read` has to say against a value."""
    try:
        read(value)
    except ScheduleError as error:
        yield Problem(path, value, error.message, error.fix)
