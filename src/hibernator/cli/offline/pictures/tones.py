"""What a stretch of a timeline is to everything that draws one: what holds, and what kind of rule decided."""

from enum import StrEnum
from typing import Any, NamedTuple

from hibernator.schedule.timeline import Interval
from hibernator.schedule.verdicts import Reason, State


class Cause(StrEnum):
    SCHEDULE = "schedule"
    HOLIDAY = "holiday"
    EXCEPTION = "exception"


_CAUSES = {
    Reason.HOLIDAY_SLEEP: Cause.HOLIDAY,
    Reason.HOLIDAY_AWAKE: Cause.HOLIDAY,
    Reason.HOLIDAY_CLOSED: Cause.HOLIDAY,
    Reason.HOLIDAY_OPEN: Cause.HOLIDAY,
    Reason.EXCEPTION_EXTEND: Cause.EXCEPTION,
    Reason.EXCEPTION_SUSPEND: Cause.EXCEPTION,
    Reason.EXCEPTION_LEAD_TIME: Cause.EXCEPTION,
    Reason.EXCEPTION_REPLACE: Cause.EXCEPTION,
}


class Tone(NamedTuple):
    """A state and why; for a scaler the state is whether anything runs at all."""

    asleep: bool
    cause: Cause


def tone(interval: Interval[Any]) -> Tone:
    return Tone(is_asleep(interval.value), _CAUSES.get(interval.reason, Cause.SCHEDULE))


def is_asleep(value: Any) -> bool:
    return value is State.ASLEEP or value == 0


def words(value: Any) -> str:
    """`asleep`, `awake`, `1 replica`, `3 replicas`."""
    if isinstance(value, int):
        return f"{value} replica{'' if value == 1 else 's'}"
    return str(value).lower()
