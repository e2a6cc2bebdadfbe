"""What a timeline can say: a state or a number, and one word for why."""

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

V = TypeVar("V")


class State(StrEnum):
    """What a plan is."""

    ASLEEP = "Asleep"
    AWAKE = "Awake"


class Reason(StrEnum):
    """Why it is so, for programs. Words for people are in `message`."""

    # plans
    OFF_HOURS = "OffHours"  # a window of the plan says sleep
    WORKING_HOURS = "WorkingHours"  # no window of the plan says sleep
    HOLIDAY_SLEEP = "HolidaySleep"  # asleep only because of a holiday
    HOLIDAY_AWAKE = "HolidayAwake"  # awake only because of a holiday
    EXCEPTION_EXTEND = "ExceptionExtend"  # asleep only because an exception adds a window
    EXCEPTION_SUSPEND = "ExceptionSuspend"  # awake only because an exception suspends the sleep
    EXCEPTION_LEAD_TIME = "ExceptionLeadTime"  # awake because a suspension begins soon
    EXCEPTION_REPLACE = "ExceptionReplace"  # an exception decides alone
    # scalers
    WINDOW = "Window"  # the last window that matches decides
    OUTSIDE_WINDOWS = "OutsideWindows"  # no window matches
    HOLIDAY_CLOSED = "HolidayClosed"  # a holiday, on which no window counts
    HOLIDAY_OPEN = "HolidayOpen"  # a holiday, on which the most that any window asks for runs all day
    GRACE_PERIOD = "GracePeriod"  # fewer are wanted, but not yet
    INVALID_TIMEZONE = "InvalidTimezone"  # the zone is unknown, so that no window can match


class Verdict(NamedTuple, Generic[V]):
    """What holds, why, and the name of what decided it: a scaler's window label, or an exception."""

    value: V
    reason: Reason
    source: str = ""
